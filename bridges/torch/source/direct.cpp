#include "direct.hpp"

#include <ATen/MemoryOverlap.h>
#include <algorithm>
#include <array>
#include <span>

#include "call.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

constexpr std::size_t most_slots = 6;

struct Given {
  std::array<const at::Tensor*, 2> tensors;
  std::size_t num_tensors;
  const c10::Scalar* number;  // behind them, or null
};

bool is_plain(const at::Tensor& tensor, c10::Device device) {
  return tensor.device() == device && tensor.layout() == c10::kStrided && !tensor.is_conj() &&
         !tensor.is_neg() && dtype_of(tensor.scalar_type());
}

class Direct {
 public:
  Direct(const c10::OperatorHandle& op, const std::vector<Plan>& plans) : op_(op), plans_(plans) {}

  at::Tensor call(const Given& given) const {
    at::Tensor result;
    const bool done = try_call(given, [&](Operator& row, bp_value* args, std::uint32_t count,
                                          std::span<const Tensor> tensors) {
      const Tensor made = call_pointwise(row, args, count);
      for (const Tensor& tensor : tensors)
        if (tensor.impl()->storage == made.impl()->storage) return false;
      result = lend(made);
      return true;
    });
    return done ? result : by_stack(given);
  }

  at::Tensor& call_in_place(at::Tensor& self, const Given& given) const {
    const bool done = try_call(given, [&](Operator& row, bp_value* args, std::uint32_t count,
                                          std::span<const Tensor> tensors) {
      at::assert_no_internal_overlap(self);
      call_pointwise_into(row, args, count, tensors[0]);
      return true;
    });
    if (!done) by_stack(given);
    return self;
  }

 private:
  // False: the stack's way may take it, and says why where it does not.
  template <class Make> bool try_call(const Given& given, const Make& make) const {
    for (std::size_t i = 0; i < given.num_tensors; ++i)
      if (!is_plain(*given.tensors[i], given.tensors[0]->device())) return false;
    take_default_dtype();
    const Plan& plan = plans_.front();
    try {
      std::array<Tensor, 2> tensors;
      for (std::size_t i = 0; i < given.num_tensors; ++i) tensors[i] = borrow(*given.tensors[i]);
      std::array<bp_value, most_slots> values;
      for (std::size_t i = 0; i < plan.slots.size(); ++i) {
        const Slot& slot = plan.slots[i];
        values[i] = slot.value;
        if (slot.from < 0) continue;
        const auto from = static_cast<std::size_t>(slot.from);
        if (from < given.num_tensors)
          values[i] = value_of(tensors[from]);
        else if (!put_number(values[i], *given.number))
          return false;
      }
      return make(*plan.target->op, values.data(), static_cast<std::uint32_t>(plan.slots.size()),
                  std::span<const Tensor>(tensors.data(), given.num_tensors));
    } catch (const Error& error) {
      refusal_of(error);
      return false;
    }
  }

  at::Tensor by_stack(const Given& given) const {
    torch::jit::Stack stack;
    for (std::size_t i = 0; i < given.num_tensors; ++i) stack.emplace_back(*given.tensors[i]);
    if (given.number) stack.emplace_back(*given.number);
    serve_call(plans_, op_, &stack);
    return std::move(stack.back()).toTensor();
  }

  const c10::OperatorHandle op_;
  const std::vector<Plan>& plans_;
};

// "TTN": the arguments are two tensors and a number.
std::string kinds_of(const c10::FunctionSchema& schema) {
  std::string kinds;
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::TypeKind kind = argument.real_type()->kind();
    kinds += kind == c10::TypeKind::TensorType   ? 'T'
             : kind == c10::TypeKind::NumberType ? 'N'
                                                 : '?';
  }
  return kinds;
}

bool is_direct(const Plan& plan) {
  const Operator* row = plan.target->op;
  return row && row->kind == BP_KIND_POINTWISE && plan.form != Form::out && plan.num_results == 1 &&
         !plan.list_result && plan.expected.empty() && plan.slots.size() <= most_slots &&
         std::ranges::all_of(plan.slots, [](const Slot& slot) {
           return slot.from < 0 || slot.type == ArgumentType::tensor ||
                  slot.type == ArgumentType::scalar || slot.type == ArgumentType::real;
         });
}

}  // namespace

std::optional<torch::CppFunction> direct_kernel(const c10::OperatorHandle& op,
                                                const std::vector<Plan>& plans) {
  using T = at::Tensor;
  using N = c10::Scalar;
  const Plan& plan = plans.front();
  if (!is_direct(plan)) return std::nullopt;
  const std::string kinds = kinds_of(op.schema());
  const bool in_place = plan.form == Form::in_place;
  const Direct direct(op, plans);
  if (kinds == "T" && !in_place)
    return torch::CppFunction([direct](const T& a) -> T {
      return direct.call({{&a, nullptr}, 1, nullptr});
    });
  if (kinds == "TT" && !in_place)
    return torch::CppFunction([direct](const T& a, const T& b) -> T {
      return direct.call({{&a, &b}, 2, nullptr});
    });
  if (kinds == "TTN" && !in_place)
    return torch::CppFunction([direct](const T& a, const T& b, const N& number) -> T {
      return direct.call({{&a, &b}, 2, &number});
    });
  if (kinds == "TT")
    return torch::CppFunction([direct](T& a, const T& b) -> T& {
      return direct.call_in_place(a, {{&a, &b}, 2, nullptr});
    });
  if (kinds == "TTN")
    return torch::CppFunction([direct](T& a, const T& b, const N& number) -> T& {
      return direct.call_in_place(a, {{&a, &b}, 2, &number});
    });
  return std::nullopt;
}

}  // namespace bp::bridge
