// Layers that reduce each window of their input to one number.
#pragma once

#include <backplane/nn/module.hpp>
#include <backplane/nn/sizes.hpp>

namespace bp::nn {

// Results of pooling and where in the input, counted over its spatial dimensions, they were.
struct PooledWithIndices {
  Tensor values, indices;
};

struct MaxPoolOptions {
  Sizes stride = {};  // by default kernel_size
  Sizes padding = 0;
  Sizes dilation = 1;
  bool ceil_mode = false;  // also windows that begin inside and end outside
};

// The largest of each window. [N, C, ...], or without the batch.
class BP_API MaxPool : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  // PyTorch's return_indices=True.
  PooledWithIndices forward_with_indices(const Tensor& x) const;
  std::string extra_repr() const override;

 protected:
  MaxPool(const char* layer, std::size_t rank, const Sizes& kernel_size,
          const MaxPoolOptions& options);

 private:
  const char* layer_;
  std::size_t rank_;
  Sizes kernel_size_;
  MaxPoolOptions options_;
  struct {
    std::vector<std::int64_t> kernel_size, stride, padding, dilation;
  } each_;  // the same, a number for each dimension
};

struct AvgPoolOptions {
  Sizes stride = {};  // by default kernel_size
  Sizes padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override =
      {};  // in place of the window's size; not for one dimension
};

// The mean of each window.
class BP_API AvgPool : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

 protected:
  AvgPool(const char* layer, std::size_t rank, const Sizes& kernel_size,
          const AvgPoolOptions& options);

 private:
  std::size_t rank_;
  Sizes kernel_size_;
  AvgPoolOptions options_;
};

struct LPPoolOptions {
  Sizes stride = {};  // by default kernel_size
  bool ceil_mode = false;
};

// The norm_type-norm of each window.
class BP_API LPPool : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

 protected:
  LPPool(const char* layer, std::size_t rank, double norm_type, const Sizes& kernel_size,
         const LPPoolOptions& options);

 private:
  std::size_t rank_;
  double norm_type_;
  Sizes kernel_size_;
  LPPoolOptions options_;
};

struct MaxUnpoolOptions {
  Sizes stride = {};  // by default kernel_size
  Sizes padding = 0;
};

// Puts the results of MaxPool's forward_with_indices back in their places, among zeros. `output_size` says which of the sizes
// that pool to the input's it was.
class BP_API MaxUnpool : public Module {
 public:
  using Module::forward;
  Tensor forward(const Tensor& x, const Tensor& indices, IntList output_size = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  Tensor operator()(const Tensor& x, const Tensor& indices, IntList output_size = {}) const {
    return call({x, indices}, [&](const Module& self, std::span<const Tensor> in) {
      const auto& layer = static_cast<const MaxUnpool&>(self);
      return std::vector<Tensor>{layer.forward(in[0], in[1], output_size)};
    })[0];
  }
  std::string extra_repr() const override;

 protected:
  MaxUnpool(const char* layer, std::size_t rank, const Sizes& kernel_size,
            const MaxUnpoolOptions& options);

 private:
  std::size_t rank_;
  Sizes kernel_size_, stride_, padding_;
};

// Means, or the largest, of as many windows as output_size says: window i begins at floor(i * size / n) and ends before
// ceil((i + 1) * size / n).
class BP_API AdaptivePool : public Module {
 public:
  std::string extra_repr() const override;

 protected:
  AdaptivePool(const char* layer, std::size_t rank, const OutputSizes& output_size);
  std::vector<std::int64_t> sizes_for(const Tensor& x) const;
  std::size_t rank() const { return each_rank_; }

 private:
  const char* layer_;
  std::size_t each_rank_;
  OutputSizes given_, each_;
};

class BP_API AdaptiveAvgPool : public AdaptivePool {
 public:
  Tensor forward(const Tensor& x) const override;

