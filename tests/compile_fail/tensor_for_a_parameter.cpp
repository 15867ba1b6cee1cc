// expect: no match for
// Its optimizer would go on with the old parameter.
#include <backplane/nn/layers.hpp>

void shrink(bp::nn::Linear& layer, const bp::Tensor& smaller) {
  layer.weight = smaller;
}
