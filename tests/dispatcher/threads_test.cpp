// needs: reference
// Eight threads that call, register, load and unload at once; also run by the thread sanitizer, without cpu.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "dispatcher/calls.hpp"
#include "tools/run_program.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

bool has_host() {
  bp::Device host;
  return bp::find_host_device(host);
}

// Copies and views, and operators where cpu is there to run them.
void work_on(bp::Device device, std::atomic<int>& failures) {
  const std::vector<float> numbers = {0, 1, 2, 3, 4, 5};
  const Tensor a = given(numbers, {2, 3}, device);
  const Tensor b = bp::empty_tensor({2, 3}, bp::f32, device);
  copy_into(b, a);
  if (values(view(b, {6})) != numbers) ++failures;
  if (!has_host()) return;
  if (values(add(a, b)) != std::vector<float>{0, 2, 4, 6, 8, 10}) ++failures;
  if (values(transpose(softmax(mul(a, 0), 0), 0, 1))[0] != 0.5f) ++failures;
}

class Threads : public testing::Test {
 protected:
  void run(int count, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        try {
          body(i);
        } catch (const std::exception& error) {
          ++failures;
          const std::lock_guard lock(mutex);
          what += std::string(error.what()) + "\n";
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 0) << what;
  }
  std::atomic<int> failures{0};
  std::mutex mutex;
  std::string what;
};

TEST_F(Threads, eight_call_on_one_device) {
  const bp::Device device = bp::device("reference");
  run(8, [&](int) {
    for (int i = 0; i < 50; ++i) work_on(device, failures);
  });
  bp::synchronize(device);
}

TEST_F(Threads, the_first_use_of_a_device_is_by_all_at_once) {
  bp::Backend& backend = bp::load_plugin(test_plugin("memonly"));
  run(8, [&](int) { work_on(backend.devices.front()->device, failures); });
  bp::unload_plugin(backend);
}

TEST_F(Threads, eight_call_register_load_and_unload_at_once) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(folder.path() / ("copy" + std::to_string(i) + ".so"));
    std::filesystem::copy_file(test_plugin("memonly"), files.back());
    bp::unload_plugin(bp::load_plugin(files.back()));  // probed
  }
  const bp::Device shared = bp::device("reference");
  bp::Backend& reference = *bp::find_backend("reference");
  static std::atomic<int> registered{0};
  run(8, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      if (thread < 3) {  // loading and unloading
        bp::Backend& mine = bp::load_plugin(files[static_cast<std::size_t>(thread)]);
        work_on(mine.devices.front()->device, failures);
        bp::unload_plugin(mine);
      } else if (thread < 5) {  // registering operators and kernels
        const std::string op_name = "threads::op" + std::to_string(registered++);
        bp::Operator& op = bp::register_custom_operator(op_name + "(Tensor input) -> Tensor");
        bp::register_application_kernel(
            op, reference, [](const bp::Call&) {}, bp::dtypes::all, BP_LAYOUT_CONTIGUOUS);
        bp::call_boxed(op,
                       std::vector<bp_value>{bp::value_of(bp::empty_tensor({1}, bp::f32, shared))});
        if (bp::find_operator(op_name) != &op) ++failures;
      } else {  // calling, and looking
        work_on(shared, failures);
        bp::call_counts();
        bp::registered_devices();
        bp::memory_statistics(shared);
      }
    }
  });
  bp::synchronize(shared);
}

TEST_F(Threads, counts_of_threads_that_ended_are_kept) {
  const bp::Device device = bp::device("reference");
  const Served served("transpose", "reference");
  run(8, [&](int) {
    const Tensor a = bp::empty_tensor({2, 3}, bp::f32, device);
    for (int i = 0; i < 100; ++i) transpose(a, 0, 1);
  });
  EXPECT_EQ(served.since(), "view 800");
}

TEST_F(Threads, tensors_end_on_other_threads_than_they_began) {
  const bp::Device device = bp::device("reference");
  std::vector<Tensor> made(8);
  run(8, [&](int i) { made[static_cast<std::size_t>(i)] = counted({100}, device); });
  run(8, [&](int i) {
    Tensor taken = std::move(made[static_cast<std::size_t>((i + 1) % 8)]);
    if (values(taken)[99] != 99) ++failures;
  });
}

TEST_F(Threads, an_error_is_its_own_threads) {
  const bp::Device device = bp::device("reference");
  run(8, [&](int i) {
    for (int k = 0; k < 20; ++k) {
      const std::string error =
          error_of([&] { view(bp::empty_tensor({i + 2}, bp::f32, device), {1000 + i}); });
      if (error.find(std::to_string(1000 + i)) == std::string::npos) ++failures;
    }
  });
}

}  // namespace
