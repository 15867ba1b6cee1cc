#include "pool.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "constants.hpp"
#include "no_signals.hpp"
#include "rounding.hpp"

namespace bp::cpu {
namespace {

thread_local bool working = false;

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr microseconds idle_spin{constants::idle_spin_us};
constexpr microseconds before_asking{constants::before_asking_us};
constexpr microseconds before_sleeping{constants::before_sleeping_us};
constexpr microseconds crowded_time{constants::crowded_us};
constexpr microseconds apart_time{constants::apart_us};
using constants::ranges_per_thread;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Word> void futex_wait(std::atomic<Word>& word, Word seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE,
          static_cast<uint32_t>(seen), nullptr, nullptr, 0);
}
template <class Word> void futex_wake(std::atomic<Word>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

// Until `ended`, for at most `time`; whether it has.
template <class Ended> bool spin(std::chrono::microseconds time, Ended ended) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      if (ended()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < time);
  return false;
}

}  // namespace

// A call that runs. Its ranges are shared out evenly; who has done its share goes on with others'.
struct Pool::Job {
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  void begin(const Work& work, int threads);
  void do_ranges(int first_share);
  bool is_over() const { return inside.load() == 0; }
  void sleep_till_over();
  bool help(int number);

  // Numbers of the threads that help.
  std::vector<std::atomic<bool>> helping;

  alignas(64) std::atomic<bool> taken{false};   // by a caller
  std::atomic<bool> open{false};                // others may help
  std::atomic<int> places{0};                   // for others that are left
  alignas(64) std::atomic<uint32_t> inside{0};  // others that look at it, or help
  std::atomic<bool> awaited{false};             // the caller sleeps till they have left
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  Work whole{};
  std::atomic<int> core{0};  // where the caller was when it began
  int64_t range = 0;         // of one turn
  int num_shares = 0;
  std::vector<Share> shares;
};

void Pool::Job::begin(const Work& work, int threads) {
  whole = work;
  core.store(sched_getcpu(), std::memory_order_relaxed);
  range = std::max(work.grain, divide_up(work.count, threads * ranges_per_thread));
  const int64_t ranges = divide_up(work.count, range), share = divide_up(ranges, threads);
  num_shares = static_cast<int>(divide_up(ranges, share));
  for (int i = 0; i < num_shares; ++i) {
    shares[i].next.store(i * share, std::memory_order_relaxed);
    shares[i].end = std::min(ranges, (i + 1) * share);
  }
  places.store(num_shares - 1, std::memory_order_relaxed);
  open.store(true);
}

void Pool::Job::do_ranges(int first) {
  try {
    for (int i = 0; i < num_shares; ++i) {
      Share& share = shares[(first + i) % num_shares];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const int64_t at = share.next.fetch_add(1, std::memory_order_relaxed);
        if (at >= share.end) break;
        whole.body(whole.state, at * range, std::min(whole.count, (at + 1) * range));
      }
    }
  } catch (...) {
    if (!failed.exchange(true)) error = std::current_exception();
  }
}

void Pool::Job::sleep_till_over() {
  awaited.store(true);
  while (const uint32_t left = inside.load()) futex_wait(inside, left);
  awaited.store(false);
}

bool Pool::Job::help(int number) {
  if (!open.load(std::memory_order_relaxed)) return false;
  inside.fetch_add(1);
  bool found = false;
  if (open.load() && places.fetch_sub(1, std::memory_order_relaxed) > 0) {
    helping[number].store(true, std::memory_order_relaxed);
    do_ranges(number);
    helping[number].store(false, std::memory_order_relaxed);
    found = true;
  }
  inside.fetch_sub(1);
  if (awaited.load()) futex_wake(inside, 1);
  return found;
}

Pool::Pool(int most_threads, void (*at_start)())
    : most_threads_(std::max(1, most_threads)), at_start_(at_start),
      jobs_(std::make_unique<Job[]>(max_jobs)) {
  for (int i = 0; i < max_jobs; ++i) {
    jobs_[i].shares = std::vector<Job::Share>(most_threads_);
    jobs_[i].helping = std::vector<std::atomic<bool>>(most_threads_);
  }
  helpers_ = std::vector<Helper>(most_threads_);
}

Pool::~Pool() {
  ended_ = true;
  ++news_;
  futex_wake(news_, INT_MAX);
  for (std::thread& each : threads_) each.join();
}

bool Pool::is_working() {
  return working;
}

