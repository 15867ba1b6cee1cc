// How far a result may be from the reference: one file for each way to find that out.
#pragma once

#include <string>
#include <vector>

#include <backplane/samples/row_facts.hpp>

#include "judge/calls.hpp"
#include "judge/expected.hpp"
#include "judge/numbers.hpp"

namespace bp::conform {

// How a row's floating results are judged.
enum class RuleKind : std::uint8_t {
  exact,       // bit for bit
  shape,       // values are not determined
  ulp,         // so many units in the last place of the reference
  expression,  // the same, or what rounding each step of the row's expression makes
  functions,  // of complex numbers, by their parts: so many units of the whole, or what moving its arguments makes
  products,   // sums of products of the inputs: gamma(terms, accumulator) * sum of absolute values
  conditioned,  // by how much the result moves when the inputs move by rounding errors
};

// What is known of one call when bounds are asked for.
struct Evaluation {
  const Problem& problem;
  const Case& one;
  const Numerics& numerics;
  RuleKind kind = RuleKind::exact;
  const RowFacts* facts = nullptr;  // null for operators that are not of the table
  double ulps = 0;                  // of the row's tolerance, if it has some
  bool is_composite = false;        // intermediate results have the dtype of the result
  CallOptions options{};            // of the wide call
  std::optional<Dtype> through{};   // that inputs are rounded to before they are widened
  std::vector<Tensor> inputs{};     // wide
  std::vector<Tensor> results{};    // wide

  const Operator& op() const { return *problem.op; }
  bool is(Trait trait) const { return facts && facts->is(trait); }
  // Fresh wide inputs with each element changed.
  std::vector<Tensor> changed(const Change& change) const;
  bool flushes(Dtype dtype) const;
};

// Calls the row with changed inputs, or whatever is evaluated (its derivative).
using Evaluate = std::function<std::vector<Tensor>(const Change& change)>;

// Each fills in `bound` and `rule` (and what else a comparison needs) of result `r`, whose dtype, shape and wide values
// are there.
void bound_by_ulp(const Evaluation& all, ExpectedTensor& out);
void bound_by_expression(const Evaluation& all, ExpectedTensor& out);
// Rows of real numbers on complex ones: by their expression and C's functions; its value, and its bound.
bool is_complex_function(const Problem& problem);
Tensor complex_function(const Evaluation& all, const std::vector<Tensor>& inputs,
                        const ExpectedTensor& out);
void bound_complex_function(const Evaluation& all, ExpectedTensor& out);
// All results at once, since they take further runs.
void bound_by_products(const Evaluation& all, std::vector<ExpectedTensor>& out);
void bound_by_conditioning(const Evaluation& all, const Evaluate& evaluate, double roundings,
                           std::vector<ExpectedTensor>& out, std::size_t first);

// For each element of a normalization's result, what a mean that is off by a rounding of 1 does to it; empty for others.
std::vector<double> shifts_by_mean(const Evaluation& all, const ExpectedTensor& out);

// n * u / (1 - n * u)
double gamma(double terms, double unit_roundoff);

}  // namespace bp::conform
