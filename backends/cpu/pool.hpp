// Threads that share out the work of one call at a time. A caller does its own share first and then takes what nobody
// has begun, so that a thread which the system runs late, beside other programs, holds nobody up: only what it has
// begun is waited for. No thread helps on its caller's core. Waiting is a short spin, then sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <sched.h>
#include <sys/types.h>
#include <thread>
#include <time.h>
#include <vector>

namespace bp::cpu {

class Pool {
 public:
  using Body = void (*)(void* state, int64_t begin, int64_t end);

  // Of at most so many threads, callers included; they start when they are first needed, each with at_start().
  explicit Pool(int most_threads, void (*at_start)() = nullptr);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls body(state, begin, end) for disjoint ranges of at least `grain` (but for the last) that cover [0, count), on
  // the calling thread and at most threads - 1 others; `worth` is how many threads' meeting the whole is worth. Several
  // threads may call at once. What the body throws is thrown here, once, after all have ended.
  struct Work {
    int64_t count, grain, worth;
    Body body;
    void* state;
  };
  void run(const Work& work, int threads);

  // Whether the calling thread is one that works for a call: the body of another call must not ask for threads again.
  static bool is_working();

  // Sends threads to sleep that wait for work, before somebody else's threads need the cores.
  void rest();

 private:
  struct Job;

  Job* take_job();
  void start_threads(int count);
  void wake(int wanted);
  void serve(int number);
  bool help(int number);
  bool is_elsewhere(int number, const Job& job);
  void end(Job& job);
  bool fetch_those_kept_waiting(const Job& job);
  bool is_crowded() const;

  static constexpr int max_jobs = 8;

  const int most_threads_;
  void (*const at_start_)();
  std::unique_ptr<Job[]> jobs_;  // one for each call that runs now
  struct Helper {
    pid_t id = 0;
    clockid_t clock{};  // of its time on a core
    int64_t apart_until =
        0;  // on Clock: till then it keeps off a core; 0 when it may run on any. For this thread alone.
    std::mutex moving;    // guards the thread's cores, and
    cpu_set_t allowed{};  // those that it may use again then
    bool is_apart = false;
  };
  std::vector<Helper> helpers_;  // by number, from 1
  std::atomic<int64_t> crowded_until_{0};
  std::atomic<int> callers_{0};
  std::atomic<bool> ended_{false};

  std::mutex starting_;  // guards threads_
  std::vector<std::thread> threads_;
  std::atomic<int> started_{0};

  alignas(64) std::atomic<uint32_t> news_{0};  // counts jobs: what idle threads watch
  std::atomic<int> sleeping_{0};
  std::atomic<uint32_t> rests_{0};
  alignas(64) std::atomic<int> spinning_{0};
};

}  // namespace bp::cpu
