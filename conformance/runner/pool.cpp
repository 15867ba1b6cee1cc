#include "runner/pool.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <thread>
#include <unistd.h>

#include <backplane/runtime/stream.hpp>

#include "judge/calls.hpp"
#include "report/report.hpp"

namespace bp::conform {
namespace {

std::atomic<bool> interrupt_requested{false};

void on_interrupt(int number) {
  interrupt_requested.store(true, std::memory_order_relaxed);
  std::signal(number, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_requested = false;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

std::atomic<bool>& InterruptGuard::requested() {
  return interrupt_requested;
}

// ---- How far a run is

namespace {

constexpr std::chrono::milliseconds every_on_terminal{150}, every_in_a_file{5000};
// More are in the report.
constexpr std::size_t most_shown_failures = 20;
constexpr const char* clear_line = "\r\033[K";

std::string text_of_seconds(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 90) return fmt::format("{} s", whole);
  if (whole < 5400) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(std::size_t total, Shows shows, Json header)
    : total_(total), shows_(shows), terminal_(shows == Shows::all && isatty(STDERR_FILENO) != 0),
      header_(std::move(header)) {
  if (!terminal_) printed_ = start_;
}

Progress::~Progress() {
  if (terminal_) std::fputs(clear_line, stderr);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::take(const Record& record) {
  const std::scoped_lock guard(lock_);
  ++done_;
  if (!is_failure(record.verdict.outcome)) return;
  if (++failures_ > most_shown_failures || shows_ == Shows::nothing) return;
  fmt::print(stderr, "{}{:<8}{}: {}\n", terminal_ ? clear_line : "", name(record.verdict.outcome),
             record.name, record.verdict.why);
  if (!header_.is_null())
    fmt::print(stderr, "        {}\n", repeating_command(record.name, header_));
  if (failures_ == most_shown_failures)
    fmt::print(stderr, "further failures are in the report only\n");
}

std::string Progress::line() const {
  const double rate = static_cast<double>(done_) / std::max(seconds(), 1e-3);
  const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0;
  return fmt::format("{} of {} cases, {:.0f}/s, {} left, {} failed", done_, total_, rate,
                     done_ == 0 ? "?" : text_of_seconds(left), failures_);
}

void Progress::tick() {
  if (shows_ != Shows::all) return;
  const std::scoped_lock guard(lock_);
  const auto now = Clock::now();
  if (now - printed_ < (terminal_ ? every_on_terminal : every_in_a_file)) return;
  printed_ = now;
  fmt::print(stderr, "{}{}{}", terminal_ ? clear_line : "", line(), terminal_ ? "" : "\n");
}

// ---- After a failure: is it the case's own, its company's, or chance? What a record finally says

namespace {

constexpr int reruns_of_a_death = 3;
// Of one row and dtype; of all.
constexpr int deaths_until_believed = 3, failures_until_believed = 4;
constexpr int all_deaths_until_believed = 60, all_failures_until_believed = 400;
constexpr int hangs_until_shortened = 2, all_hangs_until_shortened = 12;
constexpr double shortened_limit_s = 3, rerun_of_a_hang_s = 5;

std::string group_of(const Case& one) {
  if (one.lane == Lane::probe) return one.op;
  return fmt::format("{}[{}]", one.op, index(one.dtype));
}

bool is_bad(const Executed& seen) {
  return is_failure(seen.record.verdict.outcome);
}

Executed flaky(Executed seen, int passed, int reruns) {
  Verdict& verdict = seen.record.verdict;
  verdict.why = fmt::format("{}: {}; alone it passed {} of {} reruns", name(verdict.outcome),
                            verdict.why, passed, reruns);
  verdict.outcome = Outcome::flaky;
  return seen;
}

// A death is rerun alone three times; if it never comes back, the batch that its worker had run is bisected for the case
// that it takes. What fails without dying is rerun alone once. A pass on a retry is FLAKY.
//
// Many failures of one row and dtype have one reason: after the first few they are believed without a rerun, and after
// a few hangs the limit of time is cut, so that a device that hangs on one dtype costs minutes and not days.
class Isolation {
 public:
  explicit Isolation(const Bench& bench) : bench_(bench) {}

  // The limit of time for a case that has not run yet; 0: the trial's own.
  double limit_of(const Case& one) {
    const std::scoped_lock guard(lock_);
    const bool shortened = histories_[group_of(one)].hangs >= hangs_until_shortened ||
                           histories_[""].hangs >= all_hangs_until_shortened;
    return shortened ? shortened_limit_s * bench_.patience : 0;
  }

  // From what was seen to what is recorded. Threads: any. May be interrupted (see Executed).
  Executed settle(Executed seen) {
    if (seen.interrupted || !is_bad(seen) || seen.record.verdict.outcome == Outcome::mistrusted)
      return seen;
    if (believed(seen)) return remember(seen), seen;
    Executed settled =
        seen.died() ? settle_death(std::move(seen)) : settle_failure(std::move(seen));
    if (!settled.interrupted && settled.record.verdict.outcome != Outcome::flaky) remember(settled);
    return settled;
  }

 private:
  struct History {
    int deaths = 0, failures = 0, hangs = 0;
  };

  bool believed(const Executed& seen) {
    const std::scoped_lock guard(lock_);
    const History &own = histories_[group_of(seen.record.one)], &all = histories_[""];
    if (seen.died())
      return own.deaths >= deaths_until_believed || all.deaths >= all_deaths_until_believed;
    return own.failures >= failures_until_believed || all.failures >= all_failures_until_believed;
  }

  void remember(const Executed& seen) {
    const std::scoped_lock guard(lock_);
    for (History* history : {&histories_[group_of(seen.record.one)], &histories_[""]}) {
      history->hangs += seen.record.verdict.outcome == Outcome::timeout;
      (seen.died() ? history->deaths : history->failures) += 1;
    }
  }

  Executed settle_failure(Executed seen) {
    Executed again = execute_alone(bench_, seen.record.one);
    if (again.interrupted) return again;
    return is_bad(again) ? seen : flaky(std::move(seen), 1, 1);
  }

  Executed settle_death(Executed seen) {
    int passed = 0;
    const bool hung = seen.record.verdict.outcome == Outcome::timeout;
    for (int i = 0; i < reruns_of_a_death; ++i) {
      const double shortened = limit_of(seen.record.one);
      const double limit_s =
          hung ? std::min(rerun_of_a_hang_s * bench_.patience, seen.record.ms / 1e3) : 0;
      Executed again = execute_alone(bench_, seen.record.one, shortened > 0 ? shortened : limit_s);
      if (again.interrupted) return again;
      passed += !is_bad(again);
      if (again.record.verdict.outcome == Outcome::timeout) remember(again);
    }
    if (passed == 0) return seen;
    if (passed == reruns_of_a_death)
      seen.record.accomplice = find_accomplice(seen, seen.interrupted);
    if (seen.record.accomplice.empty()) return flaky(std::move(seen), passed, reruns_of_a_death);
    seen.record.verdict.why += "; only after " + seen.record.accomplice;
    return seen;
  }

  // The batch of a case that dies only in company: the one case that it takes, "" if the death does not come back.
  std::string find_accomplice(const Executed& seen, bool& interrupted) {
    const std::vector<Case>& batch = seen.company;
    const auto dies_after = [&](std::size_t first) {
      const std::vector<Case> before(batch.begin() + static_cast<std::ptrdiff_t>(first),
                                     batch.end());
      const Executed again = execute_alone(bench_, seen.record.one, 0, before);
      interrupted = interrupted || again.interrupted;
      return again.died();
    };
    if (batch.empty() || !dies_after(0)) return "";
    // The last place from which the rest of the batch is enough.
    std::size_t enough = 0, too_late = batch.size();
    while (too_late - enough > 1 && !interrupted) {
      const std::size_t middle = enough + (too_late - enough) / 2;
      (dies_after(middle) ? enough : too_late) = middle;
    }
    return interrupted ? "" : name_of(batch[enough]);
  }

  const Bench& bench_;
  std::mutex lock_;
  std::map<std::string, History> histories_;  // by "op[dtype]"; "" is of all
};

// ---- The pool

// Consecutive cases of a row are one thread's: they share kernels, and where a device compiles these, two workers would
// compile each at the same time. No longer runs, so that all threads end together.
constexpr std::size_t longest_run = 24;

struct PoolState {
  Bench bench;
  const std::vector<Case>& cases;
  Progress& progress;
  const std::function<bool(const Record&)>& sink;
  std::atomic<bool> done{false};  // also ends every waiting for a worker
  Isolation isolation{bench};

  std::mutex lock{};  // of what follows
  std::condition_variable changed{};
  int running = 0;
  std::size_t next = 0;
  std::exception_ptr problem{};

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
  PoolState state{bench, cases, progress, sink};
  state.bench.plan.stop = &state.done;
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