void Pool::run(const Work& work, int threads) {
  const int callers = callers_.fetch_add(1, std::memory_order_relaxed) + 1;
  const struct Leave {
    std::atomic<int>& callers;
    ~Leave() { callers.fetch_sub(1, std::memory_order_relaxed); }
  } leave{callers_};
  threads = static_cast<int>(std::min<int64_t>(
      {threads, most_threads_ / callers, work.worth, divide_up(work.count, work.grain)}));
  Job* job = threads > 1 ? take_job() : nullptr;
  if (!job) return work.body(work.state, 0, work.count);

  start_threads(threads - 1);
  job->begin(work, threads);
  news_.fetch_add(1);
  wake(threads - 1);
  working = true;
  job->do_ranges(0);
  working = false;
  end(*job);
  const std::exception_ptr error = std::exchange(job->error, nullptr);
  job->failed.store(false, std::memory_order_relaxed);
  job->taken.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

// Waits for what others have begun. Nobody comes in any more: who saw the job open is inside.
void Pool::end(Job& job) {
  job.open.store(false);
  const auto is_over = [&] { return job.is_over(); };
  const Clock::time_point start = Clock::now();
  while (!spin(before_asking, is_over)) {
    if (fetch_those_kept_waiting(job) || Clock::now() - start > before_sleeping)
      return job.sleep_till_over();
  }
}

// A thread that does not run, since another program has its core, may run here as soon as the caller sleeps. Left to
// itself the system brings it here late: a core that is often idle for a moment is not one that it looks after.
bool Pool::fetch_those_kept_waiting(const Job& job) {
  const auto time_of = [&](int number) {
    timespec time{};
    clock_gettime(helpers_[number].clock, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  for (int number = 1; number < most_threads_; ++number) {
    if (!job.helping[number].load(std::memory_order_relaxed)) continue;
    const int64_t before = time_of(number);
    if (spin(microseconds(5), [&] { return job.is_over(); })) return false;
    if (time_of(number) != before || !job.helping[number].load(std::memory_order_relaxed)) continue;
    const pid_t id = helpers_[number].id;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    const std::lock_guard lock(helpers_[number].moving);
    cpu_set_t& allowed = helpers_[number].allowed;
    if (!helpers_[number].is_apart && sched_getaffinity(id, sizeof allowed, &allowed) != 0)
      continue;
    sched_setaffinity(id, sizeof here, &here);
    sched_setaffinity(id, sizeof allowed, &allowed);
    helpers_[number].is_apart = false;
    crowded_until_.store((Clock::now() + crowded_time).time_since_epoch().count(),
                         std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool Pool::is_crowded() const {
  const int64_t until = crowded_until_.load(std::memory_order_relaxed);
  return until != 0 && Clock::now().time_since_epoch().count() < until;
}

Pool::Job* Pool::take_job() {
  for (int i = 0; i < max_jobs; ++i)
    if (!jobs_[i].taken.load(std::memory_order_relaxed) && !jobs_[i].taken.exchange(true))
      return &jobs_[i];
  return nullptr;
}

// ---- The others

void Pool::start_threads(int count) {
  if (started_.load(std::memory_order_relaxed) >= count) return;
  const std::unique_lock lock(starting_, std::try_to_lock);
  if (!lock) return;
  // What the application does on signals is done on its own threads, but for the samples of a profiler.
  sigset_t others = all_but_faults(), before;
  sigdelset(&others, SIGPROF);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  try {
    for (int i = started_; i < count; ++i) {
      threads_.emplace_back([this, i] { serve(i + 1); });
      started_ = i + 1;
    }
  } catch (...) {
    // The system gives no more: those that there are must do.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::wake(int wanted) {
  const int asleep = std::min(sleeping_.load(), wanted - spinning_.load());
  if (asleep > 0) futex_wake(news_, asleep);
}

void Pool::rest() {
  if (spinning_.load(std::memory_order_relaxed) > 0) rests_.fetch_add(1, std::memory_order_relaxed);
}

// Whether there was work.
bool Pool::help(int number) {
  bool found = false;
  for (int i = 0; i < max_jobs; ++i)
    if (jobs_[i].open.load(std::memory_order_relaxed) && is_elsewhere(number, jobs_[i]))
      found |= jobs_[i].help(number);
  return found;
}

// The system wakes a thread on the core of who woke it when the others are busy, and leaves it there. Two threads on one core are
// slower than the caller alone, while a core that another program has is still there half of the time: so this thread leaves, and keeps off
// the caller's core for a while. Whether it is on another.
bool Pool::is_elsewhere(int number, const Job& job) {
  Helper& self = helpers_[number];
  const int core = job.core.load(std::memory_order_relaxed);
  const bool meets = sched_getcpu() == core;
  if (!meets && self.apart_until == 0) return true;
  const Clock::time_point now = Clock::now();
  if (!meets && now.time_since_epoch().count() < self.apart_until) return true;
  const std::lock_guard lock(self.moving);
  if (!self.is_apart && sched_getaffinity(0, sizeof self.allowed, &self.allowed) != 0) return true;
  cpu_set_t others = self.allowed;
  if (meets) CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return false;
  if (sched_setaffinity(0, sizeof others, &others) != 0) return !meets;
  self.is_apart = meets;
  self.apart_until = meets ? (now + apart_time).time_since_epoch().count() : 0;
  return true;
}

void Pool::serve(int number) {
  pthread_setname_np(pthread_self(), "backplane_cpu");
  if (at_start_) at_start_();
  working = true;
  helpers_[number].id = static_cast<pid_t>(syscall(SYS_gettid));
  pthread_getcpuclockid(pthread_self(), &helpers_[number].clock);
  uint32_t seen = news_.load();
  while (!ended_) {
    while (help(number)) {
    }
    const uint32_t rests = rests_.load(std::memory_order_relaxed);
    const bool crowded = is_crowded();
    if (!crowded) spinning_.fetch_add(1);
    const bool called = !crowded && spin(idle_spin, [&] {
      return news_.load(std::memory_order_relaxed) != seen ||
             rests_.load(std::memory_order_relaxed) != rests;
    });
    if (!crowded) spinning_.fetch_sub(1);
    if (!called || rests_.load(std::memory_order_relaxed) != rests) {
      sleeping_.fetch_add(1);
      if (news_.load() == seen && !ended_) futex_wait(news_, seen);
      sleeping_.fetch_sub(1);
    }
    seen = news_.load();
  }
}

}  // namespace bp::cpu
