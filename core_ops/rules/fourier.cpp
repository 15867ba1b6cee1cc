// Transforms of lines along one dimension: n complex numbers, n real ones, or the n / 2 + 1 that a half of a spectrum has.
#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

void check_length(const Call& call, std::int64_t n) {
  BP_CHECK(n > 0, "{}: {} elements of a shape of {}; a transform has 1 or more", call.op.name(), n,
           bp::to_string(shape_of(impl_arg(call, 0))));
  BP_CHECK(n < std::int64_t{1} << 31, "{}: {} elements; a transform has fewer than 2^31",
           call.op.name(), n);
}

// The dimension that is transformed. Products of real numbers are what transforms are computed by, where no kernel is.
std::int64_t check_line(const Call& call, Inferred& out, std::uint32_t dim_place) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  BP_CHECK(input.abi.dl.ndim > 0, "{}: a 0-dim tensor has no dimension; reshape it",
           call.op.name());
  out.compute_dtype = to_real(dtype_of(input));
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  return wrap_dim_arg(call, dim_place, input.abi.dl.ndim);
}

std::int64_t& size_at(Inferred& out, std::int64_t dim) {
  return out.outputs[0].shape[static_cast<std::size_t>(dim)];
}

}  // namespace

void fft_c2c(const Call& call, Inferred& out) {
  check_length(call, size_at(out, check_line(call, out, 1)));
}

void fft_r2c(const Call& call, Inferred& out) {
  std::int64_t& size = size_at(out, check_line(call, out, 1));
  check_length(call, size);
  size = size / 2 + 1;
  out.outputs[0].dtype = to_complex(out.compute_dtype);
}

void fft_c2r(const Call& call, Inferred& out) {
  std::int64_t& size = size_at(out, check_line(call, out, 2));
  const std::int64_t n = int_arg(call, 1);
  check_length(call, n);
  BP_CHECK(size == n / 2 + 1, "{}: n is {} and the shape {}; {} results are made of {} elements",
           call.op.name(), n, bp::to_string(shape_of(impl_arg(call, 0))), n, n / 2 + 1);
  size = n;
  out.outputs[0].dtype = out.compute_dtype;
}

}  // namespace bp::rules
