#include "saved.hpp"

#include <fmt/format.h>

#include <backplane/autograd/autograd.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::autograd {
constinit thread_local Modes modes{};

Saved Saved::packed(const Tensor& tensor, Edge edge) {
  const std::shared_ptr<const SavedTensorHooks::Functions> functions = *modes.saved_hooks;
  const NoGrad not_recorded;
  Saved saved(shape_only(tensor), 0);
  saved.packed_ = std::make_unique<Packed>();
  saved.packed_->content = functions->pack(alias_of(tensor));
  saved.packed_->functions = functions;
  saved.packed_->edge = std::move(edge);
  return saved;
}

Tensor Saved::unpacked(const char* node) const {
  Tensor tensor;
  {
    const NoGrad not_recorded;
    tensor = packed_->functions->unpack(packed_->content);
  }
  BP_CHECK(tensor.defined(),
           "backward through {}: the hook unpacked no tensor, and {} was packed; return that", node,
           described(tensor_));
  BP_CHECK(tensor.shape() == tensor_.shape() && tensor.dtype() == tensor_.dtype() &&
               tensor.device() == tensor_.device(),
           "backward through {}: the hook unpacked {}, and {} was packed; return that", node,
           described(tensor), described(tensor_));
  tensor = alias_of(tensor);
  if (packed_->edge.node && is_grad_enabled()) set_edge(*tensor.impl(), packed_->edge);
  return tensor;
}

void Saved::fail_version(const char* node, const std::string& what) const {
  throw_error(ErrorClass::bad_argument,
              fmt::format("backward through {}: {}, shape {}, was written in place after the call: "
                          "it is at version {}, and version {} is needed; write to a copy of it",
                          node, what, to_string(tensor_.shape()), tensor_.version(), version_));
}

SavedTensorHooks::SavedTensorHooks(Pack pack, Unpack unpack) : before_(modes.saved_hooks) {
  BP_CHECK(pack && unpack, "SavedTensorHooks: a function is empty; give both pack and unpack");
  functions_ = std::make_shared<const Functions>(Functions{std::move(pack), std::move(unpack)});
  modes.saved_hooks = &functions_;
}

SavedTensorHooks::~SavedTensorHooks() {
  modes.saved_hooks = before_;
}

}  // namespace bp::autograd
