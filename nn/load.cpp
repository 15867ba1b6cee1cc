// A module's values as a dict, and back.
#include <set>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/nn/lazy.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "walk.hpp"

namespace bp::nn {
namespace {

// Why the dict's values cannot be the module's; empty if they can.
std::string misfit(const std::string& name, const Tensor& own, const Tensor& given) {
  if (!given.defined()) return fmt::format("'{}' is undefined in the dict", name);
  if (given.shape() != own.shape())
    return fmt::format("'{}' has shape {} in the module and {} in the dict", name,
                       bp::to_string(own.shape()), bp::to_string(given.shape()));
  if (!can_cast(given.dtype(), own.dtype()))
    return fmt::format("'{}' is {} in the module and {} in the dict", name, bp::name(own.dtype()),
                       bp::name(given.dtype()));
  if ((own.device() == meta_device) != (given.device() == meta_device))
    return fmt::format("'{}' is on {} in the module and on {} in the dict, and meta has no values",
                       name, device_name(own.device()), device_name(given.device()));
  return {};
}

void list(std::string& text, const char* title, const std::vector<std::string>& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : fmt::format("\n  {}: ", title), all[i]);
}

}  // namespace

StateDict Module::state_dict() const {
  StateDict dict;
  Walk(*this).modules(
      [&](const std::string& prefix, const Module& module, const Walk::Tensors& all) {
        for (const auto& [id, hook] : detail::Extras::hooks_of(module).state_dict_pre)
          hook(module, prefix);
        for (const Parts::Held& held : all)
          if (held.tensor->defined() && held.persistent)
            dict.set(prefix + held.name, detach(*held.tensor));
      },
      [&](const std::string& prefix, const Module& module) {
        for (const auto& [id, hook] : detail::Extras::hooks_of(module).state_dict_post)
          hook(module, dict, prefix);
      });
  return dict;
}

IncompatibleKeys Module::load_state_dict(const StateDict& given_dict, bool strict) {
  StateDict dict = given_dict;
  Walk(*this).modules([&](const std::string& prefix, const Module& module, const Walk::Tensors&) {
    for (const auto& [id, hook] : detail::Extras::hooks_of(module).load_state_dict_pre)
      hook(module, dict, prefix);
  });
  IncompatibleKeys keys;
  std::vector<std::string> misfits;
  std::vector<std::pair<Tensor, Tensor>> writes;
  std::set<std::string> known;
  detail::Materializing::Candidates lazy;
  const auto match = [&](const std::string& name, const Parts::Held& held) {
    if (!held.persistent || !held.tensor->defined()) return;
    known.insert(name);
    if (!dict.contains(name)) return keys.missing.push_back(name);
    const Tensor& given = dict.at(name);
    if (std::string why = misfit(name, *held.tensor, given); !why.empty())
      return misfits.push_back(std::move(why));
    writes.emplace_back(*held.tensor, given);
  };
  Walk(*this).modules([&](const std::string& prefix, Module& module, const Walk::Tensors&) {
    Module& loaded = detail::Materializing::loaded(module, prefix, dict, lazy);
    for (const Parts::Held& held : Walk::parts_of(loaded).tensors_) match(prefix + held.name, held);
  });
  for (const auto& [name, tensor] : dict)
    if (!known.contains(name)) keys.unexpected.push_back(name);

  std::string text;
  list(text, "differ", misfits);
  if (strict) {
    list(text, "missing in the dict", keys.missing);
    list(text, "unknown to the module", keys.unexpected);
  }
  BP_CHECK(text.empty(),
           "load_state_dict: the dict does not fit the module, and nothing was loaded; load that "
           "of a module with the same parts, or pass strict = false to allow other names{}",
           text);
  const NoGrad no_grad;
  for (const auto& [own, given] : writes) copy_(own, given);
  detail::Materializing::adopt(lazy);
  return keys;
}

}  // namespace bp::nn
