// Chains of pointwise operators as one operator: each element is read once, goes through all steps, and is written
// once. Backends that make kernels for expressions (bp.program, bp.compiler) serve it as one kernel; on all others it
// is the steps one by one.
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

  // Argument `index` of the joined operator: a tensor where the step takes one, else a number. All places that name
  // it get the same.
  static constexpr ChainInput argument(std::uint32_t index) { return {From::argument, index, {}}; }
  // The same, a number even where the step takes a tensor or a number.
  static constexpr ChainInput number_argument(std::uint32_t index) {
    return {From::number_argument, index, {}};
  }
  // The result of an earlier step.
  static constexpr ChainInput step(std::uint32_t index) { return {From::step, index, {}}; }
  // A number that belongs to the chain. One that varies from call to call is better an argument, since another number
  // is another chain.
  static constexpr ChainInput number(const Scalar& number) { return {From::number, 0, number}; }

  From from = From::argument;
  std::uint32_t index = 0;
  Scalar value;
};

// One operator of kind pointwise with an expression. `inputs` in the order of its schema; those that are left out at
// the end take their defaults.
struct ChainStep {
  Operator* op = nullptr;
  std::vector<ChainInput> inputs;
};

inline constexpr std::uint32_t max_chain_operations = 40;  // of all expressions together
inline constexpr std::uint32_t max_chain_arguments = 8;

// Holds a joined operator. Equal chains share one; once nobody holds it, and the work that it was called for is done, it is
// freed with its kernels: while another chain is joined or let go, or when a plugin goes. The caller holds it
// meanwhile. Threads: any, as of a std::shared_ptr.
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

  // One more for an operator that somebody holds; empty for one that was not joined.
  static Chain sharing(Operator& op) noexcept;

  explicit operator bool() const { return op_ != nullptr; }
  Operator& operator*() const { return *op_; }
  Operator* operator->() const { return op_; }

 private:
  friend struct ChainAccess;
  Operator* op_ = nullptr;
};

// The operator that runs the steps in order and gives the last one's result. It computes in one dtype: its tensors have to
// agree (conditions are bool), where steps one by one would convert; f16 and bf16 are rounded once, at the end.
// Throws bad_argument, naming the step, for what cannot be one expression: a step that is not pointwise, a result that
// nobody uses, a comparison that feeds arithmetic, more than the limits above.
// Threads: any.
BP_API Chain join(std::span<const ChainStep> steps);

// All that are held now: what comes to know operators late asks for these as well, since registered_operators() has none.
BP_API std::vector<Chain> living_chains();

// One call of what `join` gave. Where the device has no kernel for the whole, or the steps one by one would be looked at
// by a layer or would convert a tensor or a number, they are called one by one like that, and what they give is freed
// as soon as no later step reads it. So nothing is refused that the steps themselves take.
// `spent`: bits of the tensors whose memory nobody else reads, so that the result may be written there.
BP_API Tensor call_chain(const Chain& chain, bp_value* args, std::uint32_t num_args,
                         std::uint32_t spent = 0);

}  // namespace bp
