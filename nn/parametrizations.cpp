#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/parametrizations.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

// The 2-norms over all dimensions but one, which stay as dimensions of size 1; over all, one number, for -1.
Tensor norm_except(const Tensor& tensor, std::int64_t dim) {
  if (dim == -1) return norm(tensor);
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < tensor.ndim(); ++i)
    if (i != dim) others.push_back(i);
  return others.empty() ? abs(tensor) : norm(tensor, 2, others, true);
}

}  // namespace

std::vector<Tensor> WeightNorm::forward_all(std::span<const Tensor> originals) const {
  BP_CHECK(originals.size() == 2, "weight_norm: got {} originals; pass length and direction",
           originals.size());
  return {bp::weight_norm(originals[1], originals[0], dim_)};
}

std::vector<Tensor> WeightNorm::right_inverse(const Tensor& value) const {
  BP_CHECK(dim_ >= -1 && dim_ < value.ndim(),
           "weight_norm: there is no dimension {} in shape {}; pass one of its dimensions, or -1 "
           "for all",
           dim_, bp::to_string(value.shape()));
  return {norm_except(value, dim_), value};
}

SpectralNorm::SpectralNorm(const Tensor& weight, const SpectralNormOptions& options)
    : options_(options) {
  BP_CHECK(options.dim >= -weight.ndim() && options.dim < weight.ndim(),
           "spectral_norm: no dimension {} of shape {}", options.dim,
           bp::to_string(weight.shape()));
  BP_CHECK(options.n_power_iterations > 0,
           "spectral_norm: n_power_iterations is {}; pass one at least",
           options.n_power_iterations);
  if (weight.ndim() < 2) return;
  const NoGrad no_grad;
  const Tensor matrix = as_matrix(detach(weight));
  const auto drawn = [&](std::int64_t size) {
    return normalize(randn({size}, matrix.dtype(), matrix.device()), 2, 0, options.eps);
  };
  u_ = drawn(matrix.size(0));
  v_ = drawn(matrix.size(1));
  iterate(matrix, 15);
}

void SpectralNorm::list_parts(Parts& parts) {
  parts.buffer("_u", u_);
  parts.buffer("_v", v_);
}

Tensor SpectralNorm::as_matrix(const Tensor& weight) const {
  const std::int64_t dim = options_.dim < 0 ? options_.dim + weight.ndim() : options_.dim;
  return flatten(dim == 0 ? weight : movedim(weight, {dim}, {0}), 1);
}

void SpectralNorm::iterate(const Tensor& matrix, std::int64_t times) const {
  for (std::int64_t i = 0; i < times; ++i) {
    copy_(u_, normalize(mv(matrix, v_), 2, 0, options_.eps));
    copy_(v_, normalize(mv(transpose(matrix, 0, 1), u_), 2, 0, options_.eps));
  }
}

Tensor SpectralNorm::forward(const Tensor& weight) const {
  if (!u_.defined()) return normalize(weight, 2, 0, options_.eps);
  const Tensor matrix = as_matrix(weight);
  if (is_training()) {
    const NoGrad no_grad;
    iterate(detach(matrix), options_.n_power_iterations);
  }
  // Copies, since the next call writes the buffers before this one's backward may have read them.
  const Tensor u = bp::clone(u_), v = bp::clone(v_);
  return weight / dot(u, mv(matrix, v));
}

namespace {

// The orthogonal factor of the columns, of determined signs.
Tensor orthogonalized(const Tensor& columns) {
  const LinalgQrResult parts = linalg_qr(columns);
  return parts.Q * unsqueeze(sign(diagonal(parts.R, 0, -2, -1)), -2);
}

Tensor identity_of(const Tensor& like) {
  return eye(like.size(-1), like.size(-1), like.dtype(), like.device());
}

// The first columns of the product of reflections I - tau v v^H, where v has 1 at its own place and what `reflectors` has
// below it.
Tensor reflected(const Tensor& reflectors, const Tensor& tau) {
  const std::int64_t rows = reflectors.size(-2), columns = reflectors.size(-1);
  const Tensor unit = eye(rows, columns, reflectors.dtype(), reflectors.device());
  const Tensor vectors = tril(reflectors, -1) + unit;
  std::vector<std::int64_t> shape(reflectors.shape().begin(), reflectors.shape().end());
  Tensor product = expand(unit, shape);
  for (std::int64_t i = columns; i-- > 0;) {
    const Tensor v = narrow(vectors, -1, i, 1);
    const Tensor factor = unsqueeze(narrow(tau, -1, i, 1), -1);
    product = product - factor * matmul(v, matmul(conj(transpose(v, -2, -1)), product));
  }
  return product;
}

// The reflections of a QR decomposition, as LAPACK's geqrf finds them, and on the diagonal the signs by which their product
// gives columns that were orthonormal.
Tensor reflectors_of(const Tensor& matrix) {
  const std::int64_t rows = matrix.size(-2), columns = matrix.size(-1);
  const Tensor rest = bp::clone(matrix);
  std::vector<Tensor> reflectors;
  for (std::int64_t i = 0; i < columns; ++i) {
    const Tensor below = narrow(rest, -2, i, rows - i);
    const Tensor column = narrow(below, -1, i, 1);
    const Tensor first = narrow(column, -2, 0, 1), tail = narrow(column, -2, 1, rows - i - 1);
    const Tensor squares = sum(tail * tail, -2, true);
    const Tensor is_done = squares == 0;
    const Tensor image = where(is_done, first, neg(copysign(sqrt(first * first + squares), first)));
    const Tensor tau = where(is_done, Scalar(0.0), (image - first) / image);
    const Tensor direction = where(is_done, Scalar(0.0), tail / (first - image));
    const Tensor v = cat({ones_like(first), direction}, -2);
    const Tensor diagonal = where(is_done, neg(sign(image)), sign(image));
    reflectors.push_back(
        cat({narrow(zeros_like(narrow(rest, -1, i, 1)), -2, 0, i), diagonal, direction}, -2));
    copy_(below, below - tau * matmul(v, matmul(transpose(v, -2, -1), below)));
  }
  return cat(reflectors, -1);
}

}  // namespace

