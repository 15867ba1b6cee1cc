// The child of a fork: no lock is left held, and devices that cannot follow say so.
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/runtime/generator.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

// Runs `body` in a child, which must end within seconds and return true.
template <class Body> void in_child(Body body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    bool fine = false;
    try {
      fine = body();
    } catch (...) {
    }
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Fork, a_synchronous_host_device_follows) {
  FakePlugin fake;
  const Registered acme(fake);
  const Held before(acme.record(), 100);
  in_child([&] {
    const Held small(acme.record(), 100), large(acme.record(), 1 << 20);
    return true;
  });
}

TEST(Fork, a_device_that_cannot_follow_is_a_clear_error) {
  FakePlugin fake;
  fake.make_asynchronous();
  const Registered acme(fake);
  Tensor before = empty_tensor({5000}, f32, acme.device());
  in_child([&] {
    const Error error = error_of([&] { empty_tensor({3}, f32, acme.device()); });
    before = {};
    return error.error_class() == ErrorClass::device_lost &&
           std::string(error.what()) ==
               "acme:0: was opened before fork(), and this is the child; "
               "exec, or use devices first opened after fork" &&
           text_of([&] { Stream::current(acme.device()); }) == error.what();
  });
  EXPECT_NO_THROW(acme.record());
}

TEST(Fork, a_device_that_was_not_opened_yet_can_be_used) {
  FakePlugin fake;
  fake.make_asynchronous();
  const Registered acme(fake);
  in_child([&] {
    const Tensor tensor = empty_tensor({3}, f32, acme.device());
    synchronize(acme.device());
    return true;
  });
}

// Not under the address sanitizer: the child would wait for a lock of its allocator that another
// thread held at the fork, which is its fault and not ours. The thread sanitizer's run has this test.
#ifndef __SANITIZE_ADDRESS__
TEST(Fork, in_the_midst_of_other_threads_leaves_no_lock_held) {
  FakePlugin fake;
  const Registered acme(fake);
  acme.record();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        const Held large(acme.record(), 30 << 10);
        const Held small(acme.record(), 100);
        default_generator(acme.device()).reserve(4);
        release_host(allocate_host(1000, 64));
        memory_statistics(acme.device());
        registered_devices();
      }
    });
  for (int i = 0; i < 20; ++i) {
    in_child([&] {
      fake.is_in_child = true;
      const Held large(acme.record(), 3 << 20), small(acme.record(), 100);
      default_generator(acme.device()).reserve(4);
      release_host(allocate_host(1000, 64));
      memory_summary(acme.device());
      return find_device("acme") != nullptr;
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}
#endif

}  // namespace
}  // namespace bp::test
