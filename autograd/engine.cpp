#include "engine.hpp"

#include <algorithm>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include <backplane/core_ops/generated/pointwise.hpp>

#include "anomaly.hpp"
#include "hooks.hpp"
#include "modes.hpp"
#include "variable.hpp"

namespace bp::autograd {
namespace {

// A node that waits for its turn, with the gradients by its results so far.
struct Waiting {
  NodeRef node;
  std::vector<Tensor> gradients;
};

// In which order nodes have their turn: the greatest first. The address comes last, so that no two are
// equal: see wait_for_others.
struct Turn {
  std::uint64_t order;
  Node* node;
  std::uint32_t slot;
  bool operator<(const Turn& other) const {
    return order != other.order ? order < other.order : std::less<>()(node, other.node);
  }
};

// Are the derivative's own calls recorded, whatever the caller's calls are? They compute in the dtypes of forward, whether
// or not the caller's arguments are cast.
class GradScope {
 public:
  explicit GradScope(bool recorded) : before_(thread_state().excluded_layers) {
    thread_state().excluded_layers =
        (recorded ? before_ & ~autograd_key : before_ | autograd_key) | key_of(Layer::autocast);
  }
  ~GradScope() { thread_state().excluded_layers = before_; }
  GradScope(const GradScope&) = delete;
  GradScope& operator=(const GradScope&) = delete;

 private:
  std::uint64_t before_;
};

class Run {
 public:
  Run(const BackwardOptions& options, std::span<const Edge> inputs)
      : keeps_(options.retain_graph.value_or(options.create_graph)), inputs_(inputs),
        found_(inputs.size()), outer_(std::exchange(innermost, this)) {}
  // After an error: nodes that had no turn are free for others again.
  ~Run() {
    for (Waiting& waiting : slots_)
      if (waiting.node) leave(*waiting.node.get());
    innermost = outer_;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Finds what lies on a way from the roots to the chosen inputs.
  void find_needed(std::span<const Edge> roots);
  void arrive(const Edge& edge, Tensor gradient);
  void run();
  std::vector<Tensor> take_found() { return std::move(found_); }

 private:
  static bool is_of_this_thread(const void* run) {
    const Run* known = innermost;
    while (known && known != run) known = known->outer_;
    return known != nullptr;
  }
  bool is_needed(Node* node) const {
    return inputs_.empty() || wanted_.contains(node) || passed_.contains(node);
  }
  Waiting& waiting_for(Node& node);
  std::uint32_t take_slot(Node& node);
  void leave(Node& node);
  void wait_for_others(Node& node);
  void take_turn(Node& node, std::span<Tensor> gradients);
  void pick_found(Node& node, std::span<const Tensor> gradients);

  bool keeps_;
  std::span<const Edge> inputs_;
  std::vector<Tensor> found_;
  std::unordered_set<Node*> wanted_, passed_;  // the inputs' nodes, and those with a way to them
  std::vector<Turn> heap_;
  std::vector<Waiting> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::unordered_map<Node*, std::uint32_t> shared_;  // slots of nodes that another run has in hand
  std::vector<Tensor> outgoing_;
  const Run* outer_;  // which called this one from a hook or a custom function
  static constinit thread_local const Run* innermost;
};
constinit thread_local const Run* Run::innermost = nullptr;

// Depth first without recursion; a node is on the way if one of its inputs is, so it is looked at again
// once all of these are known.
void Run::find_needed(std::span<const Edge> roots) {
  std::unordered_set<Node*> seen;
  std::vector<std::pair<Node*, bool>> stack;  // and whether its inputs are known
  for (const Edge& input : inputs_) wanted_.insert(input.node.get());
  for (const Edge& root : roots) stack.emplace_back(root.node.get(), false);
  while (!stack.empty()) {
    const auto [node, known] = stack.back();
    stack.pop_back();
    if (!known && !seen.insert(node).second) continue;
    if (!known) stack.emplace_back(node, true);
    for (const Edge& edge : node->edges()) {
      if (!edge.node) continue;
      if (!known)
        stack.emplace_back(edge.node.get(), false);
      else if (is_needed(edge.node.get()))
        passed_.insert(node);
    }
  }
}

std::uint32_t Run::take_slot(Node& node) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot].gradients.resize(node.num_results());
  heap_.push_back({node.order(), &node, slot});
  std::push_heap(heap_.begin(), heap_.end());
  slots_[slot].node = NodeRef::share(&node);
  return slot;
}

// The node itself remembers its slot, unless another thread goes back through it just now.
Waiting& Run::waiting_for(Node& node) {
  const void* owner = node.run.load(std::memory_order_acquire);
  if (owner == this) return slots_[node.slot];
  if (!shared_.empty())
    if (const auto found = shared_.find(&node); found != shared_.end())
      return slots_[found->second];
  const std::uint32_t slot = take_slot(node);
  if (!owner && node.run.compare_exchange_strong(owner, this, std::memory_order_acquire))
    node.slot = slot;
  else
    shared_.emplace(&node, slot);
  return slots_[slot];
}

void Run::leave(Node& node) {
  if (shared_.empty() || shared_.erase(&node) == 0)
    node.run.store(nullptr, std::memory_order_release);
}

// One thread at a time applies a node, which may free what it saved. No two wait for each other: a run
// that waits here has nothing in hand but nodes of later turns. Leaves look after themselves.
void Run::wait_for_others(Node& node) {
  if (shared_.empty() || node.is_leaf() || !shared_.contains(&node)) return;
  const void* owner = nullptr;
  while (!node.run.compare_exchange_weak(owner, this, std::memory_order_acquire)) {
    if (is_of_this_thread(owner)) return;
    owner = nullptr;
    std::this_thread::yield();
  }
  shared_.erase(&node);
}

void Run::arrive(const Edge& edge, Tensor gradient) {
  if (!edge.node || !gradient.defined() || !is_needed(edge.node.get())) return;
  accumulate(waiting_for(*edge.node.get()).gradients[edge.place], std::move(gradient));
}

void Run::run() {
  while (!heap_.empty()) {
    const Turn turn = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    wait_for_others(*turn.node);
    take_turn(*turn.node, slots_[turn.slot].gradients);
    // What is written here is read by nobody: the slot is free before anything else arrives.
    for (Tensor& gradient : slots_[turn.slot].gradients) gradient = {};
    leave(*turn.node);
    const NodeRef node = std::move(slots_[turn.slot].node);
    free_slots_.push_back(turn.slot);
    const std::span<Edge> edges = node->edges();
    for (std::size_t i = 0; i < outgoing_.size(); ++i) arrive(edges[i], std::move(outgoing_[i]));
  }
}

void Run::pick_found(Node& node, std::span<const Tensor> gradients) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].node.get() != &node) continue;
    found_[i] = gradients[inputs_[i].place];
    if (node.is_leaf() && found_[i].defined()) static_cast<Leaf&>(node).check_fits(found_[i]);
  }
}

