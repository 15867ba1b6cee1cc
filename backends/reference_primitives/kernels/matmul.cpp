// Matrix products by their definition.
#include "tensor_view.hpp"

namespace reference {
namespace {

bp::Status bmm(bp::Stream stream, bp::In a, bp::In b, bp::Out out) {
  const TensorView left(stream, a), right(stream, b), to(stream, out);
  return with_sum_type(a.dtype(), [&]<class T>(Tag<T>) {
    return submit(stream, [=] {
      const int64_t columns = to.shape[2], inner = left.shape[2];
      for (int64_t i = 0; i < to.numel; ++i) {
        const int64_t column = i % columns, row = i / columns % to.shape[1];
        const int64_t batch = i / columns / to.shape[1];
        const uint8_t* x = left.data + batch * left.steps[0] + row * left.steps[1];
        const uint8_t* y = right.data + batch * right.steps[0] + column * right.steps[2];
        T total{};
        for (int64_t j = 0; j < inner; ++j, x += left.steps[2], y += right.steps[1])
          total += read<T>(x, left.dtype) * read<T>(y, right.dtype);
        to.set(i, total);
      }
    });
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(matmul) {
  k.add<bp::op::bmm>(reference::bmm).dtypes(bp::numeric).layouts(bp::strided).deterministic();
}
