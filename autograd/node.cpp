#include "node.hpp"

#include <algorithm>

namespace bp::autograd {
namespace {

// What this thread is destroying. Plain data: nodes are dropped while a thread ends, too.
struct Dying {
  Node* first;
  bool draining;
};
constinit thread_local Dying dying{};
constinit thread_local std::uint32_t last_serial = 0;

}  // namespace

// Depth first, then the thread's serial number: no counter is shared by threads.
void Node::take_order() {
  std::uint64_t depth = 0;
  for (const Edge& edge : edges())
    if (edge.node) depth = std::max(depth, (edge.node->order_ >> 32) + 1);
  order_ = depth << 32 | ++last_serial;
}

void drop_node(Node* node) noexcept {
  if (node->refs_.load(std::memory_order_acquire) != 1 &&
      node->refs_.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  node->next_dying_ = dying.first;
  dying.first = node;
  if (dying.draining) return;
  dying.draining = true;
  while (Node* next = dying.first) {
    dying.first = next->next_dying_;
    next->destroy();
  }
  dying.draining = false;
}

}  // namespace bp::autograd
