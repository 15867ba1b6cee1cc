// Layers that learn the size of their input from the first one that they see, or from a state_dict.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <backplane/nn/convolution.hpp>
#include <backplane/nn/linear.hpp>
#include <backplane/nn/normalization.hpp>

namespace bp::nn {

// Gives the lazy layers in `model` their parameters:
//
//   nn::Sequential net(nn::LazyConv2d(8, 3), nn::ReLU(), nn::Flatten(), nn::LazyLinear(10));
//   nn::materialize(net, images);                // [N, C, H, W]
//   optim::SGD optimizer(net.parameters(), ...); // before that, they were not among them
//
// Calls the model once, by call_all, in evaluation and without recording, so that running statistics stay; each lazy layer
// takes the size of the first input that reaches it, and begins with the numbers that its constructor draws once the size
// is known. Does nothing if no layer waits.
// Throws what the call throws, and bad_argument, naming the layers, if the call did not reach some; the layers that it did
// reach keep what they got, and the modes are restored. Threads: nobody else uses the model.
BP_API void materialize(Module& model, TensorList inputs);
template <std::same_as<Tensor>... T> void materialize(Module& model, const T&... inputs) {
  materialize(model, TensorList{inputs...});
}
// The same for a model whose forward takes other arguments, or needs several calls to reach all layers: `call`
// makes the calls.
BP_API void materialize(Module& model, const std::function<void()>& call);

class Lazy;

namespace detail {
// Access to modules for lazy layers.
struct BP_API Materializing {
  static void clear(Module& module);
  // Throws bad_argument for a lazy layer that waits for its size.
  static void check_materialized(const Module& module);
  // Puts the hooks and the mode of `module` into `layer`, which takes its place.
  static void hand_over(Module& module, Module& layer);
  static void set_training(Module& module, bool mode);
  // The layer whose tensors a load writes: the module, or what it becomes of the dict's sizes.
  struct Candidate {
    std::unique_ptr<Module> layer;
    bool has_size;
  };
  using Candidates = std::vector<std::pair<Lazy*, Candidate>>;
  static Module& loaded(Module& module, const std::string& prefix, const StateDict& dict,
                        Candidates& candidates);
  static void adopt(Candidates& candidates);
  static void remember(Module& module, const Device* device, const Dtype* dtype);
  static void remember_grad(Module& module, bool wanted);
};
}  // namespace detail

// The base of lazy layers. Until its size is known, such a layer has no parameters: they are absent from all that
// lists them, and a call throws bad_argument. Device, dtype and requires_grad that the model is given meanwhile are
// remembered; a memory format is not. A copy made meanwhile gets parameters of its own.
class BP_API Lazy {
 public:
  virtual ~Lazy() = default;
  bool is_materialized() const { return is_materialized_; }
  // Sets the size from an input of this shape; does nothing the second time. Throws bad_argument for an input that the
  // layer does not accept.
  void materialize_for(const Tensor& input);

 protected:
  struct Traits {
    const char* name;  // "LazyLinear"
    // Which dimension of an input of which rank has the size; empty: the last of any.
    std::vector<std::pair<std::int64_t, std::int64_t>> sizes_at;
    // Which dimension of the weight has it, divided by what.
    std::size_t weight_dimension;
    std::int64_t divisor;
  };
  Lazy(Traits traits, Dtype dtype, Device device)
      : traits_(std::move(traits)), dtype_(dtype), device_(device) {}
  Lazy(const Lazy&) = default;
  Lazy(Lazy&&) noexcept = default;
  Lazy& operator=(const Lazy&) = default;
  Lazy& operator=(Lazy&&) noexcept = default;

  void check_materialized() const;
  void set_materialized() { is_materialized_ = true; }
  const char* name() const { return traits_.name + (is_materialized_ ? 4 : 0); }
  Dtype dtype() const { return dtype_; }

 private:
  friend struct detail::Materializing;
  friend BP_API void materialize(Module& model, const std::function<void()>& call);
  std::unique_ptr<Module> finished(std::int64_t size, Device device) const;
  virtual std::unique_ptr<Module> layer(std::int64_t size, Device device) const = 0;
  virtual void adopt(Module& layer) = 0;
  // Becomes a copy of another one of its class.
  virtual void share(const Lazy& other) = 0;

