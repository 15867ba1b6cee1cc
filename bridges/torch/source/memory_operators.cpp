// Operators that are about memory alone: new tensors, other shapes for the same memory, copies between devices.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <backplane/backplane.hpp>

#include "devices.hpp"
#include "hooks.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

Dtype known_dtype(c10::ScalarType type) {
  const std::optional<Dtype> dtype = dtype_of(type);
  TORCH_CHECK_NOT_IMPLEMENTED(dtype, "backplane: no tensors of dtype ", type);
  return *dtype;
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pin) {
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(c10::kStrided) == c10::kStrided,
                              "backplane: tensors are strided, not ", layout.value());
  TORCH_CHECK(!pin.value_or(false), "backplane: only tensors of the CPU can be pinned");
  const Device place = device_at(device ? device->index() : -1);
  return with_memory([&] {
    return lend(empty_strided_tensor({size.data(), size.size()}, {stride.data(), stride.size()},
                                     known_dtype(c10::dtype_or_default(dtype)), place));
  });
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                 std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  for (const std::int64_t each : size)
    TORCH_CHECK(each >= 0, "Trying to create tensor with negative dimension ", each, ": ", size);
  at::DimVector strides(size.size());
  std::int64_t stride = 1;
  for (std::size_t i = size.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(size[i], 1);
  }
  at::Tensor made = empty_strided(size, strides, dtype, layout, device, pin);
  const at::MemoryFormat wanted = format.value_or(at::MemoryFormat::Contiguous);
  if (wanted != at::MemoryFormat::Contiguous && wanted != at::MemoryFormat::Preserve)
    made.unsafeGetTensorImpl()->empty_tensor_restride(wanted);
  return made;
}

// What forward-mode derivatives take for a derivative that is 0. PyTorch has a tensor without memory for it, for its own devices.
at::Tensor zero_tensor(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                       std::optional<at::Layout> layout, std::optional<at::Device> device,
                       std::optional<bool> pin) {
  return empty(size, dtype, layout, device, pin, std::nullopt).zero_();
}

at::Tensor as_strided(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride,
                      std::optional<std::int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}

const at::Tensor& resize(const at::Tensor& self, c10::IntArrayRef size,
                         std::optional<at::MemoryFormat> format) {
  // The memory first: where there is none, the tensor stays as it was.
  const std::size_t bytes = at::detail::computeStorageNbytesContiguous(
      size, self.itemsize(), static_cast<std::size_t>(self.storage_offset()));
  if (self.storage().nbytes() < bytes) resize_storage(self.storage(), bytes);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  if (format && *format != at::MemoryFormat::Preserve) impl->empty_tensor_restride(*format);
  return self;
}

at::Tensor& set_source(at::Tensor& self, at::Storage source, std::int64_t offset,
                       c10::IntArrayRef size, c10::IntArrayRef stride) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (stride.data() == nullptr)
    impl->set_sizes_contiguous(size);
  else
    impl->set_sizes_and_strides(size, stride, offset);
  return self;
}
at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  const auto size = static_cast<std::int64_t>(source.nbytes() / self.itemsize());
  return set_source(self, std::move(source), 0, {size}, {});
}
at::Tensor& set_nothing(at::Tensor& self) {
  const at::Tensor none = at::empty({0}, self.options());
  return set_source(self, none.storage(), 0, {0}, {});
}

// The values of a tensor of the host, its marks resolved, in row-major order.
at::Tensor plain_on_host(const at::Tensor& tensor, const at::Tensor& target) {
  at::Tensor values = tensor.resolve_conj().resolve_neg();
  if (target.is_conj()) values = values.conj().resolve_conj();
  if (target.is_neg()) values = values.neg();
  return values.to(target.scalar_type()).contiguous();
}

void copy_from_host(const at::Tensor& from, const at::Tensor& to) {
  const at::Tensor values = plain_on_host(from, to);
  const Tensor target = borrow(to);
  if (target.is_contiguous()) return copy_from_host_memory(target, values.const_data_ptr());
  const Tensor dense = empty_tensor(target.shape(), target.dtype(), target.device());
  copy_from_host_memory(dense, values.const_data_ptr());
  copy_into(target, dense);
}

