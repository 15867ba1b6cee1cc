// Going through a module and all that it holds.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <backplane/nn/module.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

struct Module::Walk {
  using Tensors = std::vector<Parts::Held>;
  using Modules = std::vector<std::pair<std::string, Module*>>;

  // Listing the parts changes nothing, and who asks through a const module changes none of them.
  explicit Walk(const Module& root) : root_(const_cast<Module&>(root)) {}

  // Calls visit(prefix, module, tensors) for each module before those that it holds, one that is held twice twice. The
  // prefix is "" or ends with a dot.
  template <class Visit> void modules(const Visit& visit) { go("", root_, visit); }

  // Calls visit(name, tensor), as Parts::Held has it, for all that are there.
  template <class Visit> void tensors(const Visit& visit) {
    modules([&](const std::string& prefix, Module&, const Tensors& all) {
      for (const Parts::Held& held : all)
        if (held.tensor->defined()) visit(prefix + held.name, held);
    });
  }

  static Modules children(const Module& module) {
    Parts parts;
    const_cast<Module&>(module).list_parts(parts);
    return std::move(parts.modules_);
  }

 private:
  template <class Visit> void go(const std::string& prefix, Module& module, const Visit& visit) {
    BP_CHECK(std::find(above_.begin(), above_.end(), &module) == above_.end(),
             "a module holds itself, as '{}'; let it list other modules only", prefix);
    Parts parts;
    module.list_parts(parts);
    visit(prefix, module, parts.tensors_);
    above_.push_back(&module);
    for (const auto& [name, child] : parts.modules_) go(prefix + name + ".", *child, visit);
    above_.pop_back();
  }

  Module& root_;
  std::vector<const Module*> above_;
};

}  // namespace bp::nn
