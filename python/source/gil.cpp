#include "gil.hpp"

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace nb = nanobind;

namespace bp::python {
namespace {

// The one that runs atexit functions, and ends the interpreter after them.
std::atomic<std::thread::id> ending_thread;

// Threads that work without the lock, each counted once however deep.
std::atomic<int> num_working{0};
thread_local int depth = 0;

// Begins when no thread can get the lock any more; what they are in the middle of ends soon.
void wait_for_those_who_work() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point latest = Clock::now() + std::chrono::seconds(5);
  while (num_working.load() > 0 && Clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

void begin_work() {
  if (depth++ == 0) num_working.fetch_add(1);
}
void end_work() {
  if (--depth == 0) num_working.fetch_sub(1);
}

void stay_until_the_process_ends() {
  if (depth > 0) num_working.fetch_sub(1);
  for (;;) pause();
}

void stay_if_the_interpreter_ends() {
  if (Py_IsInitialized())
    return;  // false as soon as it begins to end, and no atexit function is left
  if (std::this_thread::get_id() != ending_thread.load()) stay_until_the_process_ends();
}

void end_with_the_interpreter() {
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { ending_thread = std::this_thread::get_id(); }));
  Py_AtExit(wait_for_those_who_work);
  pthread_atfork(nullptr, nullptr,
                 [] { num_working = depth > 0 ? 1 : 0; });  // nobody else is there
}

}  // namespace bp::python
