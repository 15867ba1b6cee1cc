// Matrix products by their definition.
#include <vector>

#include "tensor_view.hpp"

namespace reference {
namespace {

// The matrix of a batch as numbers, `rows` of `columns`: each element is read once, not once for each product.
template <class T>
void unpack(const TensorView& from, int64_t batch, int rows, int columns, std::vector<T>& to) {
  to.resize(static_cast<size_t>(from.shape[rows] * from.shape[columns]));
  size_t place = 0;
  for (int64_t i = 0; i < from.shape[rows]; ++i) {
    const uint8_t* at = from.data + batch * from.steps[0] + i * from.steps[rows];
    for (int64_t j = 0; j < from.shape[columns]; ++j, at += from.steps[columns])
      to[place++] = read<T>(at, from.dtype);
  }
}

bp::Status bmm(bp::Stream stream, bp::In a, bp::In b, bp::Out out) {
  const TensorView left(stream, a), right(stream, b), to(stream, out);
  return with_sum_type(a.dtype(), [&]<class T>(Tag<T>) {
    return submit(stream, [=] {
      std::vector<T> x, y;  // of y, the columns one after the other
      const int64_t rows = to.shape[1], columns = to.shape[2], inner = left.shape[2];
      for (int64_t batch = 0; batch < to.shape[0]; ++batch) {
        unpack(left, batch, 1, 2, x);
        unpack(right, batch, 2, 1, y);
        for (int64_t i = 0; i < rows * columns; ++i) {
          const T *row = x.data() + i / columns * inner, *column = y.data() + i % columns * inner;
          T total{};
          for (int64_t j = 0; j < inner; ++j) total += row[j] * column[j];
          to.set(batch * rows * columns + i, total);
        }
      }
    });
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(matmul) {
  k.add<bp::op::bmm>(reference::bmm).dtypes(bp::numeric).layouts(bp::strided).deterministic();
}
