// Going through a module and all that it holds.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <backplane/nn/parametrize.hpp>
#include <backplane/tensor/check.hpp>

#include "extras.hpp"

namespace bp::nn {

struct Module::Walk {
  using Tensors = std::vector<Parts::Held>;
  using Modules = std::vector<std::pair<std::string, Module*>>;

  // Listing the parts changes nothing, and who asks through a const module changes none of them.
  explicit Walk(const Module& root) : root_(const_cast<Module&>(root)) {}

  // Calls visit(prefix, module, tensors) for each module before those that it holds, and leave(prefix, module) after them;
  // one that is held twice comes twice. The prefix is "" or ends with a dot.
  template <class Visit> void modules(const Visit& visit) {
    go("", root_, visit, [](const std::string&, Module&) {});
  }
  template <class Visit, class Leave> void modules(const Visit& visit, const Leave& leave) {
    go("", root_, visit, leave);
  }

  // Calls visit(name, tensor), as Parts::Held has it, for all that are there.
  template <class Visit> void tensors(const Visit& visit) {
    modules([&](const std::string& prefix, Module&, const Tensors& all) {
      for (const Parts::Held& held : all)
        if (held.tensor->defined()) visit(prefix + held.name, held);
    });
  }

  static Modules children(const Module& module) { return std::move(parts_of(module).modules_); }

  // What the module itself lists.
  static Parts listed(const Module& module) {
    Parts parts;
    const_cast<Module&>(module).list_parts(parts);
    return parts;
  }

  // The same, with what computes them in place of parametrized members.
  static Parts parts_of(const Module& module) {
    Parts parts = listed(module);
    const auto& extras = module.extras_.get();
    if (!extras || !extras->copy) return parts;
    std::erase_if(parts.tensors_, [&](const Parts::Held& held) {
      return extras->parametrizations.contains(held.name);
    });
    parts.module("parametrizations", extras->parametrizations);
    return parts;
  }

 private:
  template <class Visit, class Leave>
  void go(const std::string& prefix, Module& module, const Visit& visit, const Leave& leave) {
    BP_CHECK(std::find(above_.begin(), above_.end(), &module) == above_.end(),
             "a module holds itself, as '{}'; let it list other modules only",
             prefix.substr(0, prefix.size() - 1));
    const Parts parts = parts_of(module);
    visit(prefix, module, parts.tensors_);
    above_.push_back(&module);
    for (const auto& [name, child] : parts.modules_) go(prefix + name + ".", *child, visit, leave);
    above_.pop_back();
    leave(prefix, module);
  }

  Module& root_;
  std::vector<const Module*> above_;
};

}  // namespace bp::nn
