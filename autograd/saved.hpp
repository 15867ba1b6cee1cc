// A tensor that a node keeps for its way back: as it is, or as the application's hooks pack it.
#pragma once

#include <memory>
#include <string>

#include "modes.hpp"
#include "variable.hpp"

namespace bp::autograd {

class Saved {
 public:
  Saved() = default;
  // An argument, with its edge.
  static Saved argument(Tensor tensor) {
    if (modes.saved_hooks) [[unlikely]]
      return packed(tensor, edge_of(tensor));
    const std::uint32_t version = tensor.version();
    const Edge& edge = edge_of(tensor);
    if (edge.node && edge.node->is_leaf()) return {std::move(tensor), version};
    return {with_present_edge(tensor, edge), version};
  }
  // One of the node's own results: without its edge, which would make a circle.
  static Saved result(const Tensor& tensor) {
    if (modes.saved_hooks) [[unlikely]]
      return packed(tensor, {});
    return {alias_of(tensor), tensor.version()};
  }
  // Shape, dtype and device alone.
  static Saved shape(const TensorImpl& impl) { return {shape_only(impl), 0}; }

  // Right to ask for shape, dtype and device; undefined if nothing is kept.
  const Tensor& like() const { return tensor_; }
  // The values. Throws bad_argument, naming the node and `what`, if they were written since.
  template <class What> Tensor get(const char* node, const What& what) const {
    if (tensor_.defined() && tensor_.version() != version_) [[unlikely]]
      fail_version(node, what());
    return packed_ ? unpacked(node) : tensor_;
  }

 private:
  struct Packed {
    std::any content;
    std::shared_ptr<const SavedTensorHooks::Functions> functions;
    Edge edge;
  };
  Saved(Tensor tensor, std::uint32_t version) : tensor_(std::move(tensor)), version_(version) {}
  static Saved packed(const Tensor& tensor, Edge edge);
  Tensor unpacked(const char* node) const;
  [[noreturn]] void fail_version(const char* node, const std::string& what) const;

  Tensor tensor_;  // only its shape, if it is packed
  std::uint32_t version_ = 0;
  std::unique_ptr<Packed> packed_;
};

}  // namespace bp::autograd