void copy_to_host(const at::Tensor& from, const at::Tensor& to) {
  const Tensor source = borrow(from);
  const bool is_marked = from.is_conj() || from.is_neg() || to.is_conj() || to.is_neg();
  if (!is_marked && to.is_contiguous() && to.scalar_type() == from.scalar_type())
    return copy_to_host_memory(source, to.data_ptr());
  at::Tensor image = at::empty(from.sizes(), from.options().device(at::kCPU));
  copy_to_host_memory(source, image.data_ptr());
  if (from.is_conj()) image = image.conj();
  if (from.is_neg()) image = image.neg();
  to.copy_(image);
}

void copy_on_devices(const at::Tensor& from, const at::Tensor& to) {
  const Tensor source = borrow(from), target = borrow(to);
  copy_into(target,
            source.device() == target.device() ? source : to_device(source, target.device()));
  if (from.is_conj() != to.is_conj()) copy_into(target, conj(target));
  if (from.is_neg() != to.is_neg()) neg_(target);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& target, bool) {
  if (self.numel() == 0 || target.numel() == 0) return target;
  const at::Tensor from = self.sizes() == target.sizes() ? self : self.expand_as(target);
  if (!is_ours(from))
    copy_from_host(from, target);
  else if (!is_ours(target))
    copy_to_host(from, target);
  else
    copy_on_devices(from, target);
  return target;
}
at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& target) {
  target.resize_(self.sizes());
  return copy_from(self, target, false);
}

c10::Scalar local_scalar(const at::Tensor& self) {
  const at::Tensor host = at::empty({}, self.options().device(at::kCPU));
  copy_to_host_memory(borrow(self.reshape({})), host.data_ptr());
  return host.item();
}

// Elements that share a place are filled once.
Tensor without_repeats(const at::Tensor& tensor) {
  at::Tensor part = tensor;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) part = part.narrow(dim, 0, 1);
  return borrow(part);
}

at::Tensor& fill(at::Tensor& self, const c10::Scalar& value) {
  const Tensor target = without_repeats(self);
  const Scalar number = value.isComplex()    ? Scalar(std::complex<double>(value.toComplexDouble()))
                        : value.isBoolean()  ? Scalar(value.toBool())
                        : value.isUnsigned() ? Scalar(value.toUInt64())
                        : value.isIntegral(false) ? Scalar(value.toLong())
                                                  : Scalar(value.toDouble());
  static Operator& full_row = *find_operator("full");
  bp_value args[] = {value_of(target.shape()), value_of(number), value_of(target.dtype()),
                     value_of(target.device())};
  call_one_into(full_row, args, 4, target);
  return self;
}
at::Tensor& fill_by_tensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  if (is_ours(value) && value.device() == self.device()) {
    const Tensor target = without_repeats(self);
    copy_into(target, expand(borrow(value), target.shape()));
  } else {
    fill(self, value.item());
  }
  return self;
}
at::Tensor& zero(at::Tensor& self) {
  return fill(self, 0);
}

// Whether a tensor may be made one of the other device in place, as `module.to(device)` does, so that parameters stay the same
// objects for tied layers and optimizers. PyTorch's own answer knows PyTorch's own devices only.
bool can_move_in_place(const at::Tensor& self, const at::Tensor& from) {
  const auto is_dense = [](const at::Tensor& tensor) {
    return tensor.layout() == c10::kStrided && !tensor.is_meta() && !tensor.is_quantized();
  };
  return is_dense(self) && is_dense(from);
}

void record_use(at::Tensor& self, at::Stream stream) {
  c10::impl::VirtualGuardImpl(device_type).recordDataPtrOnStream(self.storage().data_ptr(), stream);
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(), "equal: one tensor is on ", self.device(),
              " and the other on ", other.device());
  if (self.sizes() != other.sizes()) return false;
  return self.numel() == 0 || self.eq(other).all().item<bool>();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_efficientzerotensor", zero_tensor);
  library.impl("as_strided", as_strided);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("view_as_real", at::native::view_as_real);
  library.impl("view_as_complex", at::native::view_as_complex);
  library.impl("unfold", at::native::unfold);
  library.impl("resize_", resize);
  library.impl("set_", set_nothing);
  library.impl("set_.source_Storage", set_storage);
  library.impl("set_.source_Storage_storage_offset", set_source);
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", local_scalar);
  library.impl("fill_.Scalar", fill);
  library.impl("fill_.Tensor", fill_by_tensor);
  library.impl("zero_", zero);
  library.impl("equal", equal);
  library.impl("record_stream", record_use);
  library.impl("_has_compatible_shallow_copy_type", can_move_in_place);
}

// Copies read the marks of conjugate and negative tensors themselves.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace
}  // namespace bp::bridge
