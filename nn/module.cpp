#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

// Calls visit(name, parameter) for all that are there.
template <class Visit> void Module::visit(const std::string& prefix, const Visit& visit) const {
  for (const auto& [name, parameter] : parameters_)
    if (parameter->defined()) visit(prefix + name, *parameter);
  for (const auto& [name, module] : modules_) module->visit(prefix + name + ".", visit);
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  visit("", [&](const std::string&, const Tensor& parameter) { all.push_back(parameter); });
  return all;
}

std::vector<std::pair<std::string, Tensor>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  visit("", [&](const std::string& name, const Tensor& parameter) {
    all.emplace_back(name, parameter);
  });
  return all;
}

std::int64_t Module::num_parameters() const {
  std::int64_t count = 0;
  visit("", [&](const std::string&, const Tensor& parameter) { count += parameter.numel(); });
  return count;
}

void Module::zero_grad() {
  visit("", [](const std::string&, const Tensor& parameter) { set_grad(parameter, {}); });
}

void Module::to(Device device) {
  visit("", [&](const std::string&, Tensor& parameter) {
    if (parameter.device() == device) return;
    const bool wants_gradient = requires_grad(parameter);
    parameter = bp::to(detach(parameter), device);
    set_requires_grad(parameter, wants_gradient);
  });
}

void Module::check_name(const std::string& name) const {
  const auto is_same = [&](const auto& entry) { return entry.first == name; };
  BP_CHECK(std::none_of(parameters_.begin(), parameters_.end(), is_same) &&
               std::none_of(modules_.begin(), modules_.end(), is_same),
           "a module has a part named '{}' already; give each a name of its own", name);
  BP_CHECK(!name.empty() && name.find('.') == std::string::npos,
           "'{}' cannot name a part of a module; a name is not empty and has no dot", name);
}

void Module::register_parameter(std::string name, Tensor& member) {
  check_name(name);
  if (member.defined()) set_requires_grad(member);
  parameters_.emplace_back(std::move(name), &member);
}

void Module::register_module(std::string name, Module& member) {
  check_name(name);
  modules_.emplace_back(std::move(name), &member);
}

}  // namespace bp::nn
