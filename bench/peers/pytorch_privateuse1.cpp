// The least vendor backend that PyTorch allows, on its PrivateUse1 slot: what an operator costs
// there with a kernel of the vendor's, and without one, through PyTorch's CPU fallback. The device
// is synchronous and its memory is the host's, so that nothing but the call path is measured.
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <torch/library.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "measure.hpp"

namespace {

constexpr c10::DeviceType vendor = c10::DeviceType::PrivateUse1;

class Allocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) override {
    void* memory = bytes ? std::malloc(bytes) : nullptr;
    return {memory, memory, &std::free, c10::Device(vendor, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* dst, const void* src, size_t bytes) const override {
    std::memcpy(dst, src, bytes);
  }
};

Allocator allocator;

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return vendor; }
  c10::Device exchangeDevice(c10::Device device) const override { return device; }
  c10::Device getDevice() const override { return {vendor, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

at::Tensor empty(c10::IntArrayRef shape, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(shape, &allocator,
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef shape, c10::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(shape, strides, &allocator,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& src, const at::Tensor& dst, bool) {
  std::memcpy(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes());
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& src, const at::Tensor& dst) {
  return copy_from(src, dst, false);
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha) {
  at::Tensor sum = empty(a.sizes(), a.scalar_type(), {}, {}, {}, {});
  auto* x = static_cast<const float*>(a.const_data_ptr());
  auto* y = static_cast<const float*>(b.const_data_ptr());
  auto* z = static_cast<float*>(sum.mutable_data_ptr());
  float scale = alpha.toFloat();
  for (int64_t i = 0, numel = a.numel(); i < numel; ++i) z[i] = x[i] + scale * y[i];
  return sum;
}

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

template <class Call> void row(const char* name, Call call) {
  bench::report(name, bench::median_ns(call), "ns");
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("add.Tensor", &add);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

int main() {
  torch::set_num_threads(1);
  torch::NoGradGuard no_grad;
  static Hooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
  at::Tensor a = torch::ones({1}).to(c10::Device(vendor, 0));
  at::Tensor b = torch::ones({1}).to(c10::Device(vendor, 0));
  row("vendor_add_1_element", [&] { at::Tensor sum = at::add(a, b); });
  row("fallback_mul_1_element", [&] { at::Tensor product = at::mul(a, b); });
  row("fallback_relu_1_element", [&] { at::Tensor positive = at::relu(a); });
}
