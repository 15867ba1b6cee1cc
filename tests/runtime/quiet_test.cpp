// What the core does while work is out that waits for another process.
#include <backplane/runtime/quiet.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct Quiet : testing::Test {
  FakePlugin fake;
  std::optional<Registered> registered;
  int done = 0;                // works that ended
  std::vector<int> at_plugin;  // how many had, at each allocation and release

  Quiet() {
    fake.make_asynchronous();
    fake.num_devices = 2;
  }
  DeviceRecord& open(std::size_t index = 0) {
    if (!registered) registered.emplace(fake);
    return device_record(registered->device(index));
  }
  ~Quiet() override {
    fake.in_allocate = fake.in_release = nullptr;
    registered.reset();
  }
  void give_foreign_work(const Stream& stream) {
    fake.give_work(stream, [this] { ++done; });
    note_foreign_work(stream);
  }
  void watch() {
    fake.in_allocate = fake.in_release = [this] { at_plugin.push_back(done); };
  }
  std::uint32_t num_out() { return open().backend->num_foreign; }
};

TEST_F(Quiet, memory_is_asked_for_and_given_back_once_it_has_ended) {
  const Stream stream(open().device);
  give_foreign_work(stream);
  watch();
  { const Tensor tensor = empty_tensor({30 << 20}, u8, open().device); }
  EXPECT_EQ(at_plugin, (std::vector<int>{1}));
  EXPECT_EQ(num_out(), 0u);
  give_foreign_work(stream);
  empty_cache(open().device);
  EXPECT_EQ(at_plugin, (std::vector<int>{1, 2}));
}

TEST_F(Quiet, other_work_is_not_waited_for) {
  const Stream stream(open().device), other(open().device);
  const auto other_done = std::make_shared<bool>(false);  // which the stream runs at its end
  fake.give_work(other, [=] { *other_done = true; });
  give_foreign_work(stream);
  watch();
  const Tensor tensor = empty_tensor({30 << 20}, u8, open().device);
  EXPECT_EQ(at_plugin, (std::vector<int>{1}));
  EXPECT_FALSE(*other_done);
}

// A driver's call waits for the peers of its card as well.
TEST_F(Quiet, the_backends_other_devices_are_quiet_too) {
  const Stream stream(open(1).device);
  give_foreign_work(stream);
  watch();
  const Tensor tensor = empty_tensor({30 << 20}, u8, open(0).device);
  EXPECT_EQ(at_plugin, (std::vector<int>{1}));
}

TEST_F(Quiet, memory_of_the_cache_is_there_at_once) {
  const Stream stream(open().device);
  { const Tensor tensor = empty_tensor({30 << 20}, u8, open().device); }
  give_foreign_work(stream);
  const Tensor tensor = empty_tensor({30 << 20}, u8, open().device);
  EXPECT_EQ(done, 0);
  fake.finish(stream);
}

TEST_F(Quiet, kernels_that_are_new_to_the_device_wait_and_others_do_not) {
  const Stream stream(open().device);
  std::uint64_t kernel = 0, known = 0;
  note_run(open(0), known);
  give_foreign_work(stream);
  note_run(open(0), known);
  EXPECT_EQ(done, 0);
  note_run(open(1), known);  // where it has not run yet
  EXPECT_EQ(done, 1);
  give_foreign_work(stream);
  note_run(open(0), kernel);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(known, 3u);
  EXPECT_EQ(kernel, 1u);
}

TEST_F(Quiet, a_backend_that_never_waits_is_given_everything) {
  fake.flags |= BP_DEVICE_NO_HIDDEN_WAITS;
  const Stream stream(open().device);
  give_foreign_work(stream);
  const Tensor tensor = empty_tensor({30 << 20}, u8, open().device);
  std::uint64_t kernel = 0;
  note_run(open(), kernel);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(num_out(), 1u);
  stream.synchronize();
  EXPECT_EQ(num_out(), 0u);
}

TEST_F(Quiet, one_whose_memory_never_waits_is_given_memory_alone) {
  fake.flags |= BP_DEVICE_NO_MEMORY_WAITS;
  const Stream stream(open().device);
  give_foreign_work(stream);
  const Tensor tensor = empty_tensor({30 << 20}, u8, open().device);
  EXPECT_EQ(done, 0);
  std::uint64_t kernel = 0;
  note_run(open(), kernel);
  EXPECT_EQ(done, 1);
}

TEST_F(Quiet, work_of_a_lost_stream_is_out_no_more) {
  const Stream stream(open().device);
  give_foreign_work(stream);
  fake.stream_of(stream).late_error = BP_STREAM_LOST;
  EXPECT_EQ(error_of([&] { stream.synchronize(); }).error_class(), ErrorClass::stream_lost);
  EXPECT_EQ(num_out(), 0u);
}

}  // namespace
}  // namespace bp::test
