// A recorded call, as backward sees it: gradients of its results in, gradients of its inputs out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <backplane/autograd/hooks.hpp>
#include <backplane/tensor/tensor.hpp>

#include "node_memory.hpp"

namespace bp::autograd {

class Node;

// Counts its node. Graphs may be 100,000 nodes deep, so the last reference does not destroy in a
// recursion: see drop_node.
class NodeRef {
 public:
  NodeRef() = default;
  NodeRef(const NodeRef& other);
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();
  // Takes over a reference that the node was made with.
  static NodeRef adopt(Node* node) {
    NodeRef ref;
    ref.node_ = node;
    return ref;
  }
  static NodeRef share(Node* node);

  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  Node* node_ = nullptr;
};

// Where a gradient goes: result `place` of a node. Without a node: nowhere.
struct Edge {
  NodeRef node;
  std::uint32_t place = 0;
};

// What few nodes have.
struct NodeExtras {
  template <class Function> struct Hook {
    HookId id;
    std::uint32_t place;  // of the result, for hooks of tensors
    Function function;
  };
  std::vector<Hook<TensorHook>> tensor_hooks;
  std::vector<Hook<NodePreHook>> pre_hooks;
  std::vector<Hook<NodeHook>> hooks;
  std::vector<std::weak_ptr<Tensor>>
      retained;              // by result: where retain_grad keeps it, the tensor's own
  std::string forward_call;  // in anomaly mode: how it was called
};

class Node {
 public:
  explicit Node(std::uint32_t num_results) : num_results_(num_results) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // The name that errors give it: the operator's.
  virtual const char* name() const = 0;
  // Whom its results went to: one edge for each input that requires grad, in apply's order.
  virtual std::span<Edge> edges() = 0;
  // `gradients`: one for each result, undefined where nothing came back; their handles may be taken.
  // Fills `out`, one for each edge; an undefined one stands for zero.
  virtual void apply(std::span<Tensor> gradients, std::span<Tensor> out) = 0;
  // Frees what was saved; another apply throws.
  virtual void release_saved() {}
  // A leaf keeps its gradient instead of passing it on.
  virtual bool is_leaf() const { return false; }

  std::uint32_t num_results() const { return num_results_; }
  // Greater than those of all nodes that its edges lead to. Among others, later calls of a thread have
  // greater ones, so that sums are made in the same order each time.
  std::uint64_t order() const { return order_; }

  NodeExtras& extras() {
    if (!extras_) extras_ = std::make_unique<NodeExtras>();
    return *extras_;
  }
  NodeExtras* extras_or_null() const { return extras_.get(); }

  // The run of backward that has it in hand, and where that keeps what has arrived here.
  std::atomic<const void*> run{nullptr};
  std::uint32_t slot = 0;

 protected:
  virtual ~Node() = default;
  // Destroys and frees the object, whose memory may be longer than its class.
  virtual void destroy() = 0;
  // To be called by each constructor once the edges are there.
  void take_order();

 private:
  friend class NodeRef;
  friend void drop_node(Node* node) noexcept;
  std::atomic<std::uint32_t> refs_{1};
  std::uint32_t num_results_;
  union {
    std::uint64_t order_ = 0;
    Node* next_dying_;  // of a node that nobody counts
  };
  std::unique_ptr<NodeExtras> extras_;
};

// Drops one reference; what dies with it is destroyed one after the other.
void drop_node(Node* node) noexcept;

inline NodeRef::NodeRef(const NodeRef& other) : node_(other.node_) {
  if (node_) node_->refs_.fetch_add(1, std::memory_order_relaxed);
}
inline NodeRef NodeRef::share(Node* node) {
  if (node) node->refs_.fetch_add(1, std::memory_order_relaxed);
  return adopt(node);
}
inline NodeRef::~NodeRef() {
  if (node_) drop_node(node_);
}

}  // namespace bp::autograd
