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
  // In forward: saves inputs, results or other tensors for backward, which checks that they were
  // not written since.
  void save(std::vector<Tensor> tensors);
  // In backward: the saved tensors, in order. Throws bad_argument for one that was written since, or
  // if an earlier backward freed them.
  std::vector<Tensor> saved() const;
  // In forward: marks this result as not differentiable.
  void mark_non_differentiable(const Tensor& result);
  // In forward: this input is written in place, and returned. Its gradient comes from the result from then on.
  void mark_dirty(const Tensor& input);
  // Will the derivative with respect to this input be used?
  bool needs_gradient(std::size_t input) const;
  // Anything else; lives as long as the record.
  std::any data;

 private:
  friend class FunctionNode;
  friend BP_API std::vector<Tensor> apply(const Function& function, TensorList inputs);
  std::vector<bool> needed_;
  std::vector<Tensor> to_save_, not_differentiable_, dirty_;  // during forward
  const FunctionNode* node_ = nullptr;                        // during backward
};

struct Function {
  std::string name;  // in errors
  // Computes the results from the inputs. Its calls are not recorded; it must not write inputs but those that it marks
  // as dirty.
  std::function<std::vector<Tensor>(FunctionContext& context, std::span<const Tensor> inputs)>
      forward;
  // Computes the gradients of all inputs from those of all results (zeros where there is none): one for
  // each input, with its shape and device; undefined for none. Recorded if derivatives of derivatives
  // are requested.
  std::function<std::vector<Tensor>(FunctionContext& context, std::span<const Tensor> gradients)>
      backward;
};

// Calls it. What forward throws passes through, and nothing is recorded then; what backward throws leaves
// bp::backward. A result that is an input, or a view of one, is copied, unless it is marked as dirty.
// Throws bad_argument if forward writes an input that is not marked, or marks one that may not be written (a leaf that
// requires grad) or that it does not return; backward does for a wrong number, shape or device.
BP_API std::vector<Tensor> apply(const Function& function, TensorList inputs);

// The results of `function`, which keeps nothing for backward: it is computed again when backward gets
// there, with the same random numbers on the devices of the inputs and the default device. It must do
// the same both times; backward throws bad_argument if it saves other tensors the second time. Tensors
// that it captures take part as if there were no checkpoint.
using Region = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
BP_API std::vector<Tensor> checkpoint(Region function, TensorList inputs);

}  // namespace bp::autograd
