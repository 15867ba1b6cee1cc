// Functions whose derivative the application writes itself, and regions that are computed again in
// backward instead of kept.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backplane/core_ops/arguments.hpp>

namespace bp::autograd {

class FunctionNode;
struct Function;

// Data that one call of a custom function keeps from forward to backward.
class BP_API FunctionContext {
 public:
  // In forward: keeps inputs, results or others for backward, checked for writes in between.
  void save(std::vector<Tensor> tensors);
  // In backward: these, in their order. Throws bad_argument for one that was written since, or if an
  // earlier backward freed them.
  std::vector<Tensor> saved() const;
  // In forward: backward will not be asked for this result's part.
  void mark_non_differentiable(const Tensor& result);
  // Will the derivative by this input be used?
  bool needs_gradient(std::size_t input) const;
  // Anything else; lives as long as the record.
  std::any data;

 private:
  friend class FunctionNode;
  friend BP_API std::vector<Tensor> apply(const Function& function, TensorList inputs);
  std::vector<bool> needed_;
  std::vector<Tensor> to_save_, not_differentiable_;  // during forward
  const FunctionNode* node_ = nullptr;                // during backward
};

struct Function {
  std::string name;  // in errors
  // Makes the results of the inputs. Its calls are not recorded; it writes none of its inputs.
  std::function<std::vector<Tensor>(FunctionContext& context, std::span<const Tensor> inputs)>
      forward;
  // Makes the derivatives by all inputs of those by all results (zeros where nothing came back): one for
  // each input, with its shape and device; undefined for none. Recorded where derivatives of
  // derivatives are asked for.
  std::function<std::vector<Tensor>(FunctionContext& context, std::span<const Tensor> gradients)>
      backward;
};

// Calls it. What forward throws passes through, and nothing is recorded then; what backward throws leaves
// bp::backward. A result that is an input, or a view of one, is copied.
// Throws bad_argument if forward writes an input; backward does for a wrong number, shape or device.
BP_API std::vector<Tensor> apply(const Function& function, TensorList inputs);

// The results of `function`, which keeps nothing for backward: it is computed once more when backward
// comes there, with the same random numbers on the devices of the inputs and the default device. It must
// do the same both times; bad_argument in backward if it saves other tensors then. Tensors that it
// captures take part as if there were no checkpoint.
using Region = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
BP_API std::vector<Tensor> checkpoint(Region function, TensorList inputs);

}  // namespace bp::autograd
