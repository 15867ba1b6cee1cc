#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/distance.hpp>

namespace bp::nn {

Tensor CosineSimilarityOptions::apply(const Tensor& x1, const Tensor& x2) const {
  return cosine_similarity(x1, x2, dim, eps);
}

Tensor PairwiseDistanceOptions::apply(const Tensor& x1, const Tensor& x2) const {
  return pairwise_distance(x1, x2, p, eps, keepdim);
}

}  // namespace bp::nn
