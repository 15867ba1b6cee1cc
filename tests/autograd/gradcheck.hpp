// Derivatives against differences: what a row's rule says, and what its values do when an input moves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <backplane/samples/samples.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

// What is wrong with the derivatives of a function by its inputs, f64 leaves on a host-readable device
// whose memory it may move; empty if nothing. `second`: those of the derivatives as well.
using Differentiable = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
std::string find_wrong_derivative(const Differentiable& function, std::vector<Tensor> inputs,
                                  bool second);

// How the tensors of a sample lie in memory: as its recipe says, or all alike.
enum class Placing { as_sampled, contiguous, transposed, channels_last };

struct Checked {
  std::string wrong{};  // empty: nothing
  bool was_checked =
      false;  // false: the sample has no such tensors, or too many elements, or none that
              // can be placed so
  bool is_large = false;  // too many elements
};
// The same for one sample of a row, first and second order. Its f64 tensors, and the parts of complex128 ones, get distinct
// values between 0.5 and 2, away from kinks and poles, unless the sample's own mean something.
Checked check_derivative(Operator& op, const Sample& sample, Placing placing);
// The same for whatever is made of such a call: `call` gets the sample's arguments, those left out at the end too.
using SampleCall = std::function<std::vector<Tensor>(Operator& op, std::span<const bp_value> args)>;
Checked check_derivative(Operator& op, const Sample& sample, Placing placing,
                         const SampleCall& call);

}  // namespace bp::test
