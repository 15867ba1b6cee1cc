#include "runner/isolation.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bp::conform {
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

}  // namespace

double Isolation::limit_of(const Case& one) {
  const std::scoped_lock guard(lock_);
  const bool shortened = histories_[group_of(one)].hangs >= hangs_until_shortened ||
                         histories_[""].hangs >= all_hangs_until_shortened;
  return shortened ? shortened_limit_s * bench_.patience : 0;
}

bool Isolation::believed(const Executed& seen) {
  const std::scoped_lock guard(lock_);
  const History &own = histories_[group_of(seen.record.one)], &all = histories_[""];
  if (seen.died())
    return own.deaths >= deaths_until_believed || all.deaths >= all_deaths_until_believed;
  return own.failures >= failures_until_believed || all.failures >= all_failures_until_believed;
}

void Isolation::remember(const Executed& seen) {
  const std::scoped_lock guard(lock_);
  for (const std::string& group : {group_of(seen.record.one), std::string()}) {
    History& history = histories_[group];
    history.hangs += seen.record.verdict.outcome == Outcome::timeout;
    (seen.died() ? history.deaths : history.failures) += 1;
  }
}

Executed Isolation::settle(Executed seen) {
  if (seen.interrupted || !is_bad(seen) || seen.record.verdict.outcome == Outcome::mistrusted)
    return seen;
  if (believed(seen)) return remember(seen), seen;
  Executed settled = seen.died() ? settle_death(std::move(seen)) : settle_failure(std::move(seen));
  if (!settled.interrupted && settled.record.verdict.outcome != Outcome::flaky) remember(settled);
  return settled;
}

Executed Isolation::settle_failure(Executed seen) {
  Executed again = execute_alone(bench_, seen.record.one);
  if (again.interrupted) return again;
  return is_bad(again) ? seen : flaky(std::move(seen), 1, 1);
}

Executed Isolation::settle_death(Executed seen) {
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
  if (passed < reruns_of_a_death) return flaky(std::move(seen), passed, reruns_of_a_death);

  seen.record.accomplice = find_accomplice(seen, seen.interrupted);
  if (seen.record.accomplice.empty()) return flaky(std::move(seen), passed, reruns_of_a_death);
  seen.record.verdict.why += "; only after " + seen.record.accomplice;
  return seen;
}

std::string Isolation::find_accomplice(const Executed& seen, bool& interrupted) {
  const std::vector<Case>& batch = seen.company;
  const auto dies_after = [&](std::size_t first) {
    const std::vector<Case> before(batch.begin() + static_cast<std::ptrdiff_t>(first), batch.end());
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

}  // namespace bp::conform
