// Products of matrices: inner sizes agree, batches broadcast.
#include <algorithm>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

void check_factors(const Call& call, const TensorImpl& input, const TensorImpl& other) {
  BP_CHECK(dtype_of(input) == dtype_of(other), "{}: {} is {} and {} is {}; cast one of them",
           call.op.name(), call.op.schema->arguments[0].name, name(dtype_of(input)),
           call.op.schema->arguments[1].name, name(dtype_of(other)));
  check_dtype(call.op, dtype_of(input));
}

// input: [..., n, k], other: [..., k, m].
void check_inner(const Call& call, IntList input, IntList other) {
  const std::int64_t columns = input[input.size() - 1];
  const std::int64_t rows = other[other.size() - 2];
  BP_CHECK(
      columns == rows,
      "{}: shapes {} and {} do not fit ({} columns against {} rows); transpose one, or make the "
      "inner sizes equal",
      call.op.name(), bp::to_string(input), bp::to_string(other), columns, rows);
}

Dims common_batch(IntList input, IntList other) {
  const IntList left(input.data(), input.size() - 2);
  const IntList right(other.data(), other.size() - 2);
  for (std::size_t i = 1; i <= std::min(left.size(), right.size()); ++i) {
    const std::int64_t left_size = left[left.size() - i];
    const std::int64_t right_size = right[right.size() - i];
    BP_CHECK(
        left_size == right_size || left_size == 1 || right_size == 1,
        "matmul: shapes {} and {} have batches {} and {}, which do not broadcast; make the sizes "
        "equal, or one of them 1",
        bp::to_string(input), bp::to_string(other), bp::to_string(left), bp::to_string(right));
  }
  return broadcast_shapes("matmul", left, right);
}

// A sum of nothing is 0: kernels get at least one element to sum.
void set_result(Inferred& out, Dtype dtype, std::int64_t inner) {
  out.compute_dtype = dtype;
  out.outputs[0].dtype = dtype;
  out.fills = inner == 0;
  out.fill_value = 0;
}

}  // namespace

void matmul(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const TensorImpl& other = impl_arg(call, 1);
  const IntList left = shape_of(input);
  const IntList right = shape_of(other);
  check_factors(call, input, other);
  BP_CHECK(
      left.size() >= 2 && right.size() >= 2,
      "matmul: shapes {} and {}; a kernel takes matrices: call bp::matmul, which makes them of "
      "vectors, or unsqueeze",
      bp::to_string(left), bp::to_string(right));
  check_inner(call, left, right);
  Dims& shape = out.outputs[0].shape;
  shape = common_batch(left, right);
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  set_result(out, dtype_of(input), left.back());
}

void bmm(const Call& call, Inferred& out) {
  const TensorImpl& input = impl_arg(call, 0);
  const TensorImpl& other = impl_arg(call, 1);
  const IntList left = shape_of(input);
  const IntList right = shape_of(other);
  check_factors(call, input, other);
  BP_CHECK(left.size() == 3 && right.size() == 3,
           "bmm: shapes {} and {}; both need rank 3: matmul takes others", bp::to_string(left),
           bp::to_string(right));
  BP_CHECK(left[0] == right[0],
           "bmm: shapes {} and {} have batches of {} and {}; make them equal, or call matmul",
           bp::to_string(left), bp::to_string(right), left[0], right[0]);
  check_inner(call, left, right);
  out.outputs[0].shape = {left[0], left[1], right[2]};
  set_result(out, dtype_of(input), left[2]);
}

}  // namespace bp::rules
