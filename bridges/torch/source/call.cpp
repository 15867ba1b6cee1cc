// From a stack of PyTorch's values to a call, and back.
#include "call.hpp"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <atomic>
#include <c10/core/DefaultDtype.h>

#include "devices.hpp"
#include "fallback.hpp"
#include "hooks.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

// The values of a call, and what they point to: lists are addressed last, when no array grows any more.
class Values {
 public:
  // False: an argument is not what the target takes.
  bool read(const Plan& plan, const c10::IValue* stack) {
    find_device(plan, stack);
    values_.resize(plan.slots.size());
    for (std::size_t i = 0; i < plan.slots.size(); ++i)
      if (!read_slot(plan.slots[i], stack, i)) return false;
    for (const Pending& list : pending_)
      values_[list.place].u.ptr = list.is_tensors
                                      ? static_cast<const void*>(pointers_.data() + list.begin)
                                      : static_cast<const void*>(numbers_.data() + list.begin);
    for (const auto& [place, number] : complex_) values_[place] = scalars_[number].value();
    return true;
  }
  bp_value* data() { return values_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(values_.size()); }
  const std::string& why() const { return why_; }
  c10::Device device() const { return device_; }
  // Is it the memory of an argument?
  bool has_storage(const Storage* storage) const {
    for (const Tensor& tensor : tensors_)
      if (tensor.impl()->storage == storage) return true;
    return false;
  }

 private:
  struct Pending {
    std::size_t place, begin;
    bool is_tensors;
  };

  bool refuse(const char* why) { return why_ = why, false; }

  void find_device(const Plan& plan, const c10::IValue* stack) {
    for (int i = 0; i < plan.num_arguments; ++i) {
      if (stack[i].isTensor() && is_ours(stack[i].toTensor())) {
        device_ = stack[i].toTensor().device();
        return;
      }
      if (!stack[i].isTensorList()) continue;
      for (const at::Tensor& tensor : stack[i].toTensorVector())
        if (tensor.defined() && is_ours(tensor)) {
          device_ = tensor.device();
          return;
        }
    }
  }

  const bp_tensor* keep(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return &tensors_.back().impl()->abi;
  }
  // Tensors of the host come along where PyTorch lets them: without dimensions, or as indices.
  const bp_tensor* take(const at::Tensor& tensor, bool any_shape) {
    const bool is_here = tensor.device() == device_;
    const bool may_come = !is_ours(tensor) && (any_shape || tensor.dim() == 0);
    TORCH_CHECK(is_here || may_come,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                device_, " and ", tensor.device(), "!");
    if (is_here)
      return keep(borrow(tensor.is_neg() || tensor.is_conj() ? tensor.resolve_conj().resolve_neg()
                                                             : tensor));
    return keep(borrow(tensor.to(device_)));
  }

  void put_scalar(bp_value& value, const c10::Scalar& scalar, std::size_t place) {
    if (put_number(value, scalar)) return;
    complex_.push_back({place, scalars_.size()});
    scalars_.push_back(Scalar(std::complex<double>(scalar.toComplexDouble())));
  }

  bool read_slot(const Slot& slot, const c10::IValue* stack, std::size_t place) {
    bp_value& value = values_[place];
    value = slot.value;
    if (slot.from < 0) return true;
    const c10::IValue& given = stack[slot.from];
    if (given.isNone()) {
      if (slot.optional) value = bp_value{};
      return true;
    }
    switch (slot.type) {
      case ArgumentType::tensor: return read_tensor(slot, given, value, place);
      case ArgumentType::tensor_list: return read_tensors(slot, given, value, place);
      case ArgumentType::integer_list: return read_list(slot, given, value, place);
      case ArgumentType::scalar:
      case ArgumentType::real: put_scalar(value, given.toScalar(), place); return true;
      case ArgumentType::integer:
        if (!given.isInt() && !given.isSymInt()) {
          const c10::Scalar number = given.toScalar();
          if (!number.isIntegral(true)) return refuse("a number that is not whole");
          value = value_of(number.toLong());
          return true;
        }
        value = value_of(given.toInt());
        return true;
      case ArgumentType::boolean: value = value_of(given.toBool()); return true;
      case ArgumentType::string:
        value = value_of(std::string_view(given.toStringRef()));
        return true;
      case ArgumentType::dtype: {
        const std::optional<Dtype> dtype = dtype_of(given.toScalarType());
        if (!dtype) return refuse("a dtype that Backplane lacks");
        value = value_of(*dtype);
        return true;
      }
      case ArgumentType::generator:
        if (given.toGenerator().device().type() != device_type)
          return refuse("a generator of another device type");
        value = generator_of(given.toGenerator())->value();
        return true;
      default: return refuse("an argument of this type");
    }
  }

