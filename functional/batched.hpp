// Tensors of a batch: what calls see of them is one element, what the level keeps is the whole.
#pragma once

#include <deque>
#include <vector>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/level.hpp>

namespace bp::functional {

// One run of vmap.
struct BatchState {
  std::int64_t size;
  std::uint64_t keys_outside;  // of new tensors: inside, these carry vmap's key besides
};
inline const BatchState& state_of(const Level& level) {
  return *static_cast<const BatchState*>(level.state());
}

// What this thread's new tensors carry while it lives.
class NewTensorKeys {
 public:
  explicit NewTensorKeys(std::uint64_t keys) : before_(thread_state().new_tensor_keys) {
    thread_state().new_tensor_keys = keys;
  }
  ~NewTensorKeys() { thread_state().new_tensor_keys = before_; }
  NewTensorKeys(const NewTensorKeys&) = delete;
  NewTensorKeys& operator=(const NewTensorKeys&) = delete;

 private:
  const std::uint64_t before_;
};
inline std::uint64_t keys_inside(const BatchState& state) {
  return state.keys_outside | key_of(Layer::vmap);
}

// A tensor with the shape of one element, for all of them: `whole` has the batch as dimension 0. Only calls that the level
// takes can compute with it.
Tensor batched(const Level& level, const Tensor& whole);
// The whole of a tensor of the batch, or of a view of one; undefined for others.
Tensor whole_of(const Level& level, const Tensor& tensor);

// `tensor` with dimensions of size 1 behind the first `behind` ones, so that it has `rank` of them; itself if it has as many.
Tensor with_rank(const Tensor& tensor, std::int64_t rank, std::int64_t behind);
// A tensor that all elements share, once for each of them, without a copy.
Tensor repeated(const Tensor& tensor, std::int64_t times);

// A tensor among a call's arguments, one of a list's among them.
struct Operand {
  std::uint32_t place;  // of the argument
  Tensor tensor;        // the whole if it is batched; undefined for a hole
  bool batched;

  // Of one element.
  std::int64_t ndim() const { return tensor.ndim() - batched; }
  Tensor shape_alone() const;  // on meta
};

// A call's arguments, open to change: its tensors, and copies of its numbers and lists.
class BatchedCall {
 public:
  BatchedCall(const Call& call, const Level& level);
  BatchedCall(const BatchedCall&) = delete;
  BatchedCall& operator=(const BatchedCall&) = delete;

  const Call& call() const { return call_; }
  const Level& level() const { return level_; }
  std::int64_t size() const { return state_of(level_).size; }
  std::vector<Operand>& operands() { return operands_; }
  // Has one of the call's tensors a batch?
  bool is_batched() const;
  bp_value& value(std::uint32_t place) { return values_[place]; }
  void set_list(std::uint32_t place, std::vector<std::int64_t> list);

  // The arguments with other tensors: `replace` tells each operand's. Valid until the next call of this function.
  template <class F> std::vector<bp_value> arguments(F&& replace) {
    kept_.clear();
    for (const Operand& operand : operands_)
      kept_.push_back(operand.tensor.defined() ? replace(operand) : Tensor());
    return arguments_of_kept();
  }
  // The call as it is, which concerns no tensor of the batch.
  void run_unbatched();
  // What the operator gives for the arguments as they are now.
  std::vector<Tensor> run();
  // What one element's call gives, as shapes and dtypes alone. Throws where these depend on data.
  std::vector<Tensor> shapes();
  // Hands results over that lead with the batch, or with a size of 1 where all elements share them.
  void deliver(const std::vector<Tensor>& wholes);

 private:
  std::vector<bp_value> arguments_of_kept();

  const Call& call_;
  const Level& level_;
  std::vector<bp_value> values_;
  std::vector<Operand> operands_;
  std::vector<Tensor> kept_;
  std::deque<std::vector<std::int64_t>> lists_;
  std::deque<std::vector<const bp_tensor*>> tensor_lists_;
};

// The whole of a tensor that the call writes to. One that all elements share joins the batch. Throws bad_argument where it was
// not made inside the run: others would see it change.
Tensor whole_to_write(const BatchedCall& of, const Tensor& tensor);

// The layer's handler.
void call_batched(const Call& call, const Level* level);

}  // namespace bp::functional