 protected:
  using AdaptivePool::AdaptivePool;
};
class BP_API AdaptiveMaxPool : public AdaptivePool {
 public:
  Tensor forward(const Tensor& x) const override;
  PooledWithIndices forward_with_indices(const Tensor& x) const;

 protected:
  using AdaptivePool::AdaptivePool;
};

struct FractionalMaxPoolOptions {
  Sizes output_size = {};  // this,
  std::vector<double> output_ratio =
      {};                      // or parts of the input's size between 0 and 1, one or each
  Tensor random_samples = {};  // [N, C, dimensions] between 0 and 1; by default drawn in each call
};

// The largest of windows whose distances are drawn at random, so that the sizes have any ratio (Graham, Fractional
// Max-Pooling, 2014).
class BP_API FractionalMaxPool : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return forward_with_indices(x).values; }
  PooledWithIndices forward_with_indices(const Tensor& x) const;
  // random_samples are a buffer, by PyTorch's name, `_random_samples`.
  void list_parts(Parts& parts) override;

 protected:
  FractionalMaxPool(const char* layer, std::size_t rank, const Sizes& kernel_size,
                    const FractionalMaxPoolOptions& options);

 private:
  std::vector<std::int64_t> output_sizes(IntList input_sizes) const;

  const char* layer_;
  std::size_t rank_;
  Sizes kernel_size_, output_size_;
  std::vector<double> output_ratio_;
  Tensor random_samples_;
};

#define BP_NN_POOL(Name, Base, rank)                                           \
  class Name : public Base {                                                   \
   public:                                                                     \
    explicit Name(const Sizes& kernel_size, const Base##Options& options = {}) \
        : Base(#Name, rank, kernel_size, options) {}                           \
  }
BP_NN_POOL(MaxPool1d, MaxPool, 1);
BP_NN_POOL(MaxPool2d, MaxPool, 2);
BP_NN_POOL(MaxPool3d, MaxPool, 3);
BP_NN_POOL(AvgPool1d, AvgPool, 1);
BP_NN_POOL(AvgPool2d, AvgPool, 2);
BP_NN_POOL(AvgPool3d, AvgPool, 3);
BP_NN_POOL(MaxUnpool1d, MaxUnpool, 1);
BP_NN_POOL(MaxUnpool2d, MaxUnpool, 2);
BP_NN_POOL(MaxUnpool3d, MaxUnpool, 3);
BP_NN_POOL(FractionalMaxPool2d, FractionalMaxPool, 2);
BP_NN_POOL(FractionalMaxPool3d, FractionalMaxPool, 3);
#undef BP_NN_POOL

#define BP_NN_POOL(Name, rank)                                                          \
  class Name : public LPPool {                                                          \
   public:                                                                              \
    Name(double norm_type, const Sizes& kernel_size, const LPPoolOptions& options = {}) \
        : LPPool(#Name, rank, norm_type, kernel_size, options) {}                       \
  }
BP_NN_POOL(LPPool1d, 1);
BP_NN_POOL(LPPool2d, 2);
BP_NN_POOL(LPPool3d, 3);
#undef BP_NN_POOL

#define BP_NN_POOL(Name, Base, rank)                                                  \
  class Name : public Base {                                                          \
   public:                                                                            \
    explicit Name(const OutputSizes& output_size) : Base(#Name, rank, output_size) {} \
  }
BP_NN_POOL(AdaptiveAvgPool1d, AdaptiveAvgPool, 1);
BP_NN_POOL(AdaptiveAvgPool2d, AdaptiveAvgPool, 2);
BP_NN_POOL(AdaptiveAvgPool3d, AdaptiveAvgPool, 3);
BP_NN_POOL(AdaptiveMaxPool1d, AdaptiveMaxPool, 1);
BP_NN_POOL(AdaptiveMaxPool2d, AdaptiveMaxPool, 2);
BP_NN_POOL(AdaptiveMaxPool3d, AdaptiveMaxPool, 3);
#undef BP_NN_POOL

}  // namespace bp::nn
