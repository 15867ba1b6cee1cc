// Rows on plain lists of numbers: no views, no record, no memory that anybody shares.
#pragma once

#include <functional>

#include "autograd/programs/places.hpp"

namespace bp::test::programs {

struct Plain {
  Dtype dtype = Dtype::f64;
  Shape shape;
  std::vector<double> values;
};
using PlainOf = std::function<const Plain&(std::int64_t variable)>;

// The results of a row, by the name of a functional call. Common pointwise rows are computed here, any
// other by the library on fresh tensors of the host. All floating numbers are f64: the result's dtype is
// the one that it would have, and its values are not rounded to it.
std::vector<Plain> evaluate(const Step& step, const PlainOf& plain_of);

// What PyTorch keeps for the derivative of a row, and so forbids to write afterwards.
struct Kept {
  bool result = true;
  bool first = true;   // the first tensor
  bool others = true;  // the other tensors
};
// `first_wanted`, `others_wanted`: whose gradients are wanted.
Kept kept_by(const std::string& row, bool first_wanted, bool others_wanted);

}  // namespace bp::test::programs
