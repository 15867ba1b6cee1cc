// Matching schemas.
#include "plan.hpp"

#include <algorithm>

#include <backplane/dispatcher/schema.hpp>

namespace bp::bridge {
namespace {

// What has no meaning beside a tensor that exists.
bool is_layout_word(const c10::Argument& argument) {
  const std::string& name = argument.name();
  return name == "layout" || name == "pin_memory" || name == "memory_format";
}

const c10::Type& without_optional(const c10::Type& type) {
  if (const auto* optional = type.castRaw<c10::OptionalType>()) return *optional->getElementType();
  return type;
}

// Can the value of PyTorch's argument be given for ours?
bool can_feed(const c10::Argument& theirs, const SchemaArgument& ours, bool number_ok, Slot& slot) {
  // real_type tells Scalar, Layout and ScalarType from int and float.
  const c10::Type& type = without_optional(*theirs.real_type());
  const c10::TypeKind kind = type.kind();
  const bool is_int = kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType;
  const auto* list = type.castRaw<c10::ListType>();
  switch (ours.type) {
    case ArgumentType::tensor:
      slot.number_ok = number_ok;
      if (kind == c10::TypeKind::TensorType) return true;
      return number_ok && kind == c10::TypeKind::NumberType;
    case ArgumentType::tensor_list: {
      if (!list) return kind == c10::TypeKind::NumberType && number_ok;
      const c10::Type& element = *list->getElementType();
      slot.indices = element.kind() == c10::TypeKind::OptionalType;
      return without_optional(element).kind() == c10::TypeKind::TensorType;
    }
    case ArgumentType::scalar:
    case ArgumentType::real:
      return kind == c10::TypeKind::NumberType || kind == c10::TypeKind::FloatType || is_int;
    case ArgumentType::integer: return is_int || kind == c10::TypeKind::NumberType;
    case ArgumentType::integer_list:
      slot.one_as_list = is_int;
      if (is_int) return true;
      return list && (list->getElementType()->kind() == c10::TypeKind::IntType ||
                      list->getElementType()->kind() == c10::TypeKind::SymIntType ||
                      list->getElementType()->kind() == c10::TypeKind::BoolType);
    case ArgumentType::boolean: return kind == c10::TypeKind::BoolType;
    case ArgumentType::string: return kind == c10::TypeKind::StringType;
    case ArgumentType::dtype: return kind == c10::TypeKind::ScalarTypeType;
    case ArgumentType::generator: return kind == c10::TypeKind::GeneratorType;
    default: return false;
  }
}

std::string our_name(const Target& target, const c10::Argument& argument) {
  for (const auto& [theirs, ours] : target.renamed)
    if (theirs == argument.name()) return ours;
  if (argument.name() == "self" && target.schema().find("self") < 0) return "input";
  return argument.name();
}

class Matcher {
 public:
  Matcher(const c10::FunctionSchema& theirs, const Target& target)
      : theirs_(theirs), target_(target), taken_(theirs.arguments().size(), false) {
    plan_.target = &target;
    plan_.num_arguments = static_cast<int>(theirs.arguments().size());
  }

  std::optional<Plan> match() {
    if (!find_form() || !match_results() || !match_arguments() || !match_rest())
      return std::nullopt;
    return std::move(plan_);
  }

 private:
  const std::vector<c10::Argument>& arguments() const { return theirs_.arguments(); }
  bool is_written(std::size_t i) const {
    const c10::AliasInfo* alias = arguments()[i].alias_info();
    return alias && alias->isWrite();
  }

