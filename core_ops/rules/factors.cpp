// Which matrix of a batch has no factors or no inverse: kernels leave NaN or infinities where that is so.
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/factors.hpp>
#include <backplane/core_ops/generated/all.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp {
namespace {

constinit thread_local int num_unchecked = 0;

// "matrix [1, 0]" of a batch; `at` has the matrix's indices, and then a place in it.
std::string matrix_at(const std::vector<std::int64_t>& at) {
  const IntList batch(at.data(), at.size() - 1);
  return batch.empty() ? "the matrix" : fmt::format("matrix {} of the batch", to_string(batch));
}

// The first place that is true: [..., n]. Empty if there is none.
std::vector<std::int64_t> first_true(const Tensor& flags) {
  if (!item<bool>(any(flags))) return {};
  return to_vector<std::int64_t>(select(nonzero(flags), 0, 0));
}

}  // namespace

UncheckedFactors::UncheckedFactors() {
  ++num_unchecked;
}
UncheckedFactors::~UncheckedFactors() {
  --num_unchecked;
}

namespace rules {

void check_positive_definite(const Call& call) {
  if (num_unchecked != 0) return;
  const auto at = first_true(isnan(diagonal(call.results[0], 0, -2, -1)));
  BP_CHECK(at.empty(),
           "{}: {} is not positive definite (its leading minor of order {} is not positive); add "
           "a positive number to its diagonal, or take linalg_eigh",
           call.op.name(), matrix_at(at), at.back() + 1);
}

// Results that are not finite may also have overflowed: the factors tell.
void check_invertible(const Call& call) {
  if (num_unchecked != 0 || item<bool>(all(isfinite(call.results[0])))) return;
  const Tensor factors = linalg_lu_factor(tensor_arg(call, 0)).LU;
  const auto at = first_true(eq(diagonal(factors, 0, -2, -1), 0));
  BP_CHECK(at.empty(),
           "{}: {} is singular (its pivot {} is 0); linalg_pinv and linalg_lstsq take such "
           "matrices",
           call.op.name(), matrix_at(at), at.back() + 1);
}

}  // namespace rules
}  // namespace bp
