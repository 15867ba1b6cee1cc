// Products of matrices: inner sizes agree, batches broadcast.
#include <algorithm>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

void check_factors(const Call& call, const TensorImpl& a, const TensorImpl& b) {
  BP_CHECK(dtype_of(a) == dtype_of(b), "{}: a is {} and b is {}; cast one of them", call.op.name(),
           name(dtype_of(a)), name(dtype_of(b)));
  check_dtype(call.op, dtype_of(a));
}

// a: [..., n, k], b: [..., k, m].
void check_inner(const Call& call, IntList a, IntList b) {
  const std::int64_t columns = a[a.size() - 1];
  const std::int64_t rows = b[b.size() - 2];
  BP_CHECK(
      columns == rows,
      "{}: shapes {} and {} do not fit ({} columns against {} rows); transpose one, or make the "
      "inner sizes equal",
      call.op.name(), bp::to_string(a), bp::to_string(b), columns, rows);
}

Dims common_batch(IntList a, IntList b) {
  const IntList left(a.data(), a.size() - 2);
  const IntList right(b.data(), b.size() - 2);
  for (std::size_t i = 1; i <= std::min(left.size(), right.size()); ++i) {
    const std::int64_t one = left[left.size() - i];
    const std::int64_t other = right[right.size() - i];
    BP_CHECK(
        one == other || one == 1 || other == 1,
        "matmul: shapes {} and {} have batches {} and {}, which do not broadcast; make the sizes "
        "equal, or one of them 1",
        bp::to_string(a), bp::to_string(b), bp::to_string(left), bp::to_string(right));
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
  const TensorImpl& a = impl_arg(call, 0);
  const TensorImpl& b = impl_arg(call, 1);
  const IntList left = shape_of(a);
  const IntList right = shape_of(b);
  check_factors(call, a, b);
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
  set_result(out, dtype_of(a), left.back());
}

void bmm(const Call& call, Inferred& out) {
  const TensorImpl& a = impl_arg(call, 0);
  const TensorImpl& b = impl_arg(call, 1);
  const IntList left = shape_of(a);
  const IntList right = shape_of(b);
  check_factors(call, a, b);
  BP_CHECK(left.size() == 3 && right.size() == 3,
           "bmm: shapes {} and {}; both need rank 3: matmul takes others", bp::to_string(left),
           bp::to_string(right));
  BP_CHECK(left[0] == right[0],
           "bmm: shapes {} and {} have batches of {} and {}; make them equal, or call matmul",
           bp::to_string(left), bp::to_string(right), left[0], right[0]);
  check_inner(call, left, right);
  out.outputs[0].shape = {left[0], left[1], right[2]};
  set_result(out, dtype_of(a), left[2]);
}

}  // namespace bp::rules
