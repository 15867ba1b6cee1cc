#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/nn/lazy.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "printing.hpp"
#include "walk.hpp"

namespace bp::nn {
namespace {

std::vector<Tensor> inverse_of(const Module& parametrization, const Tensor& value) {
  const auto* inverts = dynamic_cast<const Parametrization*>(&parametrization);
  return inverts ? inverts->right_inverse(value) : std::vector<Tensor>{value};
}

// Stands in the place of the member, so that a forward that nobody computed it for fails.
Tensor without_values(const Tensor& like) {
  return empty(like.shape(), like.dtype(), meta_device);
}

void check_same(const char* function, const std::string& name, const Tensor& member,
                const Tensor& value) {
  BP_CHECK(value.defined() && value.shape() == member.shape() && value.dtype() == member.dtype(),
           "{}: '{}' is {} {} and its parametrization gives {}; return the shape and dtype of the "
           "member",
           function, name, bp::name(member.dtype()), bp::to_string(member.shape()),
           value.defined()
               ? fmt::format("{} {}", bp::name(value.dtype()), bp::to_string(value.shape()))
               : "nothing");
}

}  // namespace

ParametrizationList::ParametrizationList(std::vector<Parameter> originals, bool are_parameters)
    : originals_(std::move(originals)), are_parameters_(are_parameters) {}

const Module& ParametrizationList::operator[](std::size_t index) const {
  BP_CHECK(index < size(), "ParametrizationList: no parametrization {} of {}; count from 0", index,
           size());
  return *modules_[index];
}

void ParametrizationList::list_parts(Parts& parts) {
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    const std::string name = originals_.size() == 1 ? "original" : fmt::format("original{}", i);
    if (are_parameters_)
      parts.parameter(name, originals_[i]);
    else
      parts.buffer(name, static_cast<Tensor&>(originals_[i]));
  }
  for (std::size_t i = 0; i < size(); ++i) parts.module(std::to_string(i), *modules_[i]);
}

Tensor ParametrizationList::value() const {
  const std::vector<Tensor> all(originals_.begin(), originals_.end());
  std::vector<Tensor> results = modules_[0]->call_all(all);
  BP_CHECK(results.size() == 1, "{}: gave {} tensors; a parametrization gives one",
           modules_[0]->type_name(), results.size());
  Tensor value = results[0];
  for (std::size_t i = 1; i < size(); ++i) value = (*modules_[i])(value);
  return value;
}

std::string ParametrizationList::printed() const {
  std::vector<std::string> entries;
  for (const AnyModule& module : modules_) entries.push_back(module->printed());
  return in_parentheses(printed_name(*this), folded(entries));
}

namespace {

// The originals of a member's first parametrization.
std::vector<Parameter> first_originals(const Module& parametrization, const Tensor& member) {
  const bool wants_grad = requires_grad(member);
  const NoGrad no_grad;
  const std::vector<Tensor> values = inverse_of(parametrization, member);
  BP_CHECK(!values.empty(), "register_parametrization: {}'s right_inverse gave no original",
           parametrization.type_name());
  std::vector<Parameter> originals;
  if (values.size() == 1) {
    if (!values[0].is_same(member)) set_data(member, detach(bp::clone(values[0])));
    static_cast<Tensor&>(originals.emplace_back()) = member;
    return originals;
  }
  for (const Tensor& value : values) originals.emplace_back(bp::clone(value), wants_grad);
  return originals;
}

}  // namespace

void detail::Parametrizing::add(Module& module, CopyModule copy, const std::type_info& type,
                                const std::string& name, AnyModule parametrization) {
  BP_CHECK(typeid(module) == type,
           "register_parametrization: called with a base of {}, which copies a part of it; pass "
           "the module as what it is (nn::module_as)",
           module.type_name());
  detail::Materializing::check_materialized(module);
  if (ParametrizationList* list = find(module, name)) {
    const Tensor before = list->value();
    check_same("register_parametrization", name, before, (*parametrization)(before));
    list->append(std::move(parametrization));
    return list->train(module.is_training());
  }
  for (const auto& held : Module::Walk::listed(module).tensors_) {
    if (held.name != name || !held.tensor->defined()) continue;
    const Tensor member = *held.tensor;
    const Tensor before = detach(bp::clone(member));
    ParametrizationList list(first_originals(*parametrization, member), held.is_parameter);
    list.append(std::move(parametrization));
    try {
      check_same("register_parametrization", name, before, list.value());
    } catch (...) {
      const NoGrad no_grad;
      if (list.originals().size() == 1) set_data(member, before);
      throw;
    }
    const auto& extras = module.extras_.get_or_make();
    extras->parametrizations.set(name, std::move(list));
    extras->parametrizations.train(module.is_training());
    extras->copy = copy;
    *held.tensor = without_values(member);
    return;
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("register_parametrization: {} has no parameter or buffer '{}'; name one "
                          "that it lists itself",
                          module.type_name(), name));
}

