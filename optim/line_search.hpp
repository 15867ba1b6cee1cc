// A step length by the strong Wolfe conditions, in plain numbers beside a callback that evaluates.
#pragma once

#include <cstdint>
#include <functional>

#include <backplane/tensor/tensor.hpp>

namespace bp::optim {

// The function along a line, at one step length.
struct LinePoint {
  double t = 0;  // the step length
  double loss = 0;
  double slope = 0;  // the derivative along the line
  Tensor gradient;
};

struct LineSearch {
  std::function<LinePoint(double t)> evaluate;
  double longest_move;  // the greatest change of any parameter for t = 1
  double tolerance_change;
  std::int64_t max_evaluations;
};

struct LineResult {
  LinePoint point;
  std::int64_t num_evaluations = 0;
};

// Nocedal and Wright, 2006, algorithms 3.5 and 3.6, with the step chosen by a cubic through two points. `start` is at t = 0.
LineResult search_line(const LineSearch& search, const LinePoint& start, double first_t);

// Where the cubic through both points and slopes is lowest, within [low, high].
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high);

}  // namespace bp::optim
