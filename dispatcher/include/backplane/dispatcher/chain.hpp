// Joins a chain of pointwise operators into one operator: each element is read once, goes through all steps, and is
// written once. Backends that make kernels for expressions (bp.program, bp.compiler) run it as one kernel; on all
// others the steps run one by one.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {

// Where an argument of a step comes from.
struct ChainInput {
  enum class From : std::uint8_t { argument, step, number, number_argument };

  // Argument `index` of the joined operator: a tensor if the step takes one here, else a number. Several inputs may name
  // the same argument.
  static constexpr ChainInput argument(std::uint32_t index) { return {From::argument, index, {}}; }
  // The same, but a number even if the step would also take a tensor.
  static constexpr ChainInput number_argument(std::uint32_t index) {
    return {From::number_argument, index, {}};
  }
  // The result of an earlier step.
  static constexpr ChainInput step(std::uint32_t index) { return {From::step, index, {}}; }
  // A number that is part of the chain. Make a number that varies from call to call an argument instead, since each
  // number here makes another chain.
  static constexpr ChainInput number(const Scalar& number) { return {From::number, 0, number}; }

  From from = From::argument;
  std::uint32_t index = 0;
  Scalar value;
};

// One pointwise operator with an expression. `inputs` are in the order of its schema; those omitted at the end take their
// defaults.
struct ChainStep {
  Operator* op = nullptr;
  std::vector<ChainInput> inputs;
};

inline constexpr std::uint32_t max_chain_operations = 40;  // of all expressions together
inline constexpr std::uint32_t max_chain_arguments = 8;

// Holds a joined operator; equal chains share one. Once nobody holds it and its work is done, it is freed together with its
// kernels, the next time a chain is joined or dropped or a plugin is unloaded. Hold it for the duration of a call.
// Threads: any, as with a std::shared_ptr.
class BP_API Chain {
 public:
  Chain() = default;
  Chain(const Chain& other) noexcept;
  Chain(Chain&& other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
  Chain& operator=(Chain other) noexcept {
    std::swap(op_, other.op_);
    return *this;
  }
  ~Chain();

  // Another holder for an operator that somebody already holds; empty if the operator is not a joined one.
  static Chain sharing(Operator& op) noexcept;

  explicit operator bool() const { return op_ != nullptr; }
  Operator& operator*() const { return *op_; }
  Operator* operator->() const { return op_; }

 private:
  friend struct ChainAccess;
  Operator* op_ = nullptr;
};

// Returns an operator that runs the steps in order and returns the result of the last. It computes in one dtype, so its
// tensors must agree (conditions are bool), while separate steps would convert; f16 and bf16 are rounded once, at the end.
// Throws bad_argument, naming the step, if the steps cannot be one expression: a step is not pointwise, a result is not
// used, a comparison feeds arithmetic, or a limit above is exceeded.
// Threads: any.
BP_API Chain join(std::span<const ChainStep> steps);

// All chains that are held now. registered_operators() leaves them out, so code that starts listening late needs both.
BP_API std::vector<Chain> living_chains();

// Calls a joined operator. The steps run one by one if the device has no kernel for the whole chain, if a layer needs to
// see them, or if they would convert a tensor or a number; each result is then freed as soon as no later step reads it.
// So every call that the separate steps accept works here too.
// `spent`: bits of the tensors whose memory nobody else reads, so that the result may be written there.
BP_API Tensor call_chain(const Chain& chain, bp_value* args, std::uint32_t num_args,
                         std::uint32_t spent = 0);

}  // namespace bp
