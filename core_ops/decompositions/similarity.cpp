#include "decompositions/similarity.hpp"

#include <backplane/core_ops/operators.hpp>

#include "decompositions/complex.hpp"

namespace bp {

// Each is divided by its length before they meet, so that no product of lengths leaves the range.
Tensor cosine_by_lengths(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps) {
  check_real("cosine_similarity", {x1, x2});
  const auto direction = [&](const Tensor& x) {
    return div(x, clamp_min(norm(x, 2, {dim}, true), eps));
  };
  const Dims shape = broadcast_shapes("cosine_similarity", x1.shape(), x2.shape());
  return sum(mul(direction(expand(x1, shape)), direction(expand(x2, shape))), {dim});
}

}  // namespace bp
