// Optimizers for large networks: Lion, LAMB, Muon, Adafactor.
#pragma once

#include <backplane/optim/optimizer.hpp>
#include <backplane/tensor/dtype.hpp>

namespace bp::optim {

// All classes of this file throw bad_argument for negative options and betas outside [0, 1).

struct LionOptions {
  double lr = 1e-4;
  std::array<double, 2> betas{0.9, 0.99};
  double weight_decay = 0;
  bool maximize = false;
};

// Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms": with c = betas[0] * m + (1 - betas[0]) * g,
// parameter -= lr * (sign(c) + weight_decay * parameter), then m = betas[1] * m + (1 - betas[1]) * g.
class BP_API Lion : public OptimizerOf<LionOptions> {
 public:
  BP_OPTIMIZER(Lion)

 protected:
  void check_options(const LionOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct LAMBOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 1e-2;
  bool maximize = false;
};

// You et al., 2020, "Large Batch Optimization for Deep Learning": with r Adam's direction and u = r + weight_decay * parameter,
// parameter -= lr * |parameter| / |u| * u, or lr * u where one of the norms is 0. Norms are those of a whole parameter.
class BP_API LAMB : public OptimizerOf<LAMBOptions> {
 public:
  BP_OPTIMIZER(LAMB)

 protected:
  void check_options(const LAMBOptions& options) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct MuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> ns_coefficients{3.4445, -4.775, 2.0315};
  double eps = 1e-7;
  std::int64_t ns_steps = 5;
  // How the rate follows the matrix's shape: "original" (also the empty one), "match_rms_adamw", or "spectral_unclamped".
  std::string adjust_lr_fn{};
  // In which dtype the momentum is made orthogonal; PyTorch's is always bf16.
  Dtype ns_dtype = bf16;
};

// Jordan et al., 2024: momentum whose matrix is made nearly orthogonal by Newton and Schulz's iteration. Parameters are
// matrices; give vectors and embeddings to AdamW. Matrices of one shape are stacked.
class BP_API Muon : public OptimizerOf<MuonOptions> {
 public:
  // Throws for a parameter that is not a real matrix, for another adjust_lr_fn, and for 100 ns_steps or more.
  BP_OPTIMIZER(Muon)

 protected:
  void check_options(const MuonOptions& options) const override;
  std::vector<State::Entry> switches() const override { return {}; }
  void check_parameter(std::size_t index, const Tensor& parameter) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

struct AdafactorOptions {
  double lr = 1e-2;
  double beta2_decay = -0.8;
  std::pair<std::optional<double>, double> eps{{}, 1e-3};  // absent: the dtype's own
  double d = 1;
  double weight_decay = 0;
  bool maximize = false;
};

// Shazeer and Stern, 2018: squares of matrices are kept as means of their rows and columns. Tensors of one shape are
// stacked.
class BP_API Adafactor : public OptimizerOf<AdafactorOptions> {
 public:
  // Throws for complex parameters, a beta2_decay above 0, and a d below 1.
  BP_OPTIMIZER(Adafactor)

 protected:
  void check_options(const AdafactorOptions& options) const override;
  std::vector<State::Entry> switches() const override { return {State::Entry("foreach", State())}; }
  void check_parameter(std::size_t index, const Tensor& parameter) const override;
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  bool is_kept(std::size_t place, const Tensor& parameter) const override;
  Tensor initial_tensor(std::size_t group, std::size_t place,
                        const Tensor& parameter) const override;
  Dims kept_shape(std::size_t place, const Tensor& parameter) const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
};

}  // namespace bp::optim
