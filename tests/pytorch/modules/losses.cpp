#include <backplane/nn/losses.hpp>
#include <backplane/nn/output_losses.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

// Reads what the options have of the names that many losses share.
template <class Options> Options common_options(Args& args) {
  Options options;
  if constexpr (requires { options.reduction; }) OPTION(reduction);
  if constexpr (requires { options.weight; }) OPTION(weight);
  if constexpr (requires { options.pos_weight; }) OPTION(pos_weight);
  if constexpr (requires { options.margin; }) OPTION(margin);
  if constexpr (requires { options.ignore_index; }) OPTION(ignore_index);
  if constexpr (requires { options.label_smoothing; }) OPTION(label_smoothing);
  if constexpr (requires { options.beta; }) OPTION(beta);
  if constexpr (requires { options.delta; }) OPTION(delta);
  if constexpr (requires { options.log_target; }) OPTION(log_target);
  if constexpr (requires { options.log_input; }) OPTION(log_input);
  if constexpr (requires { options.full; }) OPTION(full);
  if constexpr (requires { options.eps; }) OPTION(eps);
  if constexpr (requires { options.blank; }) OPTION(blank);
  if constexpr (requires { options.zero_infinity; }) OPTION(zero_infinity);
  if constexpr (requires { options.p; }) OPTION(p);
  if constexpr (requires { options.swap; }) OPTION(swap);
  return options;
}

template <class M, class Options> Made loss_module(Args& args) {
  return made(M(common_options<Options>(args)));
}

// The functions that cases name as distance_function.
Made with_distance(Args& args) {
  auto options = common_options<nn::TripletMarginWithDistanceLossOptions>(args);
  std::string name;
  args.read("distance_function", name);
  if (name == "taxicab")
    options.distance_function = [](const Tensor& a, const Tensor& b) { return sum(abs(a - b), 1); };
  else if (!name.empty())
    throw std::runtime_error("run_modules: no distance_function '" + name + "'");
  return made(nn::TripletMarginWithDistanceLoss(options));
}

Made adaptive_module(Args& args) {
  nn::AdaptiveLogSoftmaxOptions options;
  OPTION(div_value);
  OPTION(head_bias);
  return made(nn::AdaptiveLogSoftmaxWithLoss(
                  args.get<std::int64_t>("in_features"), args.get<std::int64_t>("n_classes"),
                  args.get<std::vector<std::int64_t>>("cutoffs"), options),
              [](const nn::AdaptiveLogSoftmaxWithLoss& m, const Tensors& in) {
                if (in.size() == 2) return listed(m.forward(in[0], in[1]));
                return Tensors{m.log_prob(in[0]), m.predict(in[0])};
              });
}

Made linear_cross_entropy_module(Args& args) {
  auto options = common_options<nn::LinearCrossEntropyLossOptions>(args);
  OPTION(out_features);
  OPTION(bias);
  return made(nn::LinearCrossEntropyLoss(args.get<std::int64_t>("in_features"),
                                         args.get<std::int64_t>("num_classes"), options));
}

#define LOSS(Name) \
  { #Name, loss_module < nn::Name, nn::Name##Options> }

}  // namespace

Makers loss_modules() {
  return {
      {"AdaptiveLogSoftmaxWithLoss", adaptive_module},
      {"LinearCrossEntropyLoss", linear_cross_entropy_module},
      {"TripletMarginWithDistanceLoss", with_distance},
      LOSS(BCELoss),
      LOSS(BCEWithLogitsLoss),
      LOSS(CTCLoss),
      LOSS(CosineEmbeddingLoss),
      LOSS(CrossEntropyLoss),
      LOSS(GaussianNLLLoss),
      LOSS(HingeEmbeddingLoss),
      LOSS(HuberLoss),
      LOSS(KLDivLoss),
      LOSS(L1Loss),
      LOSS(MSELoss),
      LOSS(MarginRankingLoss),
      LOSS(MultiLabelMarginLoss),
      LOSS(MultiLabelSoftMarginLoss),
      LOSS(MultiMarginLoss),
      LOSS(NLLLoss),
      LOSS(PoissonNLLLoss),
      LOSS(SmoothL1Loss),
      LOSS(SoftMarginLoss),
      LOSS(TripletMarginLoss),
  };
}

#undef LOSS

}  // namespace bp::test
