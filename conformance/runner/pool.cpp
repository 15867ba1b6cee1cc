#include "runner/pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <thread>

#include <backplane/runtime/stream.hpp>

#include "judge/expected.hpp"
#include "runner/isolation.hpp"

namespace bp::conform {
namespace {

// Consecutive cases of a row are one thread's: they share kernels, and where a device compiles these, two workers would
// compile each at the same time. No longer runs, so that all threads end together.
constexpr std::size_t longest_run = 24;

struct PoolState {
  std::atomic<bool> done{false};  // also ends every waiting for a worker
  Bench bench;
  const std::vector<Case>& cases;
  Progress& progress;
  const std::function<bool(const Record&)>& sink;
  Isolation isolation{bench};

  PoolState(const Bench& given, const std::vector<Case>& all, Progress& shown,
            const std::function<bool(const Record&)>& taker)
      : bench(given), cases(all), progress(shown), sink(taker) {
    bench.plan.stop = &done;
  }

  std::mutex lock;  // of what follows
  std::condition_variable changed;
  int running = 0;
  std::size_t next = 0;
  std::exception_ptr problem;

  // Cases from `first` on, and how many.
  std::size_t take_run(std::size_t& first) {
    const std::scoped_lock guard(lock);
    first = next;
    while (next < cases.size() && next - first < longest_run && cases[next].op == cases[first].op)
      ++next;
    return next - first;
  }

  void report(const Record& record) {
    const std::scoped_lock guard(lock);
    if (done) return;
    progress.take(record);
    if (!sink(record)) done = true;
  }

  void run(Workers& workers, const Case& one) {
    Executed seen = execute(bench, workers, one, isolation.limit_of(one));
    seen = isolation.settle(std::move(seen));
    if (!seen.interrupted) report(seen.record);
  }

  void work() {
    try {
      const StreamGuard own{Stream(oracle())};  // what goes wrong there is this thread's
      Workers workers(bench);
      std::size_t first = 0;
      while (const std::size_t count = done ? 0 : take_run(first))
        for (std::size_t i = first; i < first + count && !done; ++i) run(workers, cases[i]);
      if (!done) workers.finish();
    } catch (...) {
      const std::scoped_lock guard(lock);
      problem = std::current_exception();
      done = true;
    }
    const std::scoped_lock guard(lock);
    --running;
    changed.notify_all();
  }
};

}  // namespace

void run_pool(const Bench& bench, const std::vector<Case>& cases, int jobs, Progress& progress,
              const std::function<bool(const Record&)>& sink) {
  PoolState state(bench, cases, progress, sink);
  const std::atomic<bool>* const stop = bench.plan.stop;
  state.running =
      std::clamp<int>(jobs, 1, static_cast<int>(std::max<std::size_t>(1, cases.size())));
  std::vector<std::thread> threads;
  for (int i = state.running; i > 0; --i) threads.emplace_back([&state] { state.work(); });
  {
    std::unique_lock guard(state.lock);
    while (state.running > 0) {
      state.changed.wait_for(guard, std::chrono::milliseconds(100));
      if (stop != nullptr && *stop) state.done = true;
      guard.unlock();
      progress.tick();
      guard.lock();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (state.problem) std::rethrow_exception(state.problem);
}

}  // namespace bp::conform
