// The pointwise part of a rule as one operator, so that backward reads and writes each element once and holds nothing
// in between. The generator writes the tables of steps.
#pragma once

#include <atomic>
#include <span>
#include <type_traits>
#include <utility>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/chain.hpp>

namespace bp::autograd {

constexpr ChainInput input(std::uint32_t index) {
  return ChainInput::argument(index);
}
constexpr ChainInput earlier(std::uint32_t index) {
  return ChainInput::step(index);
}
constexpr ChainInput number(const Scalar& value) {
  return ChainInput::number(value);
}

// An argument that nobody reads afterwards: the result may take its memory if no other handle shows it.
struct Spent {
  Tensor tensor;
};
inline Spent spent(Tensor& tensor) {
  return {std::move(tensor)};
}
inline bp_value value_of(const Spent& argument) {
  return bp::value_of(argument.tensor);
}
using bp::value_of;

struct JointStep {
  Operator* op;
  ChainInput inputs[3];
  std::uint32_t num_inputs;
};

// Threads: any may call it.
class Joint {
 public:
  constexpr explicit Joint(std::span<const JointStep> steps) : steps_(steps) {}

  // Tensors, and numbers where a step takes one. As one kernel where the device has one for them, else step by step,
  // which also is how a derivative is recorded.
  template <class... Inputs> Tensor operator()(const Inputs&... inputs) {
    bp_value args[] = {value_of(inputs)...};
    std::uint32_t num_given = 0, are_spent = 0;
    ((are_spent |= std::uint32_t{std::is_same_v<Inputs, Spent>} << num_given++), ...);
    return call(args, are_spent);
  }

 private:
  Tensor call(std::span<bp_value> args, std::uint32_t are_spent);
  Chain join_for(std::span<const bp_value> args) const;

  std::span<const JointStep> steps_;
  // Made when first used, and held as long as the process. Of tensors alone, and with numbers: a rule has them in the same
  // places each time.
  std::atomic<const Chain*> of_tensors_{nullptr}, with_numbers_{nullptr};
};

}  // namespace bp::autograd
