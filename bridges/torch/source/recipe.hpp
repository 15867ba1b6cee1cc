// Operators of PyTorch that are several rows of ours. A recipe has a schema, in the words of our rows, and a function: it sees
// values of Backplane alone, and knows nothing of PyTorch.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/dispatcher/call.hpp>

namespace bp::bridge {

// The arguments of a call, in schema order. Tensors are borrowed from the caller.
class Arguments {
 public:
  explicit Arguments(const bp_value* values) : values_(values) {}

  // Undefined where there is none.
  Tensor tensor(int place) const {
    const bp_tensor* abi = is_none(place) ? nullptr : values_[place].u.tensor;
    return abi ? Tensor::share(TensorImpl::of(abi)) : Tensor();
  }
  std::vector<Tensor> tensors(int place) const;
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
  std::string_view text(int place) const {
    return {static_cast<const char*>(values_[place].u.ptr), values_[place].aux};
  }
  IntList list(int place) const {
    return {static_cast<const std::int64_t*>(values_[place].u.ptr), values_[place].aux};
  }
  // None is all dimensions; so is an empty list, as PyTorch has it.
  DimList dims(int place) const {
    return is_none(place) || values_[place].aux == 0 ? DimList() : DimList(list(place));
  }
  bool is_none(int place) const { return values_[place].tag == BP_NONE; }
  std::optional<Dtype> dtype(int place) const {
    return is_none(place) ? std::nullopt : std::optional(static_cast<Dtype>(integer(place)));
  }
  Generator* generator(int place) const { return Generator::of(values_[place]); }

 private:
  const bp_value* values_;
};

struct Recipe {
  // The name of the operator, and behind a dot that of the only overload that it is for.
  const char* aten;
  const char* schema;
  // Makes the results, one for each of the schema's.
  void (*run)(const Arguments& arguments, Tensor* results);
  bool last = false;  // only for calls that a row refuses
};

// Those of recipes/*.yaml, of which generated/ is made.
std::vector<Recipe> all_recipes();

}  // namespace bp::bridge
