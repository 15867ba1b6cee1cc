// The node of a row of the table: the call's arguments as far as its derivative needs them.
#pragma once

#include <memory>

#include <backplane/dispatcher/operator.hpp>

#include "derivative.hpp"
#include "saved.hpp"

namespace bp::autograd {

class RowNode final : public Node, private Recorded {
 public:
  // Keeps what the rules need of the arguments, before the call runs: rules of shape may rewrite
  // them. `target`: the tensor that the call writes in place, or null. Throws bad_argument for a tensor
  // that was made in inference mode.
  static NodeRef make(const Call& call, const Derivative& derivative, const TensorImpl* target);
  // After the call: keeps the results that the rules read.
  void keep_results(const Call& call);

  const char* name() const override { return op_.name(); }
  std::span<Edge> edges() override { return {edges_, sizes_.num_edges}; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override;
  void release_saved() override;

 private:
  using KeptList = std::vector<Tensor>;  // of shapes alone: no rule reads the elements of a list
  struct Argument {
    bp_value value{};
    Saved saved;
    std::unique_ptr<KeptList> list;
  };
  struct Sizes {
    std::size_t bytes;  // of the block: the node, then arguments, results, edges and words
    std::uint32_t num_edges;
  };

  static Sizes sizes_of(const Call& call, const Derivative& derivative);
  RowNode(const Call& call, const Derivative& derivative, Sizes sizes);
  ~RowNode() override;
  void destroy() override;
  void find_edges(const Call& call);
  void keep_tensor(std::uint32_t place, TensorImpl& impl, const TensorImpl* target);
  void keep_pointed_to(std::uint32_t place, const TensorImpl* target);
  Saved keep(TensorImpl& impl, std::uint32_t place, const TensorImpl* target) const;
  Tensor apply_rule(Derivative::Rule rule, std::span<Tensor> gradients, bool others_come) const;
  Tensor fitted(Tensor gradient, const Tensor& like) const;
  Tensor taking_part(Tensor gradient, const Derivative::Input& input) const;

  Tensor tensor(std::uint32_t place) const override;
  Tensor result(std::uint32_t place) const override;
  const bp_value& value(std::uint32_t place) const override { return arguments_[place].value; }
  std::span<const Tensor> list(std::uint32_t place) const override;

  // Of the inputs that want a gradient: what their rules read.
  struct Needs {
    std::uint32_t reads = 0, shapes = 0, results = 0;
  };

  Operator& op_;
  const Derivative& derivative_;
  Sizes sizes_;
  std::uint32_t num_arguments_;
  Needs needs_;
  bool fits_ = false;   // gradients may have to be summed or cast to their input's shape and dtype
  bool keeps_ = false;  // a tensor of the call
  bool released_ = false;
  Argument* arguments_;
  Saved* results_;
  Edge* edges_;
  std::uint64_t* words_;  // where the next list goes
};

}  // namespace bp::autograd