  bool read_tensor(const Slot& slot, const c10::IValue& given, bp_value& value, std::size_t place) {
    if (!given.isTensor()) {
      put_scalar(value, given.toScalar(), place);
      return true;
    }
    const at::Tensor& tensor = given.toTensor();
    value = bp_value{};
    if (!tensor.defined()) return true;
    if (tensor.layout() != c10::kStrided) return refuse("a tensor that is not strided");
    if (slot.number_ok && tensor.unsafeGetTensorImpl()->is_wrapped_number() && !is_ours(tensor)) {
      put_scalar(value, tensor.item(), place);
      return true;
    }
    if (!dtype_of(tensor.scalar_type())) return refuse("a dtype that Backplane lacks");
    value.tag = BP_TENSOR;
    value.u.tensor = take(tensor, false);
    return true;
  }

  bool read_tensors(const Slot& slot, const c10::IValue& given, bp_value& value,
                    std::size_t place) {
    if (!given.isList()) {
      put_scalar(value, given.toScalar(), place);
      return true;
    }
    const std::size_t begin = pointers_.size();
    const auto list = given.toListRef();
    for (const c10::IValue& element : list) {
      const bool there = element.isTensor() && element.toTensor().defined();
      if (there && (!dtype_of(element.toTensor().scalar_type()) ||
                    element.toTensor().layout() != c10::kStrided))
        return refuse("a tensor in a list that is not strided or has a dtype that Backplane lacks");
      pointers_.push_back(there ? take(element.toTensor(), slot.indices) : nullptr);
    }
    value = bp_value{};
    value.tag = BP_TENSOR_LIST;
    value.aux = static_cast<std::uint32_t>(list.size());
    pending_.push_back({place, begin, true});
    return true;
  }

  bool read_list(const Slot& slot, const c10::IValue& given, bp_value& value, std::size_t place) {
    const std::size_t begin = numbers_.size();
    if (slot.one_as_list) {
      numbers_.push_back(given.toInt());
    } else if (given.isIntList()) {
      for (const std::int64_t number : given.toIntList()) numbers_.push_back(number);
    } else if (given.isBoolList()) {
      for (const bool truth : given.toBoolList()) numbers_.push_back(truth);
    } else {
      for (const c10::IValue& number : given.toListRef()) numbers_.push_back(number.toInt());
    }
    value = bp_value{};
    if (slot.empty_is_none && numbers_.size() == begin) return true;
    value.tag = BP_INT_LIST;
    value.aux = static_cast<std::uint32_t>(numbers_.size() - begin);
    pending_.push_back({place, begin, false});
    return true;
  }

  c10::Device device_{c10::DeviceType::PrivateUse1, 0};
  std::string why_;
  c10::SmallVector<bp_value, 12> values_;
  // Impls do not move when this grows.
  c10::SmallVector<Tensor, 6> tensors_;
  c10::SmallVector<const bp_tensor*, 8> pointers_;
  c10::SmallVector<std::int64_t, 16> numbers_;
  c10::SmallVector<Scalar, 2> scalars_;
  c10::SmallVector<Pending, 4> pending_;
  c10::SmallVector<std::pair<std::size_t, std::size_t>, 2> complex_;
};

bool is_expected(const Plan& plan, const c10::IValue* stack) {
  for (const Expected& expected : plan.expected) {
    const c10::IValue& given = stack[expected.from];
    const bool none = given.isNone() || (given.isTensor() && !given.toTensor().defined());
    if (expected.value.isNone() ? !none : given != expected.value) return false;
  }
  return true;
}

using Results = c10::SmallVector<Tensor, 4>;

