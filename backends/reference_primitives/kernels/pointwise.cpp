// The elementwise rows: all by one interpreter of the row's expression.
#include <optional>

#include "expression.hpp"
#include "tensor_view.hpp"

namespace reference {
namespace {

template <class T> struct Operand {
  std::optional<TensorView> tensor;
  T number{};

  T at(int64_t place) const { return tensor ? tensor->get<T>(place) : number; }
};

template <class T> Operand<T> operand(bp::Stream stream, const bp_value& value) {
  if (value.tag == BP_TENSOR) return {TensorView(stream, bp::In(value.u.tensor)), T{}};
  return {std::nullopt, number_as<T>(bp::Scalar(value))};
}

// That of the output, unless this is bool whatever is compared.
bp::Dtype computed_dtype(const bp_call& call, bp::Out out) {
  if (out.dtype() != bp::boolean) return out.dtype();
  for (uint32_t i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == BP_TENSOR && call.args[i].u.tensor->dtype != BP_BOOL)
      return bp::In(call.args[i].u.tensor).dtype();
  return bp::boolean;
}

template <class T> bp::Status compute(bp::Call call, bp::Dtype dtype, bp::Out out) {
  if (!Expression<T>::knows(call.op())) return bp::unsupported("a step that is unknown here");
  Expression<T> evaluate(call.op(), dtype);
  std::vector<Operand<T>> operands;
  for (uint16_t i = 0; i < call.abi().num_args; ++i) {
    operands.push_back(operand<T>(call, call.abi().args[i]));
    if (!operands[i].tensor && operands[i].number == T(1)) evaluate.leave_out_factor(i);
  }
  const TensorView to(call, out);
  return submit(call, [=]() mutable {
    std::vector<T> args(operands.size());
    for (int64_t i = 0; i < to.numel; ++i) {
      for (size_t arg = 0; arg < args.size(); ++arg) args[arg] = operands[arg].at(i);
      to.set(i, evaluate(args.data()));
    }
  });
}

// The kernel of any row, with the parameters that the row's signature asks for.
template <class Signature> struct Pointwise;
template <class... Places> struct Pointwise<bp::Status(bp::Stream, Places...)> {
  static bp::Status run(bp::Call call, Places...) {
    const bp::Out out(call.abi().outputs[0]);
    const bp::Dtype dtype = computed_dtype(call.abi(), out);
    return with_step_type(dtype, [&]<class T>(Tag<T>) { return compute<T>(call, dtype, out); });
  }
};

template <class Op> bp::KernelBuilder<Op> add(bp::Kernels& k, bp::DtypeSet dtypes) {
  return k.add<Op>(Pointwise<typename Op::signature>::run)
      .dtypes(dtypes)
      .layouts(bp::strided)
      .deterministic()
      .in_place_safe();
}

}  // namespace
}  // namespace reference

BP_KERNELS(pointwise) {
  using reference::add;
  constexpr bp::DtypeSet computed = bp::numeric | bp::boolean, ordered = bp::real | bp::boolean;
  add<bp::op::eq>(k, computed);
  add<bp::op::lt>(k, ordered);
  add<bp::op::le>(k, ordered);
  add<bp::op::logical_and>(k, bp::boolean);
  add<bp::op::logical_or>(k, bp::boolean);
  add<bp::op::logical_not>(k, bp::boolean);
  add<bp::op::bitwise_and>(k, bp::integral | bp::boolean);
  add<bp::op::add>(k, computed);
  add<bp::op::mul>(k, computed);
  add<bp::op::div>(k, bp::floating | bp::complex);
  add<bp::op::maximum>(k, ordered);
  add<bp::op::minimum>(k, ordered);
  add<bp::op::where>(k, computed).dtypes(bp::op::where::place::condition, bp::boolean);
  add<bp::op::neg>(k, bp::numeric);
  add<bp::op::fmod>(k, bp::real);
  add<bp::op::floor_divide>(k, bp::real);
  add<bp::op::exp>(k, bp::floating);
  add<bp::op::log>(k, bp::floating);
  add<bp::op::sqrt>(k, bp::floating);
  add<bp::op::sin>(k, bp::floating);
  add<bp::op::cos>(k, bp::floating);
  add<bp::op::tanh>(k, bp::floating);
  add<bp::op::floor>(k, bp::real);
  add<bp::op::pow>(k, bp::real);
}
