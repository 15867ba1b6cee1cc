// What a module is made of, and its modes.
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <set>
#include <typeinfo>

#include <backplane/autograd/autograd.hpp>
#include <backplane/nn/lazy.hpp>
#include <backplane/tensor/check.hpp>

#include "type_names.hpp"
#include "walk.hpp"

namespace bp::nn {
namespace {

std::vector<Tensor> without_names(const std::vector<std::pair<std::string, Tensor>>& named) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

std::string readable_type_name(const std::type_info& type) {
  const char* name = type.name();
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(name, nullptr, nullptr, nullptr), std::free);
  const std::string whole = readable ? readable.get() : name;
  // Without namespaces, also where a parameter of a template has some.
  return whole.substr(whole.substr(0, whole.find('<')).rfind(':') + 1);
}

Parameter::Parameter(const Tensor& data, bool requires_grad) : Tensor(detach(data)) {
  if (requires_grad) set_requires_grad(*this);
}

void Parts::check_name(const std::string& name) {
  BP_CHECK(names_.insert(name).second, "a module has two parts named '{}'; give each its own name",
           name);
  BP_CHECK(!name.empty() && name.find('.') == std::string::npos,
           "'{}' cannot name a part of a module; a name is not empty and has no dot", name);
}

void Parts::parameter(std::string name, Parameter& member) {
  check_name(name);
  tensors_.push_back({std::move(name), &member, true, true});
}

void Parts::buffer(std::string name, Tensor& member, bool persistent) {
  check_name(name);
  tensors_.push_back({std::move(name), &member, false, persistent});
}

void Parts::module(std::string name, Module& member) {
  check_name(name);
  modules_.emplace_back(std::move(name), &member);
}

void Module::list_parts(Parts&) {}

std::string Module::type_name() const {
  return readable_type_name(typeid(*this));
}

Tensor Module::forward(const Tensor&) const {
  throw_error(ErrorClass::unsupported,
              fmt::format("forward: {} has none for one tensor; override forward, or call the one "
                          "that the module has with its own arguments",
                          type_name()));
}

std::vector<std::pair<std::string, Tensor>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  std::set<const TensorImpl*> seen;
  Walk(*this).tensors([&](const std::string& name, const Parts::Held& held) {
    if (held.is_parameter && seen.insert(held.tensor->impl()).second)
      all.emplace_back(name, *held.tensor);
  });
  return all;
}

std::vector<Tensor> Module::parameters() const {
  return without_names(named_parameters());
}

std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  std::vector<std::pair<std::string, Tensor>> all;
  std::set<const TensorImpl*> seen;
  Walk(*this).tensors([&](const std::string& name, const Parts::Held& held) {
    if (!held.is_parameter && seen.insert(held.tensor->impl()).second)
      all.emplace_back(name, *held.tensor);
  });
  return all;
}

std::vector<Tensor> Module::buffers() const {
  return without_names(named_buffers());
}

std::int64_t Module::num_parameters() const {
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> all;
  std::set<const Module*> seen;
  Walk(*this).modules([&](const std::string& prefix, Module& module, const Walk::Tensors&) {
    if (seen.insert(&module).second)
      all.emplace_back(prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1), &module);
  });
  return all;
}

std::vector<std::pair<std::string, const Module*>> Module::named_modules() const {
  const auto all = const_cast<Module*>(this)->named_modules();
  return {all.begin(), all.end()};
}

std::vector<std::pair<std::string, Module*>> Module::named_children() {
  return Walk::children(*this);
}

std::vector<std::pair<std::string, const Module*>> Module::named_children() const {
  const auto children = Walk::children(*this);
  return {children.begin(), children.end()};
}

void Module::apply(const std::function<void(Module&)>& visit) {
  std::set<const Module*> seen;
  Walk(*this).modules([](const std::string&, Module&, const Walk::Tensors&) {},
                      [&](const std::string&, Module& module) {
                        if (seen.insert(&module).second) visit(module);
                      });
}

void Module::train(bool mode) {
  Walk(*this).modules(
      [&](const std::string&, Module& module, const Walk::Tensors&) { module.training_ = mode; });
}

void Module::requires_grad_(bool wanted) {
  for (const Tensor& parameter : parameters()) set_requires_grad(parameter, wanted);
  Walk(*this).modules([&](const std::string&, Module& module, const Walk::Tensors&) {
    detail::Materializing::remember_grad(module, wanted);
  });
}

void Module::zero_grad() {
  for (const Tensor& parameter : parameters())
    if (requires_grad(parameter)) set_grad(parameter, {});
}

}  // namespace bp::nn
