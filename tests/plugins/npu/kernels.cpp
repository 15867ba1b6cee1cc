// One kernel for each way of asking for memories: the fast one alone, either, from one into the other, the main one alone.
#include <cmath>

#include "device.hpp"

namespace npu {
namespace {

constexpr uint32_t bit(uint32_t space) {
  return 1u << space;
}

const float* elements(bp::In in) {
  return static_cast<const float*>(pointer_of(static_cast<uint64_t>(in.handle()))) +
         in.byte_offset() / sizeof(float);
}
float* elements(bp::Out out) {
  return static_cast<float*>(pointer_of(static_cast<uint64_t>(out.handle()))) +
         out.byte_offset() / sizeof(float);
}

// ---- In the fast memory alone -----------------------------------------------------------------------

template <class F> bp::Status map(bp::Stream stream, bp::In a, bp::Out out, F f) {
  Npu& device = stream.device<Npu>();
  if (const bp::Status status = device.check(a, bit(sram)); !status.is_ok()) return status;
  if (const bp::Status status = device.check(out, bit(sram)); !status.is_ok()) return status;
  for (int64_t i = 0; i < out.numel(); ++i) elements(out)[i] = f(elements(a)[i]);
  return bp::ok;
}

bp::Status exp(bp::Stream stream, bp::In a, bp::Out out) {
  return map(stream, a, out, [](float x) { return std::exp(x); });
}

bp::Status neg(bp::Stream stream, bp::In a, bp::Out out) {
  return map(stream, a, out, [](float x) { return -x; });
}

// ---- In either, and each tensor for itself ----------------------------------------------------------

template <class F> bp::Status zip(bp::Stream stream, bp::In a, bp::In b, bp::Out out, F f) {
  Npu& device = stream.device<Npu>();
  constexpr uint32_t either = bit(hbm) | bit(sram);
  if (const bp::Status status = device.check(a, either); !status.is_ok()) return status;
  if (const bp::Status status = device.check(b, either); !status.is_ok()) return status;
  if (const bp::Status status = device.check(out, either); !status.is_ok()) return status;
  for (int64_t i = 0; i < out.numel(); ++i) elements(out)[i] = f(elements(a)[i], elements(b)[i]);
  return bp::ok;
}

bp::Status add(bp::Stream stream, bp::In a, bp::In b, double alpha, bp::Out out) {
  const auto factor = static_cast<float>(alpha);
  return zip(stream, a, b, out, [=](float x, float y) { return x + factor * y; });
}

bp::Status mul(bp::Stream stream, bp::In a, bp::In b, bp::Out out) {
  return zip(stream, a, b, out, [](float x, float y) { return x * y; });
}

// ---- From the fast memory into the main one ---------------------------------------------------------

bp::Status bmm(bp::Stream stream, bp::In a, bp::In b, bp::Out out) {
  Npu& device = stream.device<Npu>();
  if (const bp::Status status = device.check(a, bit(sram)); !status.is_ok()) return status;
  if (const bp::Status status = device.check(b, bit(sram)); !status.is_ok()) return status;
  if (const bp::Status status = device.check(out, bit(hbm)); !status.is_ok()) return status;
  const int64_t rows = out.size(1), columns = out.size(2), inner = a.size(2);
  for (int64_t batch = 0; batch < out.size(0); ++batch) {
    const float* left = elements(a) + batch * rows * inner;
    const float* right = elements(b) + batch * inner * columns;
    float* to = elements(out) + batch * rows * columns;
    for (int64_t i = 0; i < rows * columns; ++i) {
      float total = 0;
      for (int64_t k = 0; k < inner; ++k)
        total += left[i / columns * inner + k] * right[k * columns + i % columns];
      to[i] = total;
    }
  }
  return bp::ok;
}

// ---- In the main memory alone, of any strides ---------------------------------------------------------

bp::Status copy(bp::Stream stream, bp::In a, bp::Out out) {
  Npu& device = stream.device<Npu>();
  if (const bp::Status status = device.check(a, bit(hbm)); !status.is_ok()) return status;
  if (const bp::Status status = device.check(out, bit(hbm)); !status.is_ok()) return status;
  for (int64_t i = 0; i < out.numel(); ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (int32_t d = out.ndim() - 1; d >= 0; --d) {
      from += rest % out.size(d) * a.stride(d);
      to += rest % out.size(d) * out.stride(d);
      rest /= out.size(d);
    }
    elements(out)[to] = elements(a)[from];
  }
  return bp::ok;
}

}  // namespace
}  // namespace npu

BP_KERNELS(npu) {
  using npu::hbm, npu::sram;
  using product = bp::op::bmm::place;
  k.add<bp::op::exp>(npu::exp).dtypes(bp::f32).spaces(sram).deterministic();
  k.add<bp::op::neg>(npu::neg).dtypes(bp::f32).spaces(sram).deterministic().in_place_safe();
  k.add<bp::op::add>(npu::add).dtypes(bp::f32).spaces(hbm, sram).deterministic();
  k.add<bp::op::mul>(npu::mul).dtypes(bp::f32).spaces(hbm, sram).deterministic().in_place_safe();
  k.add<bp::op::bmm>(npu::bmm)
      .dtypes(bp::f32)
      .spaces(sram)
      .spaces(product::out, hbm)
      .deterministic();
  k.add<bp::op::copy>(npu::copy).dtypes(bp::f32).layouts(bp::strided).deterministic();
}
