// How a row's derivative is written down: what autograd/generated/ holds for each row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {
struct Operator;
}

namespace bp::autograd {

class Recorded;

struct Derivative {
  // By one argument: the gradient by the row's results becomes that by the argument, which may still
  // have to be summed and cast to the argument's shape and dtype (`fit`).
  // It may take the gradients' handles.
  using Rule = Tensor (*)(const Recorded& call, std::span<Tensor> gradients);
  // By a list of tensors, or by several arguments at once: one entry each, in the order of `inputs`. The
  // inputs behind the first have no rule then.
  using ListRule = void (*)(const Recorded& call, std::span<const Tensor> gradients,
                            std::span<Tensor> out);
  struct Input {
    std::uint32_t place;
    Rule rule;
    ListRule list_rule;
    std::uint32_t reads;              // bits of the tensor arguments whose elements the rule reads
    std::uint32_t shapes;             // bits of those of which shape, dtype and device are enough
    std::uint32_t results;            // bits of the results that it reads
    std::uint32_t complex_reads = 0;  // like `reads`, besides them, where the argument is complex
  };
  const Input* inputs;
  std::uint32_t num_inputs;
  // Whether inputs may have been broadcast or converted, which their gradients take back.
  enum class Fit : std::uint8_t { never, if_unlike, always } fit;
};

// The rule's view of the forward call: arguments and results as they were. Throws bad_argument for a
// tensor that was written since, and for what was freed.
class Recorded {
 public:
  virtual Tensor tensor(std::uint32_t place) const = 0;
  virtual Tensor result(std::uint32_t place) const = 0;
  virtual const bp_value& value(std::uint32_t place) const = 0;
  virtual std::span<const Tensor> list(std::uint32_t place) const = 0;

  bool is_tensor(std::uint32_t place) const { return value(place).tag == BP_TENSOR; }
  bool is_none(std::uint32_t place) const { return value(place).tag == BP_NONE; }
  Scalar number(std::uint32_t place) const { return Scalar::from_value(value(place)); }
  std::int64_t integer(std::uint32_t place) const { return value(place).u.i; }
  bool truth(std::uint32_t place) const { return value(place).u.i != 0; }
  double real(std::uint32_t place) const { return number(place).to_double(); }
  IntList integers(std::uint32_t place) const {
    return {static_cast<const std::int64_t*>(value(place).u.ptr), value(place).aux};
  }
  DimList dims(std::uint32_t place) const {
    return is_none(place) ? DimList() : DimList(integers(place));
  }
  std::string_view text(std::uint32_t place) const {
    return {static_cast<const char*>(value(place).u.ptr), value(place).aux};
  }
  std::optional<std::int64_t> optional_integer(std::uint32_t place) const {
    if (is_none(place)) return std::nullopt;
    return integer(place);
  }
  // Calls `body` with the argument, a tensor or the number that stood for it.
  template <class Body> Tensor with_operand(std::uint32_t place, const Body& body) const {
    return is_tensor(place) ? body(tensor(place)) : body(number(place));
  }

 protected:
  ~Recorded() = default;
};

}  // namespace bp::autograd