// New tensors of recipes without arguments that are tensors.
class OnDevice {
 public:
  explicit OnDevice(Device device)
      : before_(thread_state().default_device), had_(thread_state().has_default_device) {
    thread_state().default_device = device;
    thread_state().has_default_device = true;
  }
  ~OnDevice() {
    thread_state().default_device = before_;
    thread_state().has_default_device = had_;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  Device before_;
  bool had_;
};

// What PyTorch does not cast is for its CPU, which casts what a factory makes, or says why not.
void check_cast(const Tensor& result, const at::Tensor& target) {
  const c10::ScalarType found = torch_dtype(result.dtype());
  if (at::canCast(found, target.scalar_type())) return;
  throw_error(ErrorClass::unsupported,
              c10::str("result type ", found, " can't be cast to the desired output type ",
                       target.scalar_type()));
}

void compute(const Plan& plan, Values& values, Results& results) {
  const Target& target = *plan.target;
  if (target.recipe) {
    results.resize(static_cast<std::size_t>(plan.num_results));
    const OnDevice here(device_at(values.device().index()));
    target.recipe->run(Arguments(values.data()), results.data());
    return;
  }
  Operator& op = *target.op;
  if (op.kind == BP_KIND_POINTWISE && plan.num_results == 1) {
    results.push_back(call_pointwise(op, values.data(), values.size()));
    return;
  }
  const std::uint32_t count = plan.list_result ? num_results_of(op, values.data(), values.size())
                                               : static_cast<std::uint32_t>(plan.num_results);
  results.resize(count);
  dispatch(Call{op, values.data(), values.size(), results.data(), count});
}

// In place, by the row itself; a recipe's result is copied.
void compute_in_place(const Plan& plan, Values& values, const at::Tensor& self) {
  const Tensor target = borrow(self);
  if (plan.target->op) {
    Operator& op = *plan.target->op;
    if (op.kind == BP_KIND_POINTWISE)
      call_pointwise_into(op, values.data(), values.size(), target);
    else
      call_one_into(op, values.data(), values.size(), target);
    return;
  }
  Results results;
  compute(plan, values, results);
  check_cast(results[0], self);
  copy_into(target, expand(results[0], target.shape()));
}

void write_outs(const Plan& plan, const Values& values, Results& results, torch::jit::Stack& stack,
                std::size_t first) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const at::Tensor& out = stack[first + static_cast<std::size_t>(plan.outs[i])].toTensor();
    TORCH_CHECK(out.device() == values.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                values.device(), " and ", out.device(), " (out)!");
    check_cast(results[i], out);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const at::Tensor out = stack[first + static_cast<std::size_t>(plan.outs[i])].toTensor();
    const IntList shape = results[i].shape();
    at::native::resize_output(out, {shape.data(), shape.size()});
    at::assert_no_internal_overlap(out);
    copy_into(borrow(out), results[i]);
  }
}

// Results of PyTorch's operators that are not views have memory of their own.
at::Tensor lend_result(const Values& values, const Tensor& result) {
  if (!result.defined()) return {};
  if (values.has_storage(result.impl()->storage)) return lend(copy(result));
  return lend(result);
}

bool run(const Plan& plan, torch::jit::Stack& stack, std::string& why) {
  take_default_dtype();
  const std::size_t first = stack.size() - static_cast<std::size_t>(plan.num_arguments);
  if (!is_expected(plan, stack.data() + first)) {
    why = "an argument that the row does not know is not at its default";
    return false;
  }
  Values values;
  if (!values.read(plan, stack.data() + first)) {
    why = values.why();
    return false;
  }
  Results results;
  c10::SmallVector<c10::IValue, 4> given;
  if (plan.form == Form::in_place) {
    const at::Tensor self = stack[first].toTensor();
    if (!is_ours(self) || self.is_neg() || self.is_conj()) return why = "self", false;
    at::assert_no_internal_overlap(self);
    compute_in_place(plan, values, self);
    given.emplace_back(self);
  } else {
    compute(plan, values, results);
    if (plan.form == Form::out) {
      write_outs(plan, values, results, stack, first);
      for (const int out : plan.outs) given.push_back(stack[first + static_cast<std::size_t>(out)]);
    } else if (plan.list_result) {
      c10::List<at::Tensor> list;
      for (const Tensor& result : results) list.push_back(lend_result(values, result));
      given.emplace_back(std::move(list));
    } else {
      for (const Tensor& result : results) given.emplace_back(lend_result(values, result));
    }
  }
  stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
  for (c10::IValue& value : given) stack.push_back(std::move(value));
  return true;
}

// False, and nothing has changed, where the target does not take this call; `why` says it then.
bool run_plan(const Plan& plan, torch::jit::Stack& stack, std::string& why) {
  try {
    return run(plan, stack, why);
  } catch (const Error& error) {
    why = refusal_of(error);
    return false;
  }
}

}  // namespace

void serve_call(const std::vector<Plan>& plans, const c10::OperatorHandle& op,
                torch::jit::Stack* stack) {
  std::string why;
  for (const Plan& plan : plans)
    if (run_plan(plan, *stack, why)) return;
  run_on_cpu(op, stack, why);
}

std::string refusal_of(const Error& error) {
  switch (error.error_class()) {
    case ErrorClass::bad_argument:
    case ErrorClass::unsupported:
      if (error.is_late()) throw;
      return error.what();
    case ErrorClass::out_of_memory: TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
    default: TORCH_CHECK(false, error.what());
  }
}

void take_default_dtype() {
  static std::atomic<c10::ScalarType> last{c10::ScalarType::Float};
  const c10::ScalarType now = c10::get_default_dtype_as_scalartype();
  if (now == last.load(std::memory_order_relaxed)) return;
  if (const std::optional<Dtype> dtype = dtype_of(now)) set_default_dtype(*dtype);
  last.store(now, std::memory_order_relaxed);
}

bool put_number(bp_value& value, const c10::Scalar& number) {
  if (number.isComplex()) return false;
  if (number.isBoolean())
    value = value_of(number.toBool());
  else if (number.isIntegral(false))
    value = value_of(number.isUnsigned() ? Scalar(number.toUInt64()) : Scalar(number.toLong()));
  else
    value = value_of(number.toDouble());
  return true;
}

}  // namespace bp::bridge
