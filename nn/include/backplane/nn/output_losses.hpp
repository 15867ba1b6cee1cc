// Losses that hold the layers before them: classifiers of many classes.
#pragma once

#include <utility>

#include <backplane/nn/containers.hpp>
#include <backplane/nn/linear.hpp>

namespace bp::nn {

struct AdaptiveLogSoftmaxOptions {
  double div_value =
      4;  // by how much each cluster's features are fewer than those of the one before
  bool head_bias = false;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// Softmax over many classes, of which frequent ones come first: those up to the first cutoff are scored at once, and those
// up to each further one only for targets among them, by fewer features (Grave et al., Efficient softmax approximation for
// GPUs, 2017). Throws bad_argument for cutoffs that do not rise from 1 to num_classes - 1.
class BP_API AdaptiveLogSoftmaxWithLoss : public Module {
 public:
  AdaptiveLogSoftmaxWithLoss(std::int64_t in_features, std::int64_t n_classes,
                             std::vector<std::int64_t> cutoffs,
                             const AdaptiveLogSoftmaxOptions& options = {});
  void list_parts(Parts& parts) override;
  using Module::forward;
  // [N, in_features] and classes [N] to the logarithm of each target's probability, [N], and the mean loss. Or without N. Waits
  // for the device, to find who is in which cluster.
  std::pair<Tensor, Tensor> forward(const Tensor& input, const Tensor& target) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  std::pair<Tensor, Tensor> operator()(const Tensor& input, const Tensor& target) const {
    const std::vector<Tensor> results =
        call({input, target}, [](const Module& self, std::span<const Tensor> in) {
          const auto& layer = static_cast<const AdaptiveLogSoftmaxWithLoss&>(self);
          const auto [output, loss] = layer.forward(in[0], in[1]);
          return std::vector<Tensor>{output, loss};
        });
    return {results[0], results[1]};
  }
  // [N, n_classes], the logarithms of all probabilities.
  Tensor log_prob(const Tensor& input) const;
  // [N], the most likely class.
  Tensor predict(const Tensor& input) const;

  Linear head;
  ModuleList tail;  // for each cluster, two Linear without bias

 private:
  std::vector<std::int64_t> cutoffs_;  // the last is n_classes
};

struct LinearCrossEntropyLossOptions {
  std::vector<std::int64_t> out_features = {};  // dimensions of the target besides the batch
  bool bias = false;
  std::string reduction = "mean";
  Tensor weight = {};  // of each class
  std::optional<std::int64_t> ignore_index = {};
  double label_smoothing = 0;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// CrossEntropyLoss of a Linear: [N, in_features] or [in_features], and classes [N, out_features...] or their probabilities.
class BP_API LinearCrossEntropyLoss : public Module {
 public:
  LinearCrossEntropyLoss(std::int64_t in_features, std::int64_t num_classes,
                         const LinearCrossEntropyLossOptions& options = {});
  void list_parts(Parts& parts) override;
  using Module::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return called(*this, input, target);
  }
  std::string extra_repr() const override;

  Linear linear;
  Tensor weight;  // [num_classes], or absent

 private:
  std::int64_t num_classes_;
  LinearCrossEntropyLossOptions options_;
};

}  // namespace bp::nn
