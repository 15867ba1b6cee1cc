// Parametrizations that torch.nn.utils.parametrizations has.
#pragma once

#include <optional>
#include <string>

#include <backplane/nn/parametrize.hpp>

namespace bp::nn {

// original0 * original1 / |original1|, with the 2-norm over all dimensions but `dim`; over all of them for -1 (Salimans and Kingma,
// Weight normalization, 2016).
class BP_API WeightNorm : public Parametrization {
 public:
  explicit WeightNorm(std::int64_t dim = 0) : dim_(dim) {}
  std::string type_name() const override { return "_WeightNorm"; }
  std::vector<Tensor> forward_all(std::span<const Tensor> originals) const override;
  std::vector<Tensor> right_inverse(const Tensor& value) const override;

 private:
  std::int64_t dim_;
};

struct SpectralNormOptions {
  std::int64_t n_power_iterations = 1;
  double eps = 1e-12;
  std::int64_t dim = 0;
};

// The original divided by its largest singular value, seen as a matrix of size(dim) rows; of a
// vector, by its 2-norm. Each call in training improves the estimate of the singular vectors, in
// the buffers _u and _v, so that two threads must not train it at once (Miyato et al., Spectral
// normalization for generative adversarial networks, 2018).
class BP_API SpectralNorm : public Parametrization {
 public:
  explicit SpectralNorm(const Tensor& weight, const SpectralNormOptions& options = {});
  std::string type_name() const override { return "_SpectralNorm"; }
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& weight) const override;

 private:
  Tensor as_matrix(const Tensor& weight) const;
  void iterate(const Tensor& matrix, std::int64_t times) const;

  SpectralNormOptions options_;
  Tensor u_, v_;  // absent for a vector
};

struct OrthogonalOptions {
  // How a matrix becomes an orthogonal one: "matrix_exp" (Lezcano-Casado and Martinez-Rubio, Cheap orthogonal constraints in
  // neural networks, 2019), "cayley", or "householder", a product of reflections. By default the first of square
  // matrices, and the last of others.
  std::optional<std::string> orthogonal_map = {};
  // Begins at the member's present value, kept in the buffer `base`, so that the original moves near the identity. Without it
  // only "householder" begins there; of the other two the present value is the original.
  bool use_trivialization = true;
};

// A matrix with orthonormal columns, or rows if it has fewer of these; of batches of matrices, each.
class BP_API Orthogonal : public Parametrization {
 public:
  explicit Orthogonal(const Tensor& weight, const OrthogonalOptions& options = {});
  std::string type_name() const override { return "_Orthogonal"; }
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& original) const override;
  std::vector<Tensor> right_inverse(const Tensor& value) const override;

 private:
  std::string map_;
  Tensor base_;  // absent without trivialization; written by right_inverse, in place
};

namespace utils::parametrizations {

// Each returns the module, whose member `name` is computed from now on.
template <std::derived_from<Module> M>
M& weight_norm(M& module, const std::string& name = "weight", std::int64_t dim = 0) {
  parametrize::register_parametrization(module, name, WeightNorm(dim));
  return module;
}

// Without `dim`, 1 for transposed convolutions and 0 else.
template <std::derived_from<Module> M>
M& spectral_norm(M& module, const std::string& name = "weight", std::int64_t n_power_iterations = 1,
                 double eps = 1e-12, std::optional<std::int64_t> dim = std::nullopt) {
  const bool is_transposed = module.type_name().starts_with("ConvTranspose");
  const SpectralNormOptions options{n_power_iterations, eps, dim.value_or(is_transposed ? 1 : 0)};
  parametrize::register_parametrization(module, name,
                                        SpectralNorm(parametrize::value(module, name), options));
  return module;
}

template <std::derived_from<Module> M>
M& orthogonal(M& module, const std::string& name = "weight",
              const OrthogonalOptions& options = {}) {
  parametrize::register_parametrization(module, name,
                                        Orthogonal(parametrize::value(module, name), options));
  return module;
}

}  // namespace utils::parametrizations
}  // namespace bp::nn
