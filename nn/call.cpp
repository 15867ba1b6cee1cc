// A module's call: its hooks, its parametrized members, and where in it an error arose.
#include <typeinfo>

#include <backplane/tensor/check.hpp>

#include "extras.hpp"
#include "walk.hpp"

namespace bp::nn {
namespace {

// Knows the innermost module whose call it left, so that each call further out can say the path from there. Nothing is kept
// while all goes well: a call that throws nothing costs nothing more.
class LocatedError : public Error {
 public:
  LocatedError(const Error& error, const Module* module, const std::string& path, std::string text)
      : Error(error.error_class(), path.empty() ? text : path + ": " + text, error.is_late()),
        module(module), text(std::move(text)) {}

  const Module* module;  // only compared: it may be gone
  std::string text;
};

std::optional<std::string> path_of(const Module& below, const Module* module) {
  for (const auto& [name, each] : below.named_modules())
    if (each == module) return name;
  return std::nullopt;
}

// Inside of a catch of `error`.
[[noreturn]] void throw_located(const Module& self, const Error& error) {
  if (const auto* located = dynamic_cast<const LocatedError*>(&error)) {
    const std::optional<std::string> path = path_of(self, located->module);
    if (!path) throw;  // not one of the listed modules: what was known further in
    throw LocatedError(error, located->module, *path, located->text);
  }
  if (typeid(error) != typeid(Error)) throw;
  throw LocatedError(error, &self, "", error.what());
}

void check_input(const Module& module, const Tensor& x) {
  BP_CHECK(x.defined(), "{}: the input is undefined; pass a tensor", module.type_name());
}

}  // namespace

Tensor Module::operator()(const Tensor& x) const {
  try {
    check_input(*this, x);
    if (!extras_) [[likely]]
      return forward(x);
    std::vector<Tensor> results =
        call_with_extras({&x, 1}, [](const Module& self, std::span<const Tensor> inputs) {
          return std::vector<Tensor>{self.forward(inputs[0])};
        });
    return std::move(results[0]);
  } catch (const Error& error) {
    throw_located(*this, error);
  }
}

std::vector<Tensor> Module::call(TensorList inputs, const Forward& forward) const {
  try {
    return extras_ ? call_with_extras(inputs.span(), forward) : forward(*this, inputs.span());
  } catch (const Error& error) {
    throw_located(*this, error);
  }
}

std::vector<Tensor> Module::call_all(TensorList inputs) const {
  return call(inputs, [](const Module& self, std::span<const Tensor> all) {
    return self.forward_all(all);
  });
}

void detail::refuse_number(const Module& module, std::size_t num_inputs) {
  throw_error(ErrorClass::bad_argument,
              fmt::format("forward: {} got {} tensors; its forward says how many it takes",
                          module.type_name(), num_inputs));
}

std::vector<Tensor> Module::forward_all(std::span<const Tensor> inputs) const {
  BP_CHECK(inputs.size() == 1,
           "forward: {} got {} tensors and takes 1; override forward_all for more", type_name(),
           inputs.size());
  check_input(*this, inputs[0]);
  return {forward(inputs[0])};
}

std::vector<Tensor> Module::call_with_extras(std::span<const Tensor> given,
                                             const Forward& forward) const {
  const detail::HookLists hooks = extras_.get()->all_hooks();
  std::vector<Tensor> inputs(given.begin(), given.end());
  for (const auto& [id, hook] : hooks.forward_pre)
    detail::replace(inputs, hook(*this, inputs), "forward pre-hook");
  const std::shared_ptr<detail::BackwardWatch> watch = detail::BackwardWatch::of(hooks);
  if (watch) inputs = watch->inputs(std::move(inputs));
  std::vector<Tensor> outputs =
      extras_.get()->copy ? run_substituted(inputs, forward) : forward(*this, inputs);
  for (const auto& [id, hook] : hooks.forward)
    detail::replace(outputs, hook(*this, inputs, outputs), "forward hook");
  return watch ? watch->outputs(std::move(outputs)) : outputs;
}

// Forward is const, and others may be in it: a copy of the module, which shares all its tensors, gets the computed members.
std::vector<Tensor> Module::run_substituted(std::span<const Tensor> inputs,
                                            const Forward& forward) const {
  const detail::Extras& extras = *extras_.get();
  const std::unique_ptr<Module> copy = [&] {
    const detail::WithoutExtras without(&extras);
    return extras.copy(*this);
  }();
  for (const Parts::Held& held : Walk::listed(*copy).tensors_)
    if (extras.parametrizations.contains(held.name))
      *held.tensor = extras.parametrizations.at<ParametrizationList>(held.name).value();
  try {
    return forward(*copy, inputs);
  } catch (const LocatedError& error) {
    // The copy's modules are nobody's soon: name the one of the original in the same place.
    const std::optional<std::string> path = path_of(*copy, error.module);
    for (const auto& [name, module] : named_modules())
      if (path && name == *path) throw LocatedError(error, module, name, error.text);
    throw;
  }
}

}  // namespace bp::nn
