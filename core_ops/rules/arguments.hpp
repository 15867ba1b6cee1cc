// A call's arguments as C++ values, for rules and decompositions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/generator.hpp>

namespace bp {

// A tensor argument without a reference of its own: counting would cost more than a view does.
class BorrowedTensor {
 public:
  // Undefined if there is none.
  explicit BorrowedTensor(const bp_tensor* abi)
      : tensor_(abi ? Tensor::adopt(TensorImpl::of(abi)) : Tensor()) {}
  ~BorrowedTensor() { tensor_.release(); }
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;

  operator const Tensor&() const { return tensor_; }
  const Tensor& operator*() const { return tensor_; }
  const Tensor* operator->() const { return &tensor_; }

 private:
  Tensor tensor_;
};

inline BorrowedTensor tensor_arg(const Call& call, std::uint32_t place) {
  return BorrowedTensor(call.args[place].u.tensor);
}
inline const TensorImpl& impl_arg(const Call& call, std::uint32_t place) {
  return *TensorImpl::of(call.args[place].u.tensor);
}
// The tensors of a list; undefined ones for its holes.
class ListedTensors {
 public:
  explicit ListedTensors(const bp_value& value) {
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t i = 0; i < value.aux; ++i)
      tensors_.push_back(elements[i] ? Tensor::share(TensorImpl::of(elements[i])) : Tensor());
  }
  operator TensorList() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};
inline ListedTensors tensors_arg(const Call& call, std::uint32_t place) {
  return ListedTensors(call.args[place]);
}
// A list, or the number that stands for each of its tensors.
class ListOrNumber {
 public:
  explicit ListOrNumber(const bp_value& value) {
    if (value.tag == BP_TENSOR_LIST)
      listed_.emplace(value);
    else
      number_ = Scalar::from_value(value);
  }
  bool is_number() const { return !listed_; }
  const Scalar& number() const { return number_; }
  TensorList tensors() const { return *listed_; }

 private:
  std::optional<ListedTensors> listed_;
  Scalar number_ = 0;
};
inline ListOrNumber list_or_number_arg(const Call& call, std::uint32_t place) {
  return ListOrNumber(call.args[place]);
}
inline bool is_tensor(const Call& call, std::uint32_t place) {
  return call.args[place].tag == BP_TENSOR;
}
inline bool is_none(const Call& call, std::uint32_t place) {
  return call.args[place].tag == BP_NONE;
}

inline IntList shape_of(const TensorImpl& impl) {
  return {impl.shape, static_cast<std::size_t>(impl.abi.dl.ndim)};
}
inline Dtype dtype_of(const TensorImpl& impl) {
  return static_cast<Dtype>(impl.abi.dtype);
}

inline std::int64_t int_arg(const Call& call, std::uint32_t place) {
  return call.args[place].u.i;
}
inline bool bool_arg(const Call& call, std::uint32_t place) {
  return call.args[place].u.i != 0;
}
inline double real_arg(const Call& call, std::uint32_t place) {
  return Scalar::from_value(call.args[place]).to_double();
}
inline Scalar scalar_arg(const Call& call, std::uint32_t place) {
  return Scalar::from_value(call.args[place]);
}
inline IntList list_arg(const Call& call, std::uint32_t place) {
  const bp_value& value = call.args[place];
  return {static_cast<const std::int64_t*>(value.u.ptr), value.aux};
}
inline DimList dims_arg(const Call& call, std::uint32_t place) {
  return is_none(call, place) ? DimList() : DimList(list_arg(call, place));
}
inline std::optional<double> optional_real_arg(const Call& call, std::uint32_t place) {
  if (is_none(call, place)) return std::nullopt;
  return real_arg(call, place);
}
inline std::optional<Scalar> optional_scalar_arg(const Call& call, std::uint32_t place) {
  if (is_none(call, place)) return std::nullopt;
  return scalar_arg(call, place);
}
inline std::string_view text_arg(const Call& call, std::uint32_t place) {
  return {static_cast<const char*>(call.args[place].u.ptr), call.args[place].aux};
}
inline std::optional<std::int64_t> optional_int_arg(const Call& call, std::uint32_t place) {
  if (is_none(call, place)) return std::nullopt;
  return int_arg(call, place);
}
inline Dtype dtype_arg(const Call& call, std::uint32_t place) {
  return static_cast<Dtype>(call.args[place].u.i);
}
inline std::optional<Dtype> optional_dtype_arg(const Call& call, std::uint32_t place) {
  if (is_none(call, place)) return std::nullopt;
  return dtype_arg(call, place);
}
// The generator that the call draws from. Where its numbers were taken already, one that begins there and is the
// call's own.
class CalledGenerator {
 public:
  explicit CalledGenerator(const bp_value& value) : generator_(Generator::of(value)) {
    if (value.tag != BP_GENERATOR || generator_) return;
    const auto& taken = *static_cast<const bp_generator*>(value.u.ptr);
    own_.emplace().set_state({taken.seed, taken.offset});
    generator_ = &*own_;
  }
  CalledGenerator(const CalledGenerator&) = delete;
  CalledGenerator& operator=(const CalledGenerator&) = delete;
  operator Generator*() const { return generator_; }

 private:
  std::optional<Generator> own_;
  Generator* generator_;
};
inline CalledGenerator generator_arg(const Call& call, std::uint32_t place) {
  return CalledGenerator(call.args[place]);
}
inline std::optional<Device> optional_device_arg(const Call& call, std::uint32_t place) {
  if (is_none(call, place)) return std::nullopt;
  return Device{static_cast<std::uint32_t>(call.args[place].u.i)};
}

}  // namespace bp
