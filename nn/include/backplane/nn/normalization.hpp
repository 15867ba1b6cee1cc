// Layers that normalize their input to mean 0 and variance 1, or to size 1: over the batch, over channels, over
// features.
#pragma once

#include <backplane/loading/loader.hpp>
#include <backplane/nn/stateless.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // none: the running statistics are means over all batches
  bool affine = true;
  bool track_running_stats = true;
  bool bias = true;  // with `affine`
  Dtype dtype = default_dtype();
  Device device = default_device();
};

struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
  bool bias = true;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// The base of batch and instance norms: weights that begin as 1, biases as 0, and running statistics, which training writes in
// place and evaluation reads. Threads: in training, one at a time.
class BP_API RunningNorm : public Module {
 public:
  void list_parts(Parts& parts) override;
  std::string extra_repr() const override;
  // Resets the running statistics.
  void reset_running_stats();
  // The options', which may be changed between calls.
  std::optional<double> momentum() const { return options_.momentum; }
  void set_momentum(std::optional<double> momentum) { options_.momentum = momentum; }

  Parameter weight, bias;            // [num_features], or absent
  Tensor running_mean, running_var;  // [num_features], or absent
  Tensor num_batches_tracked;        // one int64, or absent

 protected:
  RunningNorm(const char* layer, std::size_t spatial_rank, std::int64_t num_features,
              const BatchNormOptions& options);
  const BatchNormOptions& options() const { return options_; }
  const char* layer() const { return layer_; }
  std::size_t spatial_rank() const { return spatial_rank_; }
  std::int64_t num_features() const { return num_features_; }

 private:
  const char* layer_;
  std::size_t spatial_rank_;
  std::int64_t num_features_;
  BatchNormOptions options_;
};

// (x - mean) / sqrt(variance + eps) of each channel over the batch, times weight, plus bias (Ioffe and Szegedy, Batch
// Normalization, 2015). In evaluation by the running statistics, if there are any.
class BP_API BatchNorm : public RunningNorm {
 public:
  Tensor forward(const Tensor& x) const override;

 protected:
  using RunningNorm::RunningNorm;
};

// The same for each image on its own (Ulyanov et al., Instance Normalization, 2017). [N, C, ...], or without the
// batch.
class BP_API InstanceNorm : public RunningNorm {
 public:
  Tensor forward(const Tensor& x) const override;

 protected:
  InstanceNorm(const char* layer, std::size_t spatial_rank, std::int64_t num_features,
               const InstanceNormOptions& options);
};

#define BP_NN_NORM(Name, Base, rank)                                            \
  class Name : public Base {                                                    \
   public:                                                                      \
    explicit Name(std::int64_t num_features, const Base##Options& options = {}) \
        : Base(#Name, rank, num_features, options) {}                           \
  }
// [N, C] or [N, C, L]; [N, C, H, W]; [N, C, D, H, W].
BP_NN_NORM(BatchNorm1d, BatchNorm, 1);
BP_NN_NORM(BatchNorm2d, BatchNorm, 2);
BP_NN_NORM(BatchNorm3d, BatchNorm, 3);
BP_NN_NORM(InstanceNorm1d, InstanceNorm, 1);
BP_NN_NORM(InstanceNorm2d, InstanceNorm, 2);
BP_NN_NORM(InstanceNorm3d, InstanceNorm, 3);
#undef BP_NN_NORM

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;  // with `elementwise_affine`
  Dtype dtype = default_dtype();
  Device device = default_device();
};
// Over the last dimensions, whose sizes are normalized_shape (Ba et al., Layer Normalization, 2016).
class BP_API LayerNorm : public Module {
 public:
  explicit LayerNorm(const Sizes& normalized_shape, const LayerNormOptions& options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

  Parameter weight, bias;  // normalized_shape, or absent

 private:
  std::vector<std::int64_t> normalized_shape_;
  LayerNormOptions options_;
};

struct RMSNormOptions {
  std::optional<double> eps = {};  // by default the distance from 1 to the next number of the dtype
  bool elementwise_affine = true;
  Dtype dtype = default_dtype();
  Device device = default_device();
};
// x / sqrt(mean of x * x + eps) over the last dimensions, times weight (Zhang and Sennrich, Root Mean Square Layer
// Normalization, 2019).
class BP_API RMSNorm : public Module {
 public:
  explicit RMSNorm(const Sizes& normalized_shape, const RMSNormOptions& options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

  Parameter weight;  // normalized_shape, or absent

 private:
  std::vector<std::int64_t> normalized_shape_;
  RMSNormOptions options_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  bool bias = true;  // with `affine`
  Dtype dtype = default_dtype();
  Device device = default_device();
};
// Over groups of channels of [N, C, ...] (Wu and He, Group Normalization, 2018). Throws bad_argument where num_groups does
// not divide num_channels.
class BP_API GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels,
            const GroupNormOptions& options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

  Parameter weight, bias;  // [num_channels], or absent

 private:
  std::int64_t num_groups_, num_channels_;
  GroupNormOptions options_;
};

struct BP_API LocalResponseNormOptions {
  std::int64_t size = 1;  // how many neighbouring channels
  double alpha = 1e-4, beta = 0.75, k = 1;
  void check() const;
  Tensor apply(const Tensor& x) const;
  std::string text() const;
};
// x / (k + alpha * mean of the squares in neighbouring channels) ** beta (Krizhevsky et al., ImageNet Classification,
// 2012). If size is even, the window has one channel more in front.
class LocalResponseNorm : public Stateless<LocalResponseNormOptions> {
 public:
  explicit LocalResponseNorm(std::int64_t size, LocalResponseNormOptions options = {})
      : Stateless((options.size = size, options)) {}
};

}  // namespace bp::nn
