#include "race.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <backplane/tensor/error.hpp>

#include "constants.hpp"

namespace bp::tuner {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The two shortest times of one way.
struct Shortest {
  double best = std::numeric_limits<double>::infinity(), next = best;
  void add(double seconds) {
    next = std::min(next, std::max(best, seconds));
    best = std::min(best, seconds);
  }
  bool agree() const { return next <= best * constants::quiet; }
};

class Race {
 public:
  Race(const Question& question, const std::function<double(std::size_t)>& measure)
      : question_(question), measure_(measure), times_(question.num_ways) {}

  // False: way 0 cannot be measured.
  bool enter_all() {
    for (std::size_t way = 0; way < question_.num_ways; ++way) {
      // The first time includes compiling; what is left must be enough for another like the last.
      const double before = spent_.seconds();
      try {
        measure_(way);
        run(way);
        ways_.push_back(way);
      } catch (const Error&) {
        if (way == 0) return false;
      }
      if (2 * spent_.seconds() - before > question_.budget_seconds) break;
    }
    const double limit = times_[fastest()].best * constants::hopeless;
    std::erase_if(ways_, [&](std::size_t way) { return way != 0 && times_[way].best > limit; });
    return true;
  }

  // In turns, so that what else the machine does hits all of them.
  void run_rounds(bool careful) {
    if (ways_.size() < 2) return;
    for (int round = 1; round < (careful ? constants::most_rounds : constants::usual_rounds);
         ++round) {
      if (spent_.seconds() >= question_.budget_seconds) return;
      if (round >= constants::usual_rounds && was_quiet()) return;
      for (const std::size_t way : ways_) run(way);
    }
  }

  bool was_quiet() const {
    return ways_.size() < 2 || std::all_of(ways_.begin(), ways_.end(),
                                           [&](std::size_t way) { return times_[way].agree(); });
  }

  Finish finish() const {
    Finish finish;
    const std::size_t found = fastest();
    if (times_[found].best < times_[0].best * question_.least_gain) finish.way = found;
    for (const Shortest& each : times_)
      finish.seconds.push_back(std::isinf(each.best) ? 0 : each.best);
    return finish;
  }

 private:
  void run(std::size_t way) { times_[way].add(measure_(way)); }
  std::size_t fastest() const {
    return *std::min_element(ways_.begin(), ways_.end(), [&](std::size_t a, std::size_t b) {
      return times_[a].best < times_[b].best;
    });
  }

  const Question& question_;
  const std::function<double(std::size_t)>& measure_;
  const Stopwatch spent_;
  std::vector<Shortest> times_;
  std::vector<std::size_t> ways_;  // that work and are not hopeless
};

}  // namespace

std::optional<Finish> race(const Question& question, bool careful,
                           const std::function<double(std::size_t)>& measure) {
  Race race(question, measure);
  if (!race.enter_all()) return {};
  race.run_rounds(careful);
  if (careful && !race.was_quiet()) return {};
  return race.finish();
}

}  // namespace bp::tuner
