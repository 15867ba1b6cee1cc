// The call path: from a public function's arguments to a kernel.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {

// Arguments as values. They only borrow: the tensor, list or string must outlive the call.
inline bp_value value_of(const Tensor& tensor) {
  bp_value v{};
  if (tensor.defined()) {
    v.tag = BP_TENSOR;
    v.u.tensor = &tensor.impl()->abi;
  }
  return v;
}
inline bp_value value_of(const Scalar& scalar) {
  return scalar.value();
}
inline bp_value value_of(std::int64_t integer) {
  bp_value v{};
  v.tag = BP_INT;
  v.u.i = integer;
  return v;
}
inline bp_value value_of(bool boolean) {
  bp_value v{};
  v.tag = BP_BOOLEAN;
  v.u.i = boolean;
  return v;
}
inline bp_value value_of(double real) {
  bp_value v{};
  v.tag = BP_DOUBLE;
  v.u.f = real;
  return v;
}
inline bp_value value_of(IntList list) {
  bp_value v{};
  v.tag = BP_INT_LIST;
  v.aux = static_cast<std::uint32_t>(list.size());
  v.u.ptr = list.data();
  return v;
}
inline bp_value value_of(std::string_view text) {
  bp_value v{};
  v.tag = BP_STRING;
  v.aux = static_cast<std::uint32_t>(text.size());
  v.u.ptr = text.data();
  return v;
}
inline bp_value value_of(Dtype dtype) {
  bp_value v{};
  v.tag = BP_DTYPE;
  v.u.i = index(dtype);
  return v;
}
inline bp_value value_of(Device device) {
  bp_value v{};
  v.tag = BP_DEVICE;
  v.u.i = device.number;
  return v;
}
inline bp_value value_of(Generator* generator) {
  return generator ? generator->value() : bp_value{};
}
template <class T> bp_value value_of(const std::optional<T>& optional) {
  return optional ? value_of(*optional) : bp_value{};
}

// A list of tensors as a value; owns the array that the value points to. An undefined tensor becomes null, which stands
// for None in a Tensor?[]; a call with a Tensor[] rejects it.
class BP_API TensorListValue {
 public:
  explicit TensorListValue(std::span<const Tensor> tensors);
  bp_value value() const;

 private:
  std::vector<const bp_tensor*> pointers_;
};

// Runs a call through layers, rules and the ladder. Results that are already defined are written into.
BP_API void dispatch(const Call& call);

// Computes the call by the operator's decomposition. A result is a view only of memory that others hold as well.
BP_API void run_decomposition(const Operator& op, const Call& call);

// The path of pointwise operators. If all tensors are contiguous and agree in dtype, shape and device, and no layer
// is active, it takes one table look-up, one allocation and the kernel; anything else goes through dispatch.
// `args` may be rewritten.
BP_API Tensor call_pointwise(Operator& op, bp_value* args, std::uint32_t num_args);
// The same into an existing tensor: in place (when it is also an argument) or out=.
BP_API void call_pointwise_into(Operator& op, bp_value* args, std::uint32_t num_args,
                                const Tensor& out);

// The path of views, which only computes metadata.
BP_API Tensor call_view(Operator& op, bp_value* args, std::uint32_t num_args);

// Runs a call of any kind that has one result.
inline Tensor call_one(Operator& op, bp_value* args, std::uint32_t num_args) {
  Tensor result;
  dispatch(Call{op, args, num_args, &result, 1});
  return result;
}
// The same into an existing tensor; throws bad_argument if it is undefined.
BP_API void call_one_into(Operator& op, bp_value* args, std::uint32_t num_args, const Tensor& out);

// The same for several results, all of which must be defined.
BP_API void call_many_into(Operator& op, bp_value* args, std::uint32_t num_args, Tensor* results,
                           std::uint32_t num_results);

// How many results the call has, as Call counts them. Throws bad_argument if the arguments do not determine the length of
// a Tensor[] among them.
BP_API std::uint32_t num_results_of(Operator& op, bp_value* args, std::uint32_t num_args);
// All results of a call; those of a Tensor[] come last.
BP_API std::vector<Tensor> call_all(Operator& op, bp_value* args, std::uint32_t num_args);

// Boxed calls, for custom operators, bindings and tools. Arguments that are omitted at the end, or have this tag, take their
// defaults. Throws bad_argument naming operator and argument if one is missing, unexpected or of the wrong type.
inline constexpr std::uint32_t default_argument = 0xffffffffu;
BP_API std::vector<Tensor> call_boxed(Operator& op, std::span<const bp_value> args);
BP_API std::vector<Tensor> call_boxed(std::string_view op, std::initializer_list<bp_value> args);
// The same with results as Call has them: those that are defined are written into (out=, in place), the others are made.
// Allocates nothing besides.
BP_API void call_boxed(Operator& op, std::span<const bp_value> args, std::span<Tensor> results);
// What num_results_of says of such arguments.
BP_API std::uint32_t num_boxed_results(Operator& op, std::span<const bp_value> args);

}  // namespace bp
