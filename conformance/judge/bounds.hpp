// How far a result may be from the reference: one file for each way to find that out.
#pragma once

#include <string>
#include <vector>

#include <backplane/samples/row_facts.hpp>

#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "judge/expected.hpp"

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

// The call in its own dtypes: the results' shapes and dtypes, and the values of exact rows. Throws what the row throws.
// `written`: the tensors whose memory is another one after it.
std::vector<Tensor> call_as_given(const Problem& problem, std::uint64_t seed,
                                  std::vector<std::size_t>* written = nullptr);

// Which rule holds for a call that gives `given`, and its wide inputs; the wide results are left open.
Evaluation evaluation_of(const Problem& problem, const Case& one, const Numerics& numerics,
                         const std::vector<Tensor>& given);

// Fresh wide inputs with each element changed; `through` as in Evaluation.
std::vector<Tensor> changed_inputs(const Problem& problem, std::optional<Dtype> through,
                                   const Change& change);

// Rows that choose among equal numbers: which zero they give is left open.
bool leaves_zero_open(const Operator& op);

// The derivative: gradients of the inputs behind the call's results. `expected` has the latter.
void add_gradients(const Evaluation& all, Expected& expected);

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
