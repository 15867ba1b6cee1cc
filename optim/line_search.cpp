#include "line_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace bp::optim {
namespace {

constexpr double sufficient_decrease = 1e-4, curvature = 0.9;

bool falls_too_little(const LinePoint& start, const LinePoint& point) {
  return point.loss > start.loss + sufficient_decrease * point.t * start.slope;
}

bool is_flat_enough(const LinePoint& start, const LinePoint& point) {
  return std::abs(point.slope) <= -curvature * start.slope;
}

// Two points with a good one between them, or the good one twice.
struct Bracket {
  std::array<LinePoint, 2> ends;
  bool is_done = false;
  std::size_t low() const { return ends[0].loss <= ends[1].loss ? 0 : 1; }
};

// Goes on until a good point lies between the last two. Counts the rounds after the first evaluation.
Bracket bracket_from(const LineSearch& search, const LinePoint& start, LinePoint point,
                     std::int64_t& rounds) {
  LinePoint before = start;
  for (; rounds < search.max_evaluations; ++rounds) {
    if (falls_too_little(start, point) || (rounds > 1 && point.loss >= before.loss))
      return {{before, point}};
    if (is_flat_enough(start, point)) return {{point, point}, true};
    if (point.slope >= 0) return {{before, point}};
    const double t =
        cubic_minimum(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10);
    before = point;
    point = search.evaluate(t);
  }
  return {{start, point}};
}

// The next step length in a bracket; one that is twice close to an end goes a tenth away from it.
double trial_within(const Bracket& bracket, bool& was_close) {
  const auto [low, high] = std::minmax(bracket.ends[0].t, bracket.ends[1].t);
  double t = cubic_minimum(bracket.ends[0], bracket.ends[1], low, high);
  const double tenth = 0.1 * (high - low);
  if (std::min(high - t, t - low) >= tenth) {
    was_close = false;
  } else if (was_close || t >= high || t <= low) {
    t = std::abs(t - high) < std::abs(t - low) ? high - tenth : low + tenth;
    was_close = false;
  } else {
    was_close = true;
  }
  return t;
}

}  // namespace

double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double lowest =
      a.t <= b.t ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                 : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::isnan(lowest) ? (low + high) / 2 : std::min(std::max(lowest, low), high);
}

LineResult search_line(const LineSearch& search, const LinePoint& start, double first_t) {
  std::int64_t rounds = 0;
  Bracket bracket = bracket_from(search, start, search.evaluate(first_t), rounds);
  std::int64_t evaluations = 1 + rounds;
  bool was_close = false;
  std::size_t low = bracket.low();
  while (!bracket.is_done && rounds < search.max_evaluations) {
    if (std::abs(bracket.ends[1].t - bracket.ends[0].t) * search.longest_move <
        search.tolerance_change)
      break;
    const LinePoint point = search.evaluate(trial_within(bracket, was_close));
    ++evaluations;
    ++rounds;
    LinePoint& best = bracket.ends[low];
    LinePoint& other = bracket.ends[1 - low];
    if (falls_too_little(start, point) || point.loss >= best.loss) {
      other = point;
      low = bracket.low();
      continue;
    }
    if (is_flat_enough(start, point))
      bracket.is_done = true;
    else if (point.slope * (other.t - best.t) >= 0)
      other = best;
    best = point;
  }
  return {bracket.ends[low], evaluations};
}

}  // namespace bp::optim
