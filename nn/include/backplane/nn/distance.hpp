// How far apart two batches of vectors are.
#pragma once

#include <backplane/nn/stateless.hpp>

namespace bp::nn {

struct BP_API CosineSimilarityOptions {
  std::int64_t dim = 1;
  double eps = 1e-8;  // the least length; smaller ones count as this
  Tensor apply(const Tensor& x1, const Tensor& x2) const;
};
// The cosine of the angle between vectors along `dim`.
class CosineSimilarity : public StatelessOfMany<CosineSimilarityOptions> {
  using StatelessOfMany::StatelessOfMany;
};

struct BP_API PairwiseDistanceOptions {
  double p = 2;
  double eps = 1e-6;  // is added to each difference
  bool keepdim = false;
  Tensor apply(const Tensor& x1, const Tensor& x2) const;
};
// The p-norm of the difference along the last dimension.
class PairwiseDistance : public StatelessOfMany<PairwiseDistanceOptions> {
  using StatelessOfMany::StatelessOfMany;
};

}  // namespace bp::nn