// Leaves the gradients by the node's inputs in outgoing_.
void Run::take_turn(Node& node, std::span<Tensor> gradients) {
  outgoing_.clear();
  if (node.extras_or_null()) call_tensor_hooks(node, gradients);
  if (!inputs_.empty()) {
    pick_found(node, gradients);
    if (!passed_.contains(&node)) return;
  }
  if (node.extras_or_null()) call_pre_hooks(node, gradients);
  outgoing_.resize(node.edges().size());
  std::vector<Tensor> shown;  // to node hooks, since rules may take the gradients
  const NodeExtras* extras = node.extras_or_null();
  if (extras && !extras->hooks.empty()) shown.assign(gradients.begin(), gradients.end());
  if (modes.anomaly_depth) [[unlikely]]
    apply_watched(node, gradients, outgoing_);
  else
    node.apply(gradients, outgoing_);
  if (!keeps_) node.release_saved();
  if (node.extras_or_null()) call_node_hooks(node, outgoing_, shown);
}

}  // namespace

void accumulate(Tensor& sum, Tensor gradient) {
  if (!sum.defined())
    sum = std::move(gradient);
  else if (is_alone(sum) && !is_grad_enabled())
    add_(sum, gradient);
  else
    sum = add(sum, gradient);
}

std::vector<Tensor> go_back(std::span<const Edge> roots, std::span<const Tensor> gradients,
                            std::span<const Edge> inputs, const BackwardOptions& options) {
  const GradScope scope(options.create_graph);
  Run run(options, inputs);
  if (!inputs.empty()) run.find_needed(roots);
  for (std::size_t i = 0; i < roots.size(); ++i) run.arrive(roots[i], gradients[i]);
  run.run();
  return run.take_found();
}

}  // namespace bp::autograd
