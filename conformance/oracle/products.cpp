// Matrix products, one element at a time.
#include "elements.hpp"

namespace oracle {
namespace {

// Shape and strides, right-aligned in the output's rank; batch dimensions broadcast by a stride of 0.
struct Factor {
  std::vector<Index> batch_strides;
  Index row_stride, column_stride;
};

// `values` are row-major in a's shape.
Factor factor_of(bp::In a, bp::Ints out_shape) {
  Factor factor{{}, a.size(a.ndim() - 1), 1};
  Index step = a.size(a.ndim() - 1) * a.size(a.ndim() - 2);
  factor.batch_strides.assign(out_shape.size() - 2, 0);
  for (std::int32_t d = a.ndim() - 3; d >= 0; --d) {
    const std::size_t at = out_shape.size() - static_cast<std::size_t>(a.ndim() - d);
    factor.batch_strides[at] = a.size(d) == 1 ? 0 : step;
    step *= a.size(d);
  }
  return factor;
}

template <class T> void multiply(bp::In a, bp::In b, bp::Out out) {
  const std::vector<T> left = read<T>(a), right = read<T>(b);
  const bp::Ints shape = out.shape();
  const std::size_t batch_rank = shape.size() - 2;
  const Factor of_a = factor_of(a, shape), of_b = factor_of(b, shape);
  const bp::Ints batch(shape.data(), batch_rank);
  const Indices from_a = places(batch, {of_a.batch_strides.data(), batch_rank});
  const Indices from_b = places(batch, {of_b.batch_strides.data(), batch_rank});
  const Index rows = shape[batch_rank], columns = shape[batch_rank + 1];
  const Index terms = a.size(a.ndim() - 1);
  std::vector<T> results;
  results.reserve(static_cast<std::size_t>(out.numel()));
  for (std::size_t at = 0; at < from_a.size(); ++at) {
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < columns; ++c) {
        const T* x = left.data() + from_a[at] + r * of_a.row_stride;
        const T* y = right.data() + from_b[at] + c;
        T total{};
        for (Index t = 0; t < terms; ++t) total += product(x[t], y[t * of_b.row_stride]);
        results.push_back(total);
      }
    }
  }
  write(out, results);
}

bp::Status matmul(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  in_class_of(out.dtype(), [&](auto zero) { multiply<decltype(zero)>(a, b, out); });
  return bp::ok;
}

}  // namespace
}  // namespace oracle

BP_KERNELS(products) {
  oracle::exact(k.add<bp::op::matmul>(oracle::matmul), bp::numeric);
  oracle::exact(k.add<bp::op::bmm>(oracle::matmul), bp::numeric);
}
