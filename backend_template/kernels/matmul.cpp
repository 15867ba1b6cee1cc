// The batched matrix product: matmul, linear and many others come down to it.
#include <backplane/plugin.hpp>

namespace acme {
namespace {

// [batch, m, k] by [batch, k, n] into [batch, m, n], row-major.
bp::Status bmm(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  const int64_t m = a.size(1), k = a.size(2), n = b.size(2);
  for (int64_t batch = 0; batch < a.size(0); ++batch)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        float total = 0;
        for (int64_t i = 0; i < k; ++i)
          total += a.data<float>()[(batch * m + row) * k + i] *
                   b.data<float>()[(batch * k + i) * n + column];
        out.data<float>()[(batch * m + row) * n + column] = total;
      }
  return bp::ok;
}

}  // namespace
}  // namespace acme

BP_KERNELS(matmul) {
  k.add<bp::op::bmm>(acme::bmm).dtypes(bp::f32).layouts(bp::contiguous).deterministic();
}
