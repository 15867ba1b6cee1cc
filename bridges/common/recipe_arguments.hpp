// The arguments of a call as a bridge's recipes read them: values of Backplane alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/dispatcher/call.hpp>

namespace bp::bridge {

// In schema order. Tensors are borrowed from the caller.
class Arguments {
 public:
  explicit Arguments(const bp_value* values) : values_(values) {}

  bool is_none(int place) const { return values_[place].tag == BP_NONE; }
  // Undefined where there is none.
  Tensor tensor(int place) const {
    return is_none(place) ? Tensor() : shared(values_[place].u.tensor);
  }
  std::vector<Tensor> tensors(int place) const {
    std::vector<Tensor> list;
    for (const bp_tensor* each : elements<const bp_tensor*>(place)) list.push_back(shared(each));
    return list;
  }
  Scalar scalar(int place) const { return Scalar::from_value(values_[place]); }
  std::optional<Scalar> optional_scalar(int place) const {
    return is_none(place) ? std::nullopt : std::optional(scalar(place));
  }
  std::int64_t integer(int place) const { return values_[place].u.i; }
  std::optional<std::int64_t> optional_integer(int place) const {
    return is_none(place) ? std::nullopt : std::optional(integer(place));
  }
  double real(int place) const { return scalar(place).to_double(); }
  std::optional<double> optional_real(int place) const {
    return is_none(place) ? std::nullopt : std::optional(real(place));
  }
  bool boolean(int place) const { return values_[place].u.i != 0; }
  // Text and lists are empty where there is none.
  std::string_view text(int place) const {
    const std::span<const char> letters = elements<char>(place);
    return {letters.data(), letters.size()};
  }
  IntList list(int place) const {
    const std::span<const std::int64_t> numbers = elements<std::int64_t>(place);
    return {numbers.data(), numbers.size()};
  }
  std::optional<IntList> optional_list(int place) const {
    return is_none(place) ? std::nullopt : std::optional(list(place));
  }
  std::span<const double> reals(int place) const { return elements<double>(place); }
  // None is all dimensions; so is an empty list, as PyTorch has it.
  DimList dims(int place) const {
    const IntList given = list(place);
    return given.empty() ? DimList() : DimList(given);
  }
  std::optional<Dtype> dtype(int place) const {
    return is_none(place) ? std::nullopt : std::optional(static_cast<Dtype>(integer(place)));
  }
  Generator* generator(int place) const { return Generator::of(values_[place]); }

 private:
  static Tensor shared(const bp_tensor* abi) {
    return abi ? Tensor::share(TensorImpl::of(abi)) : Tensor();
  }
  template <class T> std::span<const T> elements(int place) const {
    if (is_none(place)) return {};
    return {static_cast<const T*>(values_[place].u.ptr), values_[place].aux};
  }

  const bp_value* values_;
};

}  // namespace bp::bridge
