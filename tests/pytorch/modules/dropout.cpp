#include <backplane/nn/dropout.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

template <class M> Made dropping(Args& args) {
  nn::DropoutOptions options;
  OPTION(p);
  OPTION(inplace);
  return made(M(options));
}

}  // namespace

Makers dropout_modules() {
  return {
      {"AlphaDropout", dropping<nn::AlphaDropout>},
      {"Dropout", dropping<nn::Dropout>},
      {"Dropout1d", dropping<nn::Dropout1d>},
      {"Dropout2d", dropping<nn::Dropout2d>},
      {"Dropout3d", dropping<nn::Dropout3d>},
      {"FeatureAlphaDropout", dropping<nn::FeatureAlphaDropout>},
  };
}

}  // namespace bp::test