  Traits traits_;
  Dtype dtype_;
  Device device_;
  bool requires_grad_ = true;
  bool is_materialized_ = false;
};

// Behaves and prints like an ordinary Layer once its size is known.
template <class Layer> class BP_API LazyLayer : public Layer, public Lazy {
 public:
  std::string type_name() const override { return name(); }
  std::string extra_repr() const override {
    return is_materialized() ? Layer::extra_repr() : make_(0, dtype(), meta_device).extra_repr();
  }
  using Layer::forward;
  Tensor forward(const Tensor& x) const override {
    check_materialized();
    return Layer::forward(x);
  }

 protected:
  using Make = std::function<Layer(std::int64_t size, Dtype dtype, Device device)>;
  // Throws what the layer's constructor throws, whose other arguments `make` holds.
  LazyLayer(Traits traits, Make make, Dtype dtype, Device device)
      : Layer(make(0, dtype, meta_device)), Lazy(std::move(traits), dtype, device),
        make_(std::move(make)) {
    detail::Materializing::clear(*this);
  }

 private:
  std::unique_ptr<Module> layer(std::int64_t size, Device device) const override {
    return std::make_unique<Layer>(make_(size, dtype(), device));
  }
  void adopt(Module& made) override {
    detail::Materializing::hand_over(*this, made);
    Layer::operator=(std::move(static_cast<Layer&>(made)));
    set_materialized();
  }
  void share(const Lazy& other) override {
    Layer copy(dynamic_cast<const LazyLayer&>(other));
    adopt(copy);
  }

  Make make_;
};

// in_features is the input's last size.
class BP_API LazyLinear : public LazyLayer<Linear> {
 public:
  explicit LazyLinear(std::int64_t out_features, const LinearOptions& options = {});
};

#define BP_NN_LAZY_CONVOLUTION(Name, Options)                                                     \
  class BP_API Lazy##Name : public LazyLayer<Name> {                                              \
   public:                                                                                        \
    Lazy##Name(std::int64_t out_channels, const Sizes& kernel_size, const Options& options = {}); \
  }
// in_channels are the input's, with or without a batch.
BP_NN_LAZY_CONVOLUTION(Conv1d, ConvOptions);
BP_NN_LAZY_CONVOLUTION(Conv2d, ConvOptions);
BP_NN_LAZY_CONVOLUTION(Conv3d, ConvOptions);
BP_NN_LAZY_CONVOLUTION(ConvTranspose1d, ConvTransposeOptions);
BP_NN_LAZY_CONVOLUTION(ConvTranspose2d, ConvTransposeOptions);
BP_NN_LAZY_CONVOLUTION(ConvTranspose3d, ConvTransposeOptions);
#undef BP_NN_LAZY_CONVOLUTION

// Unlike those of InstanceNorm, these have parameters and running statistics by default, as PyTorch's.
struct LazyInstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
  bool bias = true;
  Dtype dtype = default_dtype();
  Device device = default_device();
};

#define BP_NN_LAZY_NORM(Name, Options)                \
  class BP_API Lazy##Name : public LazyLayer<Name> {  \
   public:                                            \
    explicit Lazy##Name(const Options& options = {}); \
  }
// num_features is the number of the input's channels. An instance norm without parameters and running statistics waits for
// nothing, and has 0, as in PyTorch.
BP_NN_LAZY_NORM(BatchNorm1d, BatchNormOptions);
BP_NN_LAZY_NORM(BatchNorm2d, BatchNormOptions);
BP_NN_LAZY_NORM(BatchNorm3d, BatchNormOptions);
BP_NN_LAZY_NORM(InstanceNorm1d, LazyInstanceNormOptions);
BP_NN_LAZY_NORM(InstanceNorm2d, LazyInstanceNormOptions);
BP_NN_LAZY_NORM(InstanceNorm3d, LazyInstanceNormOptions);
#undef BP_NN_LAZY_NORM

}  // namespace bp::nn
