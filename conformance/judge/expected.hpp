// What a call should give, and how far from it a result may be: computed from the problem in float64 (the oracle), never
// guessed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <backplane/tensor/tensor.hpp>

#include "cases/subject.hpp"
#include "inputs/problem.hpp"

namespace bp::conform {

// One result. Values are those of the wide dtype (f64, complex128 as pairs, integers and bools in their own width).
struct ExpectedTensor {
  Dtype dtype = f32;  // that the result must have
  Sizes shape;
  Tensor wide;  // row-major, on the oracle
  std::vector<double>
      bound;  // for each element (each part of a complex one), absolute; empty: `ulp` alone decides
  double ulp = 0;            // 0 and no bound: bit for bit
  bool only_shape = false;   // values are not determined
  bool any_zero = false;     // of extrema: whether a zero has a sign is left open
  bool signed_zero = false;  // a result of 0 has the sign that is expected, beside a bound
  bool nan_spreads = false;  // of convolutions: padding times an infinite weight may be NaN, or not
  Tensor
      flushed;  // what else is right where the plugin declares that it flushes denormals; may be undefined
  double zero_below = 0;  // results below this may be 0, for the same reason
  std::vector<double>
      typical;  // errors of this size are usual where rounding is random; empty: not judged
  std::string
      rule;  // the sentence that `explain` prints: "exact", "3 ulp", "gamma(65, f32) * sum |a||b|" ...
};

// A tensor of the problem that the call changes, as batch norm's running statistics are.
struct WrittenTensor {
  std::size_t tensor = 0;
  ExpectedTensor after;
};

struct Expected {
  std::vector<ExpectedTensor> results;
  std::size_t num_results = 0;  // of the call; gradients follow them
  std::vector<WrittenTensor> written;
  std::string error;  // the call must fail: a word that the error names; then results are empty
  int error_class = 0;
};

// Evaluates on the oracle. With `gradients`, results are followed by the gradients of all floating tensors for gradients
// of the results drawn from the case's seed (`cotangents`).
Expected expect(const Problem& problem, const Case& one, const Numerics& numerics, bool gradients);
std::vector<Laid> cotangents(const Expected& expected, const Case& one);

// The problem of a case. Where a tensor has one element, chance may draw a number of which nothing follows, as one whose
// power overflows; then the values are drawn again, the same ones for the same case.
Problem decisive_problem(const Case& one, const Numerics& numerics);

// Are all expected numbers of a large result alike, though the case is such that they should not be?
bool is_unvaried(const Case& one, const Problem& problem, const ExpectedTensor& expected);

// How a result compares.
struct Comparison {
  bool ok = true;
  double worst = 0;        // the largest error in ULP of the result's dtype
  double worst_share = 0;  // the largest error as a share of its bound
  double bias = 0;  // mean of (error / bound) over all elements: near 0 unless rounding leans
  std::uint64_t wrong = 0, of = 0;
  std::uint64_t unbounded = 0;  // elements of which anything is right: their bound is infinite
  std::string
      why;  // empty, or "element [1, 2]: 3.0000002, expected 3 (bound 1e-7: 3 ulp); 5 of 12 differ"
};
// `bytes`: the result's elements, row-major, in its own dtype.
Comparison compare(const Bytes& bytes, const ExpectedTensor& expected);

// Loads the oracle, a plugin beside this program; throws if it is missing.
Device oracle();

}  // namespace bp::conform
