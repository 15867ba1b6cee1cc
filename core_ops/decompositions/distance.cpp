#include "decompositions/distance.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/loss.hpp"
#include "rules/decompositions.hpp"

namespace bp {

Tensor all_distances(const Tensor& x1, const Tensor& x2, double p) {
  BP_CHECK(x1.ndim() >= 2 && x2.ndim() >= 2 && x1.size(-1) == x2.size(-1),
           "cdist: shapes {} and {}; both need two dimensions or more, and the same last size",
           to_string(x1.shape()), to_string(x2.shape()));
  BP_CHECK(p >= 0, "cdist: p is {}; pass 0 or more", p);
  return norm(sub(unsqueeze(x1, -2), unsqueeze(x2, -3)), p, {-1});
}

// The pairs in the order of cdist's upper triangle: how many begin with an earlier vector says with which one this does.
Tensor distances_of_pairs(const Tensor& input, double p) {
  BP_CHECK(input.ndim() == 2 && is_floating(input.dtype()),
           "pdist: input is {} of shape {}; pass a matrix of a floating dtype", name(input.dtype()),
           to_string(input.shape()));
  BP_CHECK(p >= 0, "pdist: p is {}; pass 0 or more", p);
  const std::int64_t size = input.size(0);
  BP_CHECK(size < std::int64_t{1} << 31,
           "pdist: {} vectors, too many for all their pairs; pass fewer", size);
  const std::int64_t pairs = size * (size - 1) / 2;
  if (pairs <= 0) return full({0}, 0, input.dtype(), input.device());
  const Tensor vectors = arange(0, size - 1, 1, i64, input.device());
  const Tensor begins = floor_divide(mul(vectors, sub(2 * size - 1, vectors)), 2);
  const Tensor numbers = arange(0, pairs, 1, i64, input.device());
  const Tensor first = sub(searchsorted(begins, numbers, false, true), 1);
  const Tensor second = add(add(sub(numbers, gather(begins, 0, first)), first), 1);
  return norm(sub(index_select(input, 0, first), index_select(input, 0, second)), p, {1});
}

Tensor gated_half(const Tensor& input, std::int64_t dim) {
  BP_CHECK(input.ndim() > 0, "glu: a 0-dim tensor has no halves; reshape it");
  const std::int64_t along = wrap_dim("glu", dim, input.ndim()), size = input.size(along);
  BP_CHECK(size % 2 == 0, "glu: dimension {} of shape {} has {} elements; make them even", along,
           to_string(input.shape()), size);
  return mul(narrow(input, along, 0, size / 2), sigmoid(narrow(input, along, size / 2, size / 2)));
}

Tensor leaky_by_channel(const Tensor& input, const Tensor& weight) {
  BP_CHECK(weight.ndim() <= 1 && input.dtype() == weight.dtype(),
           "prelu: weight is {} of shape {} beside an input of {}; pass a vector of input's dtype",
           name(weight.dtype()), to_string(weight.shape()), name(input.dtype()));
  Dims line(static_cast<std::uint32_t>(input.ndim()), 1);
  if (weight.numel() != 1) {
    BP_CHECK(input.ndim() > 0 && weight.numel() == (input.ndim() > 1 ? input.size(1) : 1),
             "prelu: {} weights for shape {}; pass one, or one for each index of dimension 1",
             weight.numel(), to_string(input.shape()));
    line[1] = weight.numel();
  }
  // No product is made of what is not taken: its derivative could be 0 times infinity.
  const Tensor is_above = gt(input, 0);
  return where(is_above, input, mul(reshape(weight, line), where(is_above, 0, input)));
}

Tensor logarithm_of_odds(const Tensor& given, std::optional<double> eps) {
  // 1 - input of whole numbers without a sign would wrap around.
  const Tensor input = is_floating(given.dtype()) ? given : cast(given, default_dtype());
  Tensor part = eps ? clamp(input, *eps, 1 - *eps) : input;
  if (eps && *eps > 0.5)
    part = where(lt(input, *eps), *eps, part);  // limits that cross, as in PyTorch
  return log(div(part, sub(1, part)));
}

Tensor cosine_sides(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                    std::string_view reduction) {
  BP_CHECK(
      target.ndim() <= 1 && input1.ndim() == target.ndim() + 1 && input2.ndim() == input1.ndim(),
      "cosine_embedding_loss: inputs of shape {} and {} and target {}; pass vectors and a "
      "number, or matrices and a vector",
      to_string(input1.shape()), to_string(input2.shape()), to_string(target.shape()));
  constexpr double least = 1e-12;  // PyTorch's
  const Tensor product = sum(mul(input1, input2), {-1});
  const Tensor squares =
      mul(add(sum(mul(input1, input1), {-1}), least), add(sum(mul(input2, input2), {-1}), least));
  const Tensor cosine = div(product, sqrt(squares));
  const Tensor apart = where(eq(target, -1), clamp_min(sub(cosine, margin), 0), 0);
  return reduced_loss("cosine_embedding_loss", add(where(eq(target, 1), sub(1, cosine), 0), apart),
                      reduction);
}

Tensor triplet_by_distances(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                            double margin, double p, double eps, bool swap,
                            std::string_view reduction) {
  BP_CHECK(anchor.ndim() == positive.ndim() && anchor.ndim() == negative.ndim(),
           "triplet_margin_loss: shapes {}, {} and {}; make their ranks equal",
           to_string(anchor.shape()), to_string(positive.shape()), to_string(negative.shape()));
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduced_loss("triplet_margin_loss", clamp_min(add(sub(near, far), margin), 0), reduction);
}

Tensor margins_of_classes(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                          const Tensor& weight, std::string_view reduction) {
  const bool is_vector = input.ndim() < 2;
  BP_CHECK(is_vector || input.ndim() == 2,
           "multi_margin_loss: input has shape {}; pass [classes] "
           "or [batch, classes]",
           to_string(input.shape()));
  BP_CHECK(p == 1 || p == 2, "multi_margin_loss: p is {}; pass 1 or 2", p);
  const Tensor scores = is_vector ? reshape(input, {1, input.numel()}) : input;
  const std::int64_t rows = scores.size(0), classes = scores.size(1);
  BP_CHECK(target.numel() == rows, "multi_margin_loss: {} targets for {} rows; pass one for each",
           target.numel(), rows);
  BP_CHECK(!weight.defined() || weight.numel() == classes,
           "multi_margin_loss: {} weights for {} classes; pass one for each", weight.numel(),
           classes);
  const Tensor names = reshape(target, {rows, 1});
  const Tensor short_of = clamp_min(add(sub(margin, gather(scores, 1, names)), scores), 0);
  const Tensor is_other = ne(arange(0, classes, 1, i64, input.device()), names);
  Tensor missing = where(is_other, p == 1 ? short_of : mul(short_of, short_of), 0);
  if (weight.defined())
    missing = mul(missing, reshape(index_select(weight, 0, reshape(target, {rows})), {rows, 1}));
  const Tensor loss = div(sum(missing, {1}), static_cast<double>(classes));
  const bool is_one = is_vector && reduction == "none";
  return reduced_loss("multi_margin_loss", is_one ? reshape(loss, target.shape()) : loss,
                      reduction);
}

}  // namespace bp
