#include <backplane/nn/activation.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

template <class M> Made without_arguments(Args&) {
  return made(M());
}

template <class M> Made in_place_or_not(Args& args) {
  nn::InplaceOptions options;
  OPTION(inplace);
  return made(M(options));
}

template <class M> Made along_dimension(Args& args) {
  std::optional<std::int64_t> dim;
  args.read("dim", dim);
  return made(M(dim));
}

template <class M, class Options> Made of_alpha(Args& args) {
  Options options;
  OPTION(alpha);
  OPTION(inplace);
  return made(M(options));
}

template <class M, class Options> Made of_lambd(Args& args) {
  Options options;
  OPTION(lambd);
  return made(M(options));
}

Made leaky_relu_module(Args& args) {
  nn::LeakyReLUOptions options;
  OPTION(negative_slope);
  OPTION(inplace);
  return made(nn::LeakyReLU(options));
}

Made hardtanh_module(Args& args) {
  nn::HardtanhOptions options;
  OPTION(min_val);
  OPTION(max_val);
  OPTION(inplace);
  return made(nn::Hardtanh(options));
}

Made threshold_module(Args& args) {
  nn::InplaceOptions options;
  OPTION(inplace);
  return made(nn::Threshold(args.get<double>("threshold"), args.get<double>("value"), options));
}

Made rrelu_module(Args& args) {
  nn::RReLUOptions options;
  OPTION(lower);
  OPTION(upper);
  OPTION(inplace);
  return made(nn::RReLU(options));
}

Made gelu_module(Args& args) {
  nn::GELUOptions options;
  OPTION(approximate);
  return made(nn::GELU(options));
}

Made softplus_module(Args& args) {
  nn::SoftplusOptions options;
  OPTION(beta);
  OPTION(threshold);
  return made(nn::Softplus(options));
}

Made glu_module(Args& args) {
  nn::GLUOptions options;
  OPTION(dim);
  return made(nn::GLU(options));
}

Made prelu_module(Args& args) {
  nn::PReLUOptions options;
  OPTION(num_parameters);
  OPTION(init);
  return made(nn::PReLU(options));
}

}  // namespace

Makers activation_modules() {
  return {
      {"CELU", of_alpha<nn::CELU, nn::CELUOptions>},
      {"ELU", of_alpha<nn::ELU, nn::ELUOptions>},
      {"GELU", gelu_module},
      {"GLU", glu_module},
      {"Hardshrink", of_lambd<nn::Hardshrink, nn::HardshrinkOptions>},
      {"Hardsigmoid", in_place_or_not<nn::Hardsigmoid>},
      {"Hardswish", in_place_or_not<nn::Hardswish>},
      {"Hardtanh", hardtanh_module},
      {"LeakyReLU", leaky_relu_module},
      {"LogSigmoid", without_arguments<nn::LogSigmoid>},
      {"LogSoftmax", along_dimension<nn::LogSoftmax>},
      {"Mish", in_place_or_not<nn::Mish>},
      {"PReLU", prelu_module},
      {"RReLU", rrelu_module},
      {"ReLU", in_place_or_not<nn::ReLU>},
      {"ReLU6", in_place_or_not<nn::ReLU6>},
      {"SELU", in_place_or_not<nn::SELU>},
      {"SiLU", in_place_or_not<nn::SiLU>},
      {"Sigmoid", without_arguments<nn::Sigmoid>},
      {"Softmax", along_dimension<nn::Softmax>},
      {"Softmax2d", without_arguments<nn::Softmax2d>},
      {"Softmin", along_dimension<nn::Softmin>},
      {"Softplus", softplus_module},
      {"Softshrink", of_lambd<nn::Softshrink, nn::SoftshrinkOptions>},
      {"Softsign", without_arguments<nn::Softsign>},
      {"Tanh", without_arguments<nn::Tanh>},
      {"Tanhshrink", without_arguments<nn::Tanhshrink>},
      {"Threshold", threshold_module},
  };
}

}  // namespace bp::test
