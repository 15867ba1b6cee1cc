// Modules that go to another device or dtype, or are copied.
#include <map>
#include <set>
#include <typeinfo>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/nn/lazy.hpp>
#include <backplane/tensor/check.hpp>

#include "walk.hpp"

namespace bp::nn {
namespace {

// What a tensor of `own` becomes if the module is to be `wanted`.
Dtype moved_dtype(const std::string& name, Dtype own, Dtype wanted) {
  BP_CHECK(!is_complex(own) || is_complex(wanted),
           "Module::to: '{}' is {} and would lose its imaginary part as {}; pass a complex dtype",
           name, bp::name(own), bp::name(wanted));
  return is_floating(own) || is_complex(own) ? wanted : own;
}

// The tensor stays the one that it is. `move` returns its argument if that is well as it is.
template <class Move> void move_tensor(const Tensor& tensor, const Move& move) {
  const Tensor moved = move(tensor);
  const Tensor gradient = grad(tensor);
  const Tensor moved_gradient = gradient.defined() ? detach(move(gradient)) : Tensor();
  if (moved.is_same(tensor)) return;
  if (!gradient.defined()) return set_data(tensor, moved);
  set_grad(tensor, {});  // it does not fit for a moment
  set_data(tensor, moved);
  set_grad(tensor, moved_gradient);
}

Tensor cloned(const Tensor& tensor) {
  Tensor made = detach(bp::clone(tensor));  // an ordinary tensor in inference mode, too
  if (!requires_grad(tensor)) return made;
  set_requires_grad(made);
  if (const Tensor gradient = is_leaf(tensor) ? grad(tensor) : Tensor(); gradient.defined())
    set_grad(made, detach(bp::clone(gradient)));
  return made;
}

}  // namespace

void Module::to(Device device) {
  move_to(&device, nullptr);
}

void Module::to(Dtype dtype) {
  move_to(nullptr, &dtype);
}

void Module::to(Device device, Dtype dtype) {
  move_to(&device, &dtype);
}

void Module::move_to(const Device* device, const Dtype* dtype) {
  if (dtype) check_is_dtype("Module::to", *dtype);
  BP_CHECK(!dtype || is_floating(*dtype) || is_complex(*dtype),
           "Module::to: {} is not a dtype for parameters; pass a floating-point or complex one",
           bp::name(*dtype));
  struct Move {
    Tensor tensor;
    Device device;
    Dtype dtype;
  };
  std::vector<Move> moves;
  Walk(*this).tensors([&](const std::string& name, const Parts::Held& held) {
    const Tensor& tensor = *held.tensor;
    moves.push_back({tensor, device ? *device : tensor.device(),
                     dtype ? moved_dtype(name, tensor.dtype(), *dtype) : tensor.dtype()});
  });
  const NoGrad no_grad;
  for (const Move& move : moves)
    move_tensor(move.tensor,
                [&](const Tensor& one) { return bp::to(one, move.device, move.dtype); });
  Walk(*this).modules([&](const std::string&, Module& module, const Walk::Tensors&) {
    detail::Materializing::remember(module, device, dtype);
  });
}

void Module::to(MemoryFormat format) {
  std::vector<Tensor> images;
  Walk(*this).tensors([&](const std::string&, const Parts::Held& held) {
    if (held.tensor->ndim() == 4) images.push_back(*held.tensor);
  });
  const NoGrad no_grad;
  for (const Tensor& each : images)
    move_tensor(each, [&](const Tensor& one) { return contiguous(one, format); });
}

void Module::stop_sharing_with(const Module& original) {
  BP_CHECK(typeid(*this) == typeid(original),
           "clone: called with a base of the module's type, which copies a part of it; pass the "
           "module as what it is");
  std::set<const Module*> theirs;
  Walk(original).modules([&](const std::string&, const Module& module, const Walk::Tensors&) {
    theirs.insert(&module);
  });
  std::vector<Tensor*> members;
  Walk(*this).modules([&](const std::string& prefix, Module& module, const Walk::Tensors& all) {
    BP_CHECK(!theirs.contains(&module),
             "clone: a copy of the module shares '{}' with the original; hold modules as members "
             "or as AnyModule, not by pointer",
             prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1));
    for (const Parts::Held& held : all)
      if (held.tensor->defined()) members.push_back(held.tensor);
  });
  const NoGrad no_grad;
  std::map<const TensorImpl*, Tensor> clones;
  for (Tensor* member : members)
    if (const auto [place, is_new] = clones.try_emplace(member->impl()); is_new)
      place->second = cloned(*member);
  // One member may be listed twice, and has its clone then already.
  for (Tensor* member : members)
    if (const auto place = clones.find(member->impl()); place != clones.end())
      *member = place->second;
}

}  // namespace bp::nn
