// A problem's call: what the row's shape rule says of it, found from metadata alone, and made on the oracle, with its tensors
// as they are, widened, or changed. And how far a result may be from the reference: one file for each way to find that out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/tensor.hpp>

#include "cases/subject.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {

// What values of lists of tensors point to.
using TensorLists = std::deque<std::vector<const bp_tensor*>>;
// The argument's value, which `abi_of` gives the tensors at their positions.
bp_value shown_value(const Argument& argument, TensorLists& lists,
                     const std::function<const bp_tensor*(int place)>& abi_of);

struct InferredCall {
  // One for each of the problem's, without memory unless the rule reads values.
  std::vector<Tensor> tensors;
  std::vector<bp_value> args;  // in schema order, defaults filled in, rewritten by the rule
  TensorLists lists;
  Inferred inferred;
  // The position in Problem::tensors.
  int position_of(const bp_tensor* tensor) const;
};

// How many results the call has; of one that must be refused, as many as the schema names.
std::size_t count_results(const Problem& problem);
// Throws what the rule throws.
void infer_call(const Problem& problem, InferredCall& out);

// What is done to a floating element (to each part of a complex one) of tensor `t`; `i` is its place in the storage.
using Change = std::function<double(double value, std::size_t t, std::size_t i)>;

// A tensor that lies on the oracle as `laid` says, storage and all.
Tensor laid_out(const Laid& laid);
// The same in the wide dtype. Elements are first rounded to `through`, if given.
Tensor laid_out_wide(const Laid& laid, std::optional<Dtype> through);
// All numbers of a wide tensor's storage; of integers and bools none.
std::span<double> stored_numbers(const Tensor& tensor);
// Changes them in place.
void change_elements(const Tensor& tensor, std::size_t t, const Change& change);
inline double unchanged(double value, std::size_t, std::size_t) {
  return value;
}

struct CallOptions {
  // Replaces arguments that are a floating dtype, and missing ones of factories.
  std::optional<Dtype> dtype;
  bool absolute_numbers = false;  // numbers by their absolute value
  double step = 0;                // not 0: replaces an absent `eps`, which depends on the dtype
  std::uint64_t seed = 1;         // of the oracle's generator
};
// Threads: any.
std::vector<Tensor> call_row(const Problem& problem, const std::vector<Tensor>& tensors,
                             const CallOptions& options);

// The value that an argument of this name has in the call, with its default; BP_NONE if there is no such argument.
bp_value argument_value(const Problem& problem, const char* name);

// Is a number given, or left at its default, that this dtype cannot hold?
bool has_number_beyond(const Problem& problem, Dtype dtype);

// All elements, row-major, as doubles.
std::vector<double> doubles_of(const Tensor& tensor);
// An integer's digits; of a bool, those of its byte.
std::string integer_text(Dtype dtype, const unsigned char* at);

// ---- What a call should give, and how far from it a result may be: computed from the problem in float64, never guessed

// One result. Values are those of the wide dtype (f64, complex128 as pairs, integers and bools in their own width).
struct ExpectedTensor {
  Dtype dtype = f32;  // that the result must have
  Sizes shape{};
  Tensor wide{};  // row-major, on the oracle
  // For each element (each part of a complex one), absolute; empty: `ulp` alone decides.
  std::vector<double> bound{};
  double ulp = 0;            // 0 and no bound: bit for bit
  bool only_shape = false;   // values are not determined
  bool any_zero = false;     // of extrema: whether a zero has a sign is left open
  bool signed_zero = false;  // a result of 0 has the sign that is expected, beside a bound
  bool nan_spreads = false;  // of convolutions: padding times an infinite weight may be NaN, or not
  Tensor flushed{};       // what else is right where the plugin declares that it flushes denormals
  double zero_below = 0;  // results below this may be 0, for the same reason
  // Errors of this size are usual where rounding is random; empty: not judged.
  std::vector<double> typical{};
  std::string
      rule{};  // as `explain` prints it: "exact", "3 ulp", "gamma(65, f32) * sum |a||b|" ...
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
      why;  // empty, or "element [1, 2]: 3.0000002, expected 3 within 1e-7 ...; 5 of 12 differ"
};
// `bytes`: the result's elements, row-major, in its own dtype.
Comparison compare(const Bytes& bytes, const ExpectedTensor& expected);

// Loads the oracle, a plugin beside this program; throws if it is missing.
Device oracle();

// ---- Bounds

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
  // The wide values of an argument that is a tensor, for each element of `shape`; undefined for a number, which is left
  // in `number`.
  Tensor operand(const std::vector<Tensor>& wide, std::size_t argument, const Sizes& shape,
                 Scalar& number) const;
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

// The derivative: gradients of the inputs behind the call's results. `expected` has the latter.
void add_gradients(const Evaluation& all, Expected& expected);

// Calls the row with changed inputs, or whatever is evaluated (its derivative).
using Evaluate = std::function<std::vector<Tensor>(const Change& change)>;

// Each fills in `bound` and `rule` (and what else a comparison needs) of result `r`, whose dtype, shape and wide values
// are there.
void bound_elementwise(const Evaluation& all,
                       ExpectedTensor& out);  // by ulps, or by the expression's steps
// Rows of real numbers (Operator::decompose_complex) on complex ones: by their expression and C's functions; its value, and
// its bound.
bool is_complex_function(const Problem& problem);
Tensor complex_function(const Evaluation& all, const std::vector<Tensor>& inputs,
                        const ExpectedTensor& out);
void bound_complex_function(const Evaluation& all, ExpectedTensor& out);
// All results at once, since they take further runs.
void bound_by_products(const Evaluation& all, std::vector<ExpectedTensor>& out);
void bound_by_conditioning(const Evaluation& all, const Evaluate& evaluate, double roundings,
                           std::vector<ExpectedTensor>& out, std::size_t first);

// n * u / (1 - n * u)
double gamma(double terms, double unit_roundoff);

}  // namespace bp::conform