  // In place: the name ends with an underscore, and the first argument is written.
  bool find_form() {
    const std::string& name = theirs_.name();
    const bool writes_self = !arguments().empty() && is_written(0);
    if (writes_self && name.back() == '_' && target_.schema().name.back() != '_') {
      plan_.form = Form::in_place;
      plan_.outs = {0};
      return true;
    }
    for (std::size_t i = 0; i < arguments().size(); ++i) {
      if (!arguments()[i].is_out()) continue;
      plan_.form = Form::out;
      plan_.outs.push_back(static_cast<int>(i));
      taken_[i] = true;
    }
    // PyTorch composes new tensors of `empty` and the form that writes into it.
    return plan_.form == Form::out || has_tensors();
  }
  bool has_tensors() const {
    for (const c10::Argument& argument : arguments()) {
      const c10::Type& type = without_optional(*argument.type());
      const auto* list = type.castRaw<c10::ListType>();
      const c10::Type& element = list ? without_optional(*list->getElementType()) : type;
      if (element.kind() == c10::TypeKind::TensorType) return true;
    }
    return false;
  }

  bool match_results() {
    const Schema& ours = target_.schema();
    const auto& returns = theirs_.returns();
    plan_.num_results = static_cast<int>(ours.returns.size());
    plan_.list_result = ours.returns_list();
    if (plan_.form != Form::functional)
      return !plan_.list_result && plan_.outs.size() == ours.returns.size();
    if (returns.size() != ours.returns.size()) return false;
    for (std::size_t i = 0; i < returns.size(); ++i) {
      if (returns[i].alias_info()) return false;  // a view: PyTorch makes it itself
      const bool is_list = returns[i].type()->kind() == c10::TypeKind::ListType;
      if (is_list != plan_.list_result) return false;
      if (!is_list && returns[i].type()->kind() != c10::TypeKind::TensorType) return false;
    }
    return true;
  }

  int find_by_name(const std::string& name) const {
    for (std::size_t i = 0; i < arguments().size(); ++i)
      if (!taken_[i] && our_name(target_, arguments()[i]) == name) return static_cast<int>(i);
    return -1;
  }
  // Behind those matched so far, the first one without a partner of its name.
  int find_by_place() const {
    for (std::size_t i = 0; i < arguments().size(); ++i) {
      if (taken_[i] || is_layout_word(arguments()[i])) continue;
      return target_.schema().find(our_name(target_, arguments()[i])) < 0 ? static_cast<int>(i)
                                                                          : -1;
    }
    return -1;
  }

  bool match_arguments() {
    const Schema& ours = target_.schema();
    for (std::size_t i = 0; i < ours.arguments.size(); ++i) {
      const SchemaArgument& argument = ours.arguments[i];
      const bool number_ok = !target_.op || ((target_.op->scalar_ok >> i) & 1) != 0;
      Slot slot;
      slot.type = argument.type;
      slot.optional = argument.optional;
      slot.value = argument.default_value;
      slot.from = find_by_name(argument.name);
      if (slot.from < 0 && !argument.has_default) slot.from = find_by_place();
      if (slot.from < 0) {
        if (!argument.has_default && !argument.optional) return false;
      } else {
        const c10::Argument& theirs = arguments()[static_cast<std::size_t>(slot.from)];
        if (!can_feed(theirs, argument, number_ok && target_.op, slot)) return false;
        // What a row computes in place is told by its result, not by its argument.
        taken_[static_cast<std::size_t>(slot.from)] = true;
        slot.empty_is_none = argument.type == ArgumentType::integer_list && argument.optional;
      }
      plan_.slots.push_back(slot);
    }
    return true;
  }

  // What is left must have a default, which a call is held against.
  bool match_rest() {
    for (std::size_t i = 0; i < arguments().size(); ++i) {
      if (taken_[i] || is_layout_word(arguments()[i])) continue;
      const c10::Argument& argument = arguments()[i];
      if (argument.default_value()) {
        plan_.expected.push_back({static_cast<int>(i), *argument.default_value()});
      } else if (argument.type()->kind() == c10::TypeKind::OptionalType) {
        plan_.expected.push_back({static_cast<int>(i), c10::IValue()});
      } else {
        return false;
      }
    }
    return true;
  }

  const c10::FunctionSchema& theirs_;
  const Target& target_;
  std::vector<bool> taken_;
  Plan plan_;
};

}  // namespace

std::optional<Plan> make_plan(const c10::FunctionSchema& theirs, const Target& target) {
  return Matcher(theirs, target).match();
}

}  // namespace bp::bridge