ParametrizationList* detail::Parametrizing::find(const Module& module, const std::string& name) {
  const auto& extras = module.extras_.get();
  if (!extras || !extras->parametrizations.contains(name)) return nullptr;
  return &extras->parametrizations.at<ParametrizationList>(name);
}

namespace utils::parametrize {

using Parametrizing = bp::nn::detail::Parametrizing;

bool is_parametrized(const Module& module) {
  const auto& extras = bp::nn::detail::Extras::of(module);
  return extras && extras->copy;
}

bool is_parametrized(const Module& module, const std::string& name) {
  return Parametrizing::find(module, name) != nullptr;
}

Tensor value(const Module& module, const std::string& name) {
  if (const ParametrizationList* list = Parametrizing::find(module, name)) return list->value();
  for (const auto& named : {module.named_parameters(), module.named_buffers()})
    for (const auto& [each, tensor] : named)
      if (each == name) return tensor;
  detail::Materializing::check_materialized(module);
  throw_error(ErrorClass::bad_argument,
              fmt::format("parametrize::value: {} has no '{}'", module.type_name(), name));
}

void set_value(Module& module, const std::string& name, const Tensor& value) {
  const ParametrizationList* list = Parametrizing::find(module, name);
  BP_CHECK(list, "parametrize::set_value: '{}' of {} is not parametrized; write it itself", name,
           module.type_name());
  const NoGrad no_grad;
  std::vector<Tensor> values{value};
  for (std::size_t i = list->size(); i-- > 0;) {
    BP_CHECK(values.size() == 1,
             "parametrize::set_value: parametrization {} of '{}' takes {} values", i + 1, name,
             values.size());
    values = inverse_of((*list)[i], values[0]);
  }
  BP_CHECK(values.size() == list->originals().size(),
           "parametrize::set_value: '{}' has {} originals and right_inverse gave {}", name,
           list->originals().size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor& original = list->originals()[i];
    BP_CHECK(values[i].defined() && values[i].shape() == original.shape(),
             "parametrize::set_value: original {} of '{}' has shape {} and {} is given for it; "
             "pass a value of the "
             "member's shape",
             i, name, bp::to_string(original.shape()),
             values[i].defined() ? bp::to_string(values[i].shape()) : "nothing");
    BP_CHECK(
        can_cast(values[i].dtype(), original.dtype()),
        "parametrize::set_value: original {} of '{}' is {} and {} is given for it, which would "
        "lose its {}; cast the value first",
        i, name, bp::name(original.dtype()), bp::name(values[i].dtype()),
        is_complex(values[i].dtype()) ? "imaginary part" : "fraction");
  }
  for (std::size_t i = 0; i < values.size(); ++i) copy_(list->originals()[i], values[i]);
}

void remove_parametrizations(Module& module, const std::string& name, bool leave_parametrized) {
  Parametrizing::remove(module, name, leave_parametrized);
}

}  // namespace utils::parametrize

void detail::Parametrizing::remove(Module& module, const std::string& name,
                                   bool leave_parametrized) {
  const ParametrizationList* list = find(module, name);
  BP_CHECK(list, "remove_parametrizations: '{}' of {} is not parametrized", name,
           module.type_name());
  const std::vector<Parameter> originals = list->originals();
  BP_CHECK(leave_parametrized || originals.size() == 1,
           "remove_parametrizations: '{}' has {} originals, of which none is the member; leave the "
           "computed value instead",
           name, originals.size());
  const NoGrad no_grad;
  const Tensor value = leave_parametrized ? bp::clone(detach(list->value())) : Tensor();
  const bool wants_grad = requires_grad(originals[0]);
  for (const auto& held : Module::Walk::listed(module).tensors_) {
    if (held.name != name) continue;
    if (originals.size() == 1) {
      if (leave_parametrized) copy_(originals[0], value);
      *held.tensor = originals[0];
    } else {
      *held.tensor = Parameter(value, wants_grad);
    }
  }
  const auto& extras = module.extras_.get();
  extras->parametrizations.erase(name);
  if (extras->parametrizations.size() == 0) extras->copy = nullptr;
}

}  // namespace bp::nn
