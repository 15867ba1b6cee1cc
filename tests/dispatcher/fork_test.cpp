// needs: cpu reference
// A process that forks after it has used devices: cpu follows, and others say that they cannot.
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "dispatcher/calls.hpp"
#include "tools/run_program.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

// What `body` returned in a forked child, or how the child ended.
std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::string text;
    try {
      text = body();
    } catch (const std::exception& error) {
      text = error.what();
    }
    static_cast<void>(!write(ends[1], text.data(), text.size()));
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "died of signal " + std::to_string(WTERMSIG(status));
  return text;
}

TEST(Fork, cpu_works_in_the_child) {
  const Tensor a = counted({1000, 100});  // large enough for several threads
  const std::vector<float> expected = values(sum(mul(a, 2), 1));
  EXPECT_EQ(in_child([&] {
              return values(sum(mul(a, 2), 1)) == expected ? "the same" : "something else";
            }),
            "the same");
  EXPECT_EQ(values(sum(mul(a, 2), 1)), expected);
}

TEST(Fork, matmul_works_in_the_child) {
  const Tensor a = bp::ones({300, 300});
  const float expected = values(matmul(a, a))[0];
  EXPECT_EQ(in_child([&] { return std::to_string(values(matmul(a, a))[0]); }),
            std::to_string(expected));
}

TEST(Fork, a_device_that_cannot_follow_says_so) {
  const bp::Device device = bp::device("reference");
  const Tensor a = counted({3}, device);
  bp::synchronize(device);
  const std::string sentence =
      "reference:0: was opened before fork(), and this is the child; exec, or use devices first "
      "opened "
      "after fork";
  EXPECT_EQ(in_child([&] { return error_of([&] { add(a, a); }); }), "add: " + sentence);
  EXPECT_EQ(in_child([&] { return error_of([&] { bp::empty_tensor({1}, bp::f32, device); }); }),
            sentence);
  EXPECT_EQ(in_child([&] { return error_of([&] { values(a); }); }), sentence);
  EXPECT_EQ(in_child([&] { return error_of([&] { bp::synchronize(device); }); }), sentence);
  EXPECT_EQ(values(add(a, a)), (std::vector<float>{0, 2, 4}));  // here nothing has changed
}

TEST(Fork, tensors_of_such_a_device_may_be_dropped_in_the_child) {
  const bp::Device device = bp::device("reference");
  Tensor a = counted({3}, device);
  bp::synchronize(device);
  EXPECT_EQ(in_child([&] {
              a = {};
              expect_cpu_works();
              return testing::Test::HasFailure() ? "failed" : "fine";
            }),
            "fine");
  EXPECT_EQ(values(a)[2], 2);
}

TEST(Fork, a_device_first_used_in_the_child_works_there) {
  const TemporaryFolder folder;  // a copy, since other tests may have used the plugin itself
  const std::string file = folder.path() / "fresh.so";
  std::filesystem::copy_file(test_plugin("memonly"), file);
  bp::Backend& backend = bp::load_plugin(file);
  EXPECT_EQ(in_child([&] {
              const Tensor a = counted({3}, backend.devices.front()->device);
              return std::to_string(values(add(a, a))[2]);
            }),
            "4.000000");
  bp::unload_plugin(backend);
}

// Not under the address sanitizer: the child would wait for a lock of its allocator that another
// thread held at the fork, which is its fault and not ours.
#ifndef __SANITIZE_ADDRESS__
TEST(Fork, while_other_threads_call_the_child_still_works) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!stop) add(bp::ones({100}), 1);
    });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(in_child([] { return std::to_string(values(add(bp::ones({100}), 1))[99]); }),
              "2.000000");
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// cpu keeps a list of its large blocks; without what the host keeps, each one is asked for there.
TEST(Fork, while_other_threads_take_large_blocks_the_child_can_do_so_too) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        static_cast<void>(bp::empty_tensor({std::int64_t{1} << 21}, bp::f32, bp::host_device()));
        bp::empty_cache(bp::host_device());
      }
    });
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(in_child([] {
                bp::empty_cache(bp::host_device());
                return std::to_string(values(bp::ones({1 << 21}))[99]);
              }),
              "1.000000")
        << i;
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Fork, while_other_threads_load_plugins_and_count_calls_the_child_can_do_so_too) {
  const TemporaryFolder folder;
  const std::string theirs = folder.path() / "theirs.so", mine = folder.path() / "mine.so";
  std::filesystem::copy_file(test_plugin("memonly"), theirs);
  std::filesystem::copy_file(test_plugin("memonly"), mine);
  std::atomic<bool> stop{false};
  std::thread loading([&] {
    while (!stop) bp::unload_plugin(bp::load_plugin(theirs));
  });
  std::thread counting([&] {
    while (!stop) bp::call_counts();
  });
  std::thread finding([&] {
    while (!stop) bp::find_operator("add");
  });
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(in_child([&] {
                bp::unload_plugin(bp::load_plugin(mine));
                bp::call_counts();
                return bp::find_operator("add")->name();
              }),
              "add");
  stop = true;
  for (std::thread* thread : {&loading, &counting, &finding}) thread->join();
}
#endif

}  // namespace
