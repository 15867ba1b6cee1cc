#include <cstring>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/movement.hpp>
#include <backplane/core_ops/generated/view.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/elements.hpp>
#include <backplane/tensor/number_range.hpp>
#include <backplane/tensor/promotion.hpp>

namespace bp {
namespace {

Dtype dtype_for(Dtype values, const TensorOptions& options, bool are_literals) {
  if (options.dtype) return *options.dtype;
  if (!are_literals) return values;
  return values == f64          ? default_dtype()
         : values == complex128 ? to_complex(default_dtype())
         : values == i32        ? i64
                                : values;
}

// Numbers that an integer dtype does not hold are refused where they were written one by one.
std::vector<unsigned char> converted(const void* values, Dtype from, Dtype to, std::int64_t numel,
                                     bool are_literals) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(numel) * itemsize(to));
  const auto* source = static_cast<const unsigned char*>(values);
  for (std::int64_t i = 0; i < numel; ++i) {
    const Scalar number = load_number(source + i * itemsize(from), from);
    if (are_literals && is_integral(to)) check_element("tensor", "a value", to, number);
    store_number(number, to, bytes.data() + i * itemsize(to));
  }
  return bytes;
}

void check_defined(const char* what, const Tensor& input) {
  BP_CHECK(input.defined(), "{}: the tensor is undefined; give it a value first", what);
}

Dims channels_last_strides(const Tensor& input) {
  BP_CHECK(input.ndim() == 4,
           "contiguous: channels_last needs rank 4, and the shape is {}; pass another "
           "memory format",
           to_string(input.shape()));
  const IntList size = input.shape();
  return {size[1] * size[2] * size[3], 1, size[1] * size[3], size[1]};
}

}  // namespace

namespace detail {

void throw_ragged(std::size_t level, std::size_t expected, std::size_t found) {
  throw_error(
      ErrorClass::bad_argument,
      fmt::format("tensor: {} values where {} are expected (dimension {}); give every row the "
                  "same length",
                  found, expected, level));
}

void check_num_values(IntList shape, std::size_t found) {
  const std::int64_t expected = checked_numel("tensor", shape);
  BP_CHECK(expected == static_cast<std::int64_t>(found),
           "tensor: {} values for shape {}, which has {}; make them equal", found, to_string(shape),
           expected);
}

Tensor tensor_of_values(const void* values, Dtype dtype, IntList shape,
                        const TensorOptions& options, bool are_literals) {
  ensure_operators();
  const Dtype wanted = dtype_for(dtype, options, are_literals);
  const Device device = options.device ? *options.device : default_device();
  Tensor result = named("tensor", [&] { return empty_tensor(shape, wanted, device); });
  if (device == meta_device || result.numel() == 0) return result;
  if (wanted == dtype) {
    copy_from_host_memory(result, values);
  } else {
    // On the host, so that a device without kernels can hold what the application wrote.
    copy_from_host_memory(result,
                          converted(values, dtype, wanted, result.numel(), are_literals).data());
  }
  return result;
}

void values_of(const Tensor& input, Dtype, void* out) {
  copy_to_host_memory(input, out);
}

}  // namespace detail

Tensor from_blob(void* data, IntList shape, Dtype dtype, void (*deleter)(void* context),
                 void* context) {
  return from_blob(data, shape, contiguous_strides(shape), dtype, deleter, context);
}

Tensor from_blob(void* data, IntList shape, IntList strides, Dtype dtype,
                 void (*deleter)(void* context), void* context) {
  return tensor_from_blob(data, shape, strides, dtype, host_device(), deleter, context);
}

Tensor from_blob(void* data, IntList shape, const TensorOptions& options,
                 void (*deleter)(void* context), void* context) {
  return tensor_from_blob(data, shape, contiguous_strides(shape),
                          options.dtype.value_or(default_dtype()),
                          options.device.value_or(host_device()), deleter, context);
}

Scalar detail::only_value(const Tensor& input) {
  check_defined("item", input);
  BP_CHECK(input.numel() == 1, "item: shape {} has {} elements; reduce or index it to one",
           to_string(input.shape()), input.numel());
  BP_CHECK(input.device() != meta_device,
           "item: a meta tensor has no values; call it on a tensor of another device");
  alignas(16) unsigned char bytes[16];
  copy_to_host_memory(input, bytes);
  return load_number(bytes, input.dtype());
}

Scalar detail::only_real_value(const Tensor& input) {
  const Scalar value = only_value(input);
  const std::complex<double> parts = value.to_complex();
  BP_CHECK(parts.imag() == 0,
           "item: the value is {} + {}i, and a real number has no imaginary part; take "
           "item<std::complex<double>>, or the real() part first",
           parts.real(), parts.imag());
  return value;
}

Tensor to(const Tensor& input, Device device) {
  return named("to", [&] { return to_device(input, device); });
}

Tensor to(const Tensor& input, Dtype dtype) {
  check_defined("to", input);
  check_is_dtype("to", dtype);
  return input.dtype() == dtype ? input : named("to", [&] { return cast(input, dtype); });
}

// Cast where it is smaller to move, but never on a device that is being left for meta.
Tensor to(const Tensor& input, Device device, Dtype dtype) {
  check_defined("to", input);
  check_is_dtype("to", dtype);
  if (itemsize(dtype) < input.itemsize()) return to(to(input, dtype), device);
  return to(to(input, device), dtype);
}

Tensor to(const Tensor& input, const TensorOptions& options) {
  check_defined("to", input);
  return to(input, options.device.value_or(input.device()), options.dtype.value_or(input.dtype()));
}

Tensor cpu(const Tensor& input) {
  check_defined("cpu", input);
  return named("cpu", [&] { return to_device(input, host_device()); });
}

Tensor contiguous(const Tensor& input, MemoryFormat format) {
  check_defined("contiguous", input);
  if (format == MemoryFormat::contiguous) return make_contiguous(input);
  const Dims strides = channels_last_strides(input);
  if (input.is_contiguous(format)) return input;
  Tensor result = empty_strided_tensor(input.shape(), strides, input.dtype(), input.device());
  if (input.device() != meta_device) copy_into(result, input);
  return result;
}

Tensor clone(const Tensor& input) {
  return named("clone", [&] { return copy(input); });
}

const Tensor& copy_(const Tensor& target, const Tensor& source) {
  check_defined("copy_", target);
  check_defined("copy_", source);
  if (target.is_same(source)) return target;
  named("copy_", [&] {
    const Tensor moved = to_device(source, target.device());
    if (target.device() == meta_device) return;
    copy_into(target, moved.shape() == target.shape() ? moved : expand(moved, target.shape()));
  });
  return target;
}

const Tensor& fill_(const Tensor& target, const Scalar& value) {
  check_defined("fill_", target);
  check_element("fill_", "the number", target.dtype(), value);
  if (target.device() == meta_device || target.numel() == 0) return target;
  if (fill_small(target, value)) return target;
  named("fill_", [&] {
    copy_into(target,
              expand(scalar_tensor(value, target.dtype(), target.device()), target.shape()));
  });
  return target;
}

}  // namespace bp