Orthogonal::Orthogonal(const Tensor& weight, const OrthogonalOptions& options) {
  BP_CHECK(weight.ndim() >= 2, "orthogonal: the member has shape {}; pass matrices",
           bp::to_string(weight.shape()));
  const bool is_square = weight.size(-1) == weight.size(-2) || is_complex(weight.dtype());
  map_ = options.orthogonal_map.value_or(is_square ? "matrix_exp" : "householder");
  BP_CHECK(map_ == "matrix_exp" || map_ == "cayley" || map_ == "householder",
           "orthogonal: no map '{}'; use 'matrix_exp', 'cayley' or 'householder'", map_);
  BP_CHECK(map_ != "householder" || !is_complex(weight.dtype()),
           "orthogonal: the map 'householder' takes real tensors, and the member is {}; use "
           "'matrix_exp' or 'cayley'",
           bp::name(weight.dtype()));
  if (!options.use_trivialization) return;
  const std::int64_t longer = std::max(weight.size(-1), weight.size(-2));
  std::vector<std::int64_t> shape(weight.shape().begin(), weight.shape().end());
  shape.end()[-1] = shape.end()[-2] = longer;
  base_ = empty(shape, weight.dtype(), weight.device());
}

void Orthogonal::list_parts(Parts& parts) {
  parts.buffer("base", base_);
}

Tensor Orthogonal::forward(const Tensor& original) const {
  const bool is_wide = original.size(-2) < original.size(-1);
  const Tensor x = is_wide ? transpose(original, -2, -1) : original;
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  Tensor q;
  if (map_ == "householder") {
    const Tensor below = tril(x, -1);
    const Tensor tau = Scalar(2.0) / (sum(below * below, -2) + 1);
    q = reflected(below, tau) * unsqueeze(trunc(diagonal(x, 0, -2, -1)), -2);
  } else {
    Tensor lower = tril(x);
    if (rows != columns) lower = constant_pad_nd(lower, {0, rows - columns});
    const Tensor skew = lower - conj(transpose(lower, -2, -1));
    if (map_ == "matrix_exp") {
      q = linalg_matrix_exp(skew);
    } else {
      const Tensor unit = identity_of(skew);
      q = linalg_solve(sub(unit, skew, 0.5), add(unit, skew, 0.5));
    }
    if (rows != columns) q = narrow(q, -1, 0, columns);
  }
  if (base_.defined()) q = matmul(base_, q);
  return is_wide ? transpose(q, -2, -1) : q;
}

// With a base, that becomes the value, and the original what gives the identity.
std::vector<Tensor> Orthogonal::right_inverse(const Tensor& value) const {
  const bool is_wide = value.size(-2) < value.size(-1);
  const Tensor x = is_wide ? transpose(value, -2, -1) : value;
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  if (base_.defined()) {
    Tensor all = x;
    if (rows != columns) {
      std::vector<std::int64_t> shape(x.shape().begin(), x.shape().end());
      shape.back() = rows - columns;
      all = cat({x, randn(shape, x.dtype(), x.device())}, -1);
    }
    const Tensor gram = matmul(conj(transpose(all, -2, -1)), all);
    const double far = item<double>(max(abs(gram - identity_of(all))));
    copy_(base_, far < 1e-6 && rows == columns ? all : orthogonalized(all));
    const Tensor diagonal = eye(value.size(-2), value.size(-1), value.dtype(), value.device());
    return {expand(neg(diagonal), value.shape())};
  }
  if (map_ != "householder") return {value};
  const Tensor reflectors = reflectors_of(x);
  return {is_wide ? transpose(reflectors, -2, -1) : reflectors};
}

}  // namespace bp::nn
