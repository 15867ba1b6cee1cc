// Tensors from the application's values and back; moves between devices, dtypes and memory formats.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

template <class T>
concept ComplexNumber =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

namespace detail {

// A tensor of row-major values. Of literals, int counts as int64 and double as the default dtype.
BP_API Tensor tensor_of_values(const void* values, Dtype dtype, IntList shape,
                               const TensorOptions& options, bool are_literals);
[[noreturn]] BP_API void throw_ragged(std::size_t level, std::size_t expected, std::size_t found);
BP_API void check_num_values(IntList shape, std::size_t found);

// Nested lists, flattened. Bools are stored as bytes, since a vector of bools has no array.
template <class T> struct Flattened {
  std::vector<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>> values;
  Dims shape;

  void append(const T& value, std::size_t) { values.push_back(value); }
  template <class U> void append(std::initializer_list<U> list, std::size_t level) {
    if (shape.size() == level) shape.push_back(static_cast<std::int64_t>(list.size()));
    const auto expected = static_cast<std::size_t>(shape[level]);
    if (list.size() != expected) throw_ragged(level, expected, list.size());
    for (const U& element : list) append(element, level + 1);
  }
};

template <class T, class List>
Tensor tensor_of_lists(const List& list, const TensorOptions& options) {
  Flattened<T> flat;
  flat.append(list, 0);
  return tensor_of_values(flat.values.data(), DtypeOf<T>::value, flat.shape, options, true);
}

}  // namespace detail

// tensor({{1, 2}, {3, 4}}): whole numbers make int64, real and complex ones the default dtype, bools bool; numbers
// of other types (1.0f) keep theirs. Throws bad_argument when rows differ in length.
template <class T> Tensor tensor(std::initializer_list<T> list, const TensorOptions& options = {}) {
  return detail::tensor_of_lists<T>(list, options);
}
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> list,
              const TensorOptions& options = {}) {
  return detail::tensor_of_lists<T>(list, options);
}
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> list,
              const TensorOptions& options = {}) {
  return detail::tensor_of_lists<T>(list, options);
}
template <class T>
Tensor tensor(
    std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>>
        list,
    const TensorOptions& options = {}) {
  return detail::tensor_of_lists<T>(list, options);
}
// A 0-dim tensor.
template <class T>
requires(std::is_arithmetic_v<T> || ComplexNumber<T>) Tensor
    tensor(T value, const TensorOptions& options = {}) {
  return detail::tensor_of_values(&value, DtypeOf<T>::value, {}, options, true);
}
// The elements of a vector, in its own type, row-major. Throws bad_argument if `shape` has a
// different number of elements.
template <class T>
Tensor tensor(const std::vector<T>& values, IntList shape, const TensorOptions& options = {}) {
  static_assert(!std::is_same_v<T, bool>, "a vector of bools has no array; use std::uint8_t");
  detail::check_num_values(shape, values.size());
  return detail::tensor_of_values(values.data(), DtypeOf<T>::value, shape, options, false);
}
template <class T> Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor(values, {static_cast<std::int64_t>(values.size())}, options);
}

// A tensor over the application's host memory, row-major or with strides in elements. `deleter` runs
// when the last tensor over it is destroyed; without one, the memory must outlive them all.
BP_API Tensor from_blob(void* data, IntList shape, Dtype dtype = f32,
                        void (*deleter)(void* context) = nullptr, void* context = nullptr);
BP_API Tensor from_blob(void* data, IntList shape, IntList strides, Dtype dtype = f32,
                        void (*deleter)(void* context) = nullptr, void* context = nullptr);

namespace detail {
BP_API Scalar only_value(const Tensor& input);
BP_API Scalar only_real_value(const Tensor& input);
}  // namespace detail
template <class T>
concept ItemType =
    std::is_arithmetic_v<T> || std::is_same_v<T, Scalar> || std::is_same_v<T, std::complex<double>>;
// The value of the only element, item<double>(loss): a number, or as a Scalar, which keeps its category. The type must
// be named, since printf("%f", ...) would accept any type. Waits for the device. Throws bad_argument for any other
// number of elements, on meta, and if a real type is to hold a complex number whose imaginary part is not 0. As a bool it
// says whether the value is not 0.
template <ItemType T> T item(const Tensor& input) {
  if constexpr (std::is_same_v<T, Scalar>)
    return detail::only_value(input);
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return detail::only_value(input).to_complex();
  else if constexpr (std::is_same_v<T, bool>)
    return detail::only_value(input).to_bool();
  else if constexpr (std::integral<T>)
    return static_cast<T>(detail::only_real_value(input).to_int());
  else
    return static_cast<T>(detail::only_real_value(input).to_double());
}

namespace detail {
BP_API void values_of(const Tensor& input, Dtype dtype, void* out);
}
// All elements, row-major. Waits for the device. Throws bad_argument unless T is the dtype.
template <class T> std::vector<T> to_vector(const Tensor& input) {
  check_data_dtype("to_vector", input, DtypeOf<T>::value);
  std::vector<T> values(static_cast<std::size_t>(input.numel()));
  detail::values_of(input, DtypeOf<T>::value, values.data());
  return values;
}

// As from_blob with a dtype. The memory is the host's unless the options name a device, which then reads it in place, as
// tensor_from_blob says.
BP_API Tensor from_blob(void* data, IntList shape, const TensorOptions& options,
                        void (*deleter)(void* context) = nullptr, void* context = nullptr);

// The tensor on another device, or as another dtype; returned as it is if nothing changes.
BP_API Tensor to(const Tensor& input, Device device);
BP_API Tensor to(const Tensor& input, Dtype dtype);
BP_API Tensor to(const Tensor& input, Device device, Dtype dtype);
BP_API Tensor to(const Tensor& input, const TensorOptions& options);
// On the host's device, where data<T>() reads the elements.
BP_API Tensor cpu(const Tensor& input);

// The same values without gaps in this memory order; returned as it is if they are already.
// Channels-last throws bad_argument unless the rank is 4.
BP_API Tensor contiguous(const Tensor& input, MemoryFormat format = MemoryFormat::contiguous);
// A copy in new memory.
BP_API Tensor clone(const Tensor& input);

// Overwrites a tensor and returns it: with the values of `source`, broadcast, cast and from any
// device, or with one number.
BP_API const Tensor& copy_(const Tensor& target, const Tensor& source);
BP_API const Tensor& fill_(const Tensor& target, const Scalar& value);
const Tensor& copy_(IndexedCopy&& target, const Tensor& source) = delete;
const Tensor& fill_(IndexedCopy&& target, const Scalar& value) = delete;

}  // namespace bp
