// Losses: one number that measures how far outputs are from their targets. `reduction` is "mean", "sum", or "none" for
// a loss of each element or sample. Others throw bad_argument when the loss is made.
#pragma once

#include <functional>

#include <backplane/nn/stateless.hpp>

namespace bp::nn {

struct BP_API CrossEntropyLossOptions {
  Tensor weight = {};  // of each class
  std::int64_t ignore_index = -100;
  std::string reduction = "mean";
  double label_smoothing = 0;
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// The negative log-likelihood of the target under softmax of `input`, [N, C, ...] or [C]. The target is classes, [N,
// ...], or their probabilities in the input's shape.
class CrossEntropyLoss : public StatelessOfMany<CrossEntropyLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API NLLLossOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// The same for log-probabilities.
class NLLLoss : public StatelessOfMany<NLLLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API MSELossOptions {
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// (input - target) ** 2.
class MSELoss : public StatelessOfMany<MSELossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API L1LossOptions {
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// |input - target|.
class L1Loss : public StatelessOfMany<L1LossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API SmoothL1LossOptions {
  std::string reduction = "mean";
  double beta = 1;
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// L1Loss, and MSELoss / (2 * beta) where the difference is below `beta`, without a step between them.
class SmoothL1Loss : public StatelessOfMany<SmoothL1LossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API HuberLossOptions {
  std::string reduction = "mean";
  double delta = 1;
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// delta * SmoothL1Loss with beta = delta.
class HuberLoss : public StatelessOfMany<HuberLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API BCELossOptions {
  Tensor weight = {};  // of each element, broadcast
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// Binary cross-entropy of probabilities `input` and targets from 0 to 1. A probability outside of 0 to 1 gives NaN;
// refusing it would require waiting for the device.
class BCELoss : public StatelessOfMany<BCELossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API BCEWithLogitsLossOptions {
  Tensor weight = {};
  std::string reduction = "mean";
  Tensor pos_weight = {};  // of the part of the target that is 1, for each class
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// BCELoss of sigmoid(input).
class BCEWithLogitsLoss : public StatelessOfMany<BCEWithLogitsLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API KLDivLossOptions {
  std::string reduction =
      "mean";  // or "batchmean", the sum divided by the batch, which is the divergence
  bool log_target = false;
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// target * (log(target) - input), of logarithms of probabilities and of probabilities.
class KLDivLoss : public StatelessOfMany<KLDivLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API PoissonNLLLossOptions {
  bool log_input = true;
  bool full = false;  // with Stirling's approximation of the constant
  double eps = 1e-8;
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// The negative log-likelihood of the target under a Poisson distribution with this mean, or this
// logarithm of it.
class PoissonNLLLoss : public StatelessOfMany<PoissonNLLLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API GaussianNLLLossOptions {
  bool full = false;  // with the constant
  double eps = 1e-6;  // the least variance; smaller ones count as this
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target, const Tensor& var) const;
};
// The negative log-likelihood of the target under a normal distribution with this mean and variance (Nix and Weigend,
// 1994). `var` has the input's shape, or 1 or nothing in place of the last dimension. Waits for the device to check
// that variances are not negative.
class GaussianNLLLoss : public StatelessOfMany<GaussianNLLLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API CTCLossOptions {
  std::int64_t blank = 0;
  std::string reduction = "mean";
  bool zero_infinity = false;
  void check() const;
  Tensor apply(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
               const Tensor& target_lengths) const;
};
// The negative log-likelihood of the labels under log_probs, [steps, N, classes] (Graves et al., Connectionist
// Temporal Classification, 2006); see ctc_loss.
class CTCLoss : public StatelessOfMany<CTCLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API HingeEmbeddingLossOptions {
  double margin = 1;
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// input where the target is 1, max(0, margin - input) where it is -1.
class HingeEmbeddingLoss : public StatelessOfMany<HingeEmbeddingLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API MarginRankingLossOptions {
  double margin = 0;
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input1, const Tensor& input2, const Tensor& target) const;
};
// max(0, -target * (input1 - input2) + margin), with targets of 1 and -1.
class MarginRankingLoss : public StatelessOfMany<MarginRankingLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API SoftMarginLossOptions {
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// log(1 + exp(-target * input)), with targets of 1 and -1.
class SoftMarginLoss : public StatelessOfMany<SoftMarginLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API MultiMarginLossOptions {
  std::int64_t p = 1;  // or 2
  double margin = 1;
  Tensor weight = {};
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// The mean over the classes of max(0, margin - the target's score + theirs) ** p.
class MultiMarginLoss : public StatelessOfMany<MultiMarginLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API MultiLabelMarginLossOptions {
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// The sum, over labels and other classes, of max(0, 1 - the label's score + the other's), divided by the classes. Labels
// of [N, C] or [C] end before the first -1.
class MultiLabelMarginLoss : public StatelessOfMany<MultiLabelMarginLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API MultiLabelSoftMarginLossOptions {
  Tensor weight = {};  // of each class
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input, const Tensor& target) const;
};
// The mean over the classes of BCEWithLogitsLoss.
class MultiLabelSoftMarginLoss : public StatelessOfMany<MultiLabelSoftMarginLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API CosineEmbeddingLossOptions {
  double margin = 0;  // from -1 to 1
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& input1, const Tensor& input2, const Tensor& target) const;
};
// 1 - cosine where the target is 1, max(0, cosine - margin) where it is -1.
class CosineEmbeddingLoss : public StatelessOfMany<CosineEmbeddingLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API TripletMarginLossOptions {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;  // takes the distance of positive and negative where that is smaller
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const;
};
// max(0, distance of anchor and positive - distance of anchor and negative + margin).
class TripletMarginLoss : public StatelessOfMany<TripletMarginLossOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API TripletMarginWithDistanceLossOptions {
  std::function<Tensor(const Tensor&, const Tensor&)> distance_function =
      {};  // by default PairwiseDistance
  double margin = 1;
  bool swap = false;
  std::string reduction = "mean";
  void check() const;
  Tensor apply(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const;
};
class TripletMarginWithDistanceLoss : public StatelessOfMany<TripletMarginWithDistanceLossOptions> {
 public:
  using StatelessOfMany::StatelessOfMany;
  // PyTorch's default distance is a module, and printed as one.
  std::string printed() const override {
    return options().distance_function
               ? Module::printed()
               : type_name() + "(\n  (distance_function): PairwiseDistance()\n)";
  }
};

}  // namespace bp::nn
