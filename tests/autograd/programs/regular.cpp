#include "autograd/programs/regular.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace bp::test::programs {
namespace {

using Rows = std::set<std::string>;
using Values = std::vector<double>;
constexpr double near_pole = 1e-3, near_corner = 1e-6;

const Rows with_poles{"sqrt", "rsqrt", "log", "div", "reciprocal", "copysign", "entr"},
    roots{"norm", "std", "hypot"}, steps{"floor", "ceil", "trunc", "round"},
    quotients{"remainder", "fmod", "floor_divide"},
    with_corners{"relu",      "abs",       "leaky_relu", "elu",        "clamp",
                 "clamp_min", "clamp_max", "hardswish",  "hardsigmoid"};

template <class Fits> bool all(const Values& values, Fits&& fits) {
  return std::all_of(values.begin(), values.end(), fits);
}

// Which of equal values a row takes is its own affair.
bool chooses(const std::string& row) {
  static const Rows choosing{"max",    "min",       "topk",     "sort",   "maximum", "minimum",
                             "median", "nanmedian", "kthvalue", "cummax", "cummin"};
  return choosing.contains(row) || row.find("max_pool") != std::string::npos;
}

bool all_differ(Values values) {
  std::sort(values.begin(), values.end());
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] - values[i - 1] < near_corner) return false;
  return true;
}

// Elementwise each pair counts; of one tensor all its elements, and of others too: there are enough programs.
bool is_apart(const Step& step, const PlainOf& plain_of) {
  Values together;
  for (const Argument& argument : step.args) {
    if (argument.kind == Argument::Kind::real) together.push_back(argument.real);
    if (!argument.is_variable()) continue;
    const Values& values = plain_of(argument.integer).values;
    if (!all_differ(values)) return false;
    together.insert(together.end(), values.begin(), values.end());
  }
  return all_differ(std::move(together));
}

// |a - b| has a corner at 0, and its smooth form one in its derivative where that is 1. Any pair may meet.
bool is_off_corners_of_losses(const Step& step, const PlainOf& plain_of) {
  const std::vector<std::int64_t> read = variables_of(step);
  const Values &a = plain_of(read.front()).values, &b = plain_of(read.back()).values;
  return all(a, [&](double x) {
    return all(b, [&](double y) {
      const double distance = std::abs(x - y);
      return distance > near_corner && std::abs(distance - 1) > near_corner;
    });
  });
}

// A quotient that is nearly whole is rounded either way, and a large one soon becomes so. Any pair may meet.
bool is_off_whole_quotients(const Step& step, const PlainOf& plain_of) {
  std::vector<Values> read;
  for (const Argument& argument : step.args) {
    if (argument.kind == Argument::Kind::real) read.push_back({argument.real});
    if (argument.is_variable()) read.push_back(plain_of(argument.integer).values);
  }
  return all(read.front(), [&](double x) {
    return all(read.back(), [&](double y) {
      const double quotient = x / y, room = near_corner * std::max(1.0, quotient * quotient);
      return std::abs(quotient - std::round(quotient)) > room;
    });
  });
}

bool is_off_corners(const Step& step, const Values& values) {
  Values corners{0};
  if (step.row().starts_with("hard")) corners = {-3, 3};
  if (step.row().starts_with("clamp")) corners.clear();
  for (const Argument& argument : step.args)
    if (argument.kind == Argument::Kind::real && step.row().starts_with("clamp"))
      corners.push_back(argument.real);
  return all(values, [&](double value) {
    return all(corners, [&](double corner) { return std::abs(value - corner) > near_corner; });
  });
}

// Of degree 0, which takes part in no derivative.
bool is_constant(const Step& step) {
  return step.row().find("_polynomial_") != std::string::npos &&
         std::any_of(step.args.begin(), step.args.end(), [](const Argument& argument) {
           return argument.kind == Argument::Kind::integer && argument.integer == 0;
         });
}

}  // namespace

bool is_regular(const Step& step, const PlainOf& plain_of, const std::vector<Plain>& results,
                double limit) {
  const std::string row = step.row();
  const auto away = [](double value) { return std::abs(value) > near_pole; };
  const std::vector<std::int64_t> read = variables_of(step);
  for (std::int64_t variable : read) {
    const Values& values = plain_of(variable).values;
    if (with_poles.contains(row) && !all(values, away)) return false;
    if (row == "pow" && !all(values, [](double value) { return value > near_pole; })) return false;
  }
  if (is_constant(step)) return false;
  // Half-way is where round() jumps.
  if (steps.contains(row) && !all(plain_of(read.back()).values, [](double value) {
        return std::abs(value * 2 - std::round(value * 2)) > near_corner;
      }))
    return false;
  if (with_corners.contains(row) && !is_off_corners(step, plain_of(read.back()).values))
    return false;
  if (row.ends_with("l1_loss") && !is_off_corners_of_losses(step, plain_of)) return false;
  if (quotients.contains(row) && !is_off_whole_quotients(step, plain_of)) return false;
  if (chooses(row) && !is_apart(step, plain_of)) return false;
  for (const Plain& result : results) {
    if (!all(result.values, [&](double value) { return std::abs(value) <= limit; })) return false;
    if (roots.contains(row) && !all(result.values, away)) return false;
  }
  return true;
}

}  // namespace bp::test::programs
