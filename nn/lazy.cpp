#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/nn/lazy.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>

#include "training_modes.hpp"
#include "walk.hpp"

namespace bp::nn {
namespace {

// Those that still wait, by path.
std::vector<std::pair<std::string, Lazy*>> waiting_in(Module& model) {
  std::vector<std::pair<std::string, Lazy*>> all;
  for (const auto& [path, module] : model.named_modules())
    if (auto* lazy = dynamic_cast<Lazy*>(module); lazy && !lazy->is_materialized())
      all.emplace_back(path, lazy);
  return all;
}

// The model in evaluation and with hooks, until it is destroyed.
class DryRun {
 public:
  explicit DryRun(Module& model) : modes_(model, false) {}
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;
  ~DryRun() {
    for (HookHandle& hook : hooks_) hook.remove();
  }

  void hook(Module& module, ForwardPreHook before) {
    hooks_.reserve(hooks_.size() + 1);
    hooks_.push_back(module.register_forward_pre_hook(std::move(before)));
  }

 private:
  TrainingModes modes_;
  std::vector<HookHandle> hooks_;
};

using SizesAt = std::vector<std::pair<std::int64_t, std::int64_t>>;

SizesAt channels(std::int64_t spatial_rank) {
  return {{spatial_rank + 2, 1}, {spatial_rank + 1, 0}};
}

SizesAt features(std::int64_t spatial_rank) {
  if (spatial_rank == 1) return {{3, 1}, {2, 1}};
  return {{spatial_rank + 2, 1}};
}

template <class Options> Options placed(Options options, Dtype dtype, Device device) {
  options.dtype = dtype;
  options.device = device;
  return options;
}

InstanceNormOptions placed(const LazyInstanceNormOptions& options, Dtype dtype, Device device) {
  return {options.eps,    options.momentum,
          options.affine, options.track_running_stats,
          options.bias,   dtype,
          device};
}

}  // namespace

void materialize(Module& model, TensorList inputs) {
  materialize(model, [&] { model.call_all(inputs); });
}

void materialize(Module& model, const std::function<void()>& call) {
  const auto waiting = waiting_in(model);
  if (waiting.empty()) return;
  {
    DryRun run(model);
    for (const auto& [path, lazy] : waiting)
      run.hook(dynamic_cast<Module&>(*lazy),
               [lazy = lazy](const Module& called, std::span<const Tensor> inputs) {
                 lazy->materialize_for(inputs.empty() ? Tensor() : inputs[0]);
                 // A module with computed members runs as a copy of itself, in which the layer is a copy, too.
                 const auto* copy = dynamic_cast<const Lazy*>(&called);
                 if (copy && !copy->is_materialized()) const_cast<Lazy*>(copy)->share(*lazy);
                 return std::vector<Tensor>();
               });
    const NoGrad no_grad;
    call();
  }
  std::string paths;
  for (const auto& [path, lazy] : waiting)
    if (!lazy->is_materialized()) paths += fmt::format("{}'{}'", paths.empty() ? "" : ", ", path);
  BP_CHECK(paths.empty(),
           "materialize: the call did not reach {}; pass nn::materialize(model, call) a function "
           "that calls all of them, or load a state_dict",
           paths);
}

void Lazy::materialize_for(const Tensor& input) {
  if (is_materialized_) return;
  BP_CHECK(input.defined(), "{}: the input is undefined; pass a tensor", traits_.name);
  std::int64_t dimension = traits_.sizes_at.empty() ? input.ndim() - 1 : -1;
  std::string ranks;
  for (const auto& [rank, place] : traits_.sizes_at) {
    if (input.ndim() == rank) dimension = place;
    ranks += fmt::format("{}{}", ranks.empty() ? "" : " or ", rank);
  }
  BP_CHECK(dimension >= 0, "{}: the input is {}; pass {} dimensions", traits_.name,
           bp::to_string(input.shape()), ranks.empty() ? "1 or more" : ranks);
  adopt(*finished(input.size(dimension), device_));
}

void Lazy::check_materialized() const {
  BP_CHECK(is_materialized_,
           "{}: its parameters wait for the size of the input; call nn::materialize(model, x) "
           "first, with an input like those to come, or load a state_dict",
           traits_.name);
}

std::unique_ptr<Module> Lazy::finished(std::int64_t size, Device device) const {
  std::unique_ptr<Module> made = layer(size, device);
  if (!requires_grad_) made->requires_grad_(false);
  return made;
}

namespace detail {

void Materializing::clear(Module& module) {
  for (const Parts::Held& held : Module::Walk::listed(module).tensors_) *held.tensor = Tensor();
}

void Materializing::check_materialized(const Module& module) {
  if (const auto* const lazy = dynamic_cast<const Lazy*>(&module)) lazy->check_materialized();
}

void Materializing::hand_over(Module& module, Module& layer) {
  std::swap(module.extras_, layer.extras_);
  layer.training_ = module.training_;
}

void Materializing::set_training(Module& module, bool mode) {
  module.training_ = mode;
}

Module& Materializing::loaded(Module& module, const std::string& prefix, const StateDict& dict,
                              Candidates& candidates) {
  auto* const lazy = dynamic_cast<Lazy*>(&module);
  if (!lazy || lazy->is_materialized()) return module;
  for (const auto& [owner, candidate] : candidates)
    if (owner == lazy) return *candidate.layer;
  // Without a size in the dict, a layer of none still has the names that are missing.
  std::unique_ptr<Module> made = lazy->finished(0, meta_device);
  bool has_size = false;
  for (const char* name : {"weight", "running_mean"}) {
    if (has_size || !dict.contains(prefix + name) || !made->state_dict().contains(name)) continue;
    const Tensor& given = dict.at(prefix + name);
    const std::size_t dimension = lazy->traits_.weight_dimension;
    if (!given.defined() || given.shape().size() <= dimension) continue;
    try {
      made = lazy->finished(given.shape()[dimension] * lazy->traits_.divisor, lazy->device_);
    } catch (const Error& error) {
      throw_error(
          error.error_class(),
          fmt::format("load_state_dict: '{}{}' is {} in the dict, and nothing was loaded: {}",
                      prefix, name, bp::to_string(given.shape()), error.what()));
    }
    has_size = true;
  }
  candidates.emplace_back(lazy, Candidate{std::move(made), has_size});
  return *candidates.back().second.layer;
}

void Materializing::adopt(Candidates& candidates) {
  for (auto& [lazy, candidate] : candidates)
    if (candidate.has_size) lazy->adopt(*candidate.layer);
}

void Materializing::remember(Module& module, const Device* device, const Dtype* dtype) {
  auto* const lazy = dynamic_cast<Lazy*>(&module);
  if (!lazy) return;
  if (device) lazy->device_ = *device;
  if (dtype) lazy->dtype_ = *dtype;
}

void Materializing::remember_grad(Module& module, bool wanted) {
  if (auto* const lazy = dynamic_cast<Lazy*>(&module)) lazy->requires_grad_ = wanted;
}

}  // namespace detail

LazyLinear::LazyLinear(std::int64_t out_features, const LinearOptions& options)
    : LazyLayer(
          {"LazyLinear", {}, 1, 1},
          [=](std::int64_t in_features, Dtype dtype, Device device) {
            return Linear(in_features, out_features, placed(options, dtype, device));
          },
          options.dtype, options.device) {}

#define BP_NN_LAZY_CONVOLUTION(Name, rank, Options, dimension, divisor)                            \
  Lazy##Name::Lazy##Name(std::int64_t out_channels, const Sizes& kernel_size,                      \
                         const Options& options)                                                   \
      : LazyLayer(                                                                                 \
            {"Lazy" #Name, channels(rank), dimension, divisor},                                    \
            [=](std::int64_t in_channels, Dtype dtype, Device device) {                            \
              return Name(in_channels, out_channels, kernel_size, placed(options, dtype, device)); \
            },                                                                                     \
            options.dtype, options.device) {}
BP_NN_LAZY_CONVOLUTION(Conv1d, 1, ConvOptions, 1, options.groups)
BP_NN_LAZY_CONVOLUTION(Conv2d, 2, ConvOptions, 1, options.groups)
BP_NN_LAZY_CONVOLUTION(Conv3d, 3, ConvOptions, 1, options.groups)
BP_NN_LAZY_CONVOLUTION(ConvTranspose1d, 1, ConvTransposeOptions, 0, 1)
BP_NN_LAZY_CONVOLUTION(ConvTranspose2d, 2, ConvTransposeOptions, 0, 1)
BP_NN_LAZY_CONVOLUTION(ConvTranspose3d, 3, ConvTransposeOptions, 0, 1)
#undef BP_NN_LAZY_CONVOLUTION

#define BP_NN_LAZY_NORM(Name, Options, sizes_at, waits)                  \
  Lazy##Name::Lazy##Name(const Options& options)                         \
      : LazyLayer(                                                       \
            {"Lazy" #Name, sizes_at, 0, 1},                              \
            [=](std::int64_t num_features, Dtype dtype, Device device) { \
              return Name(num_features, placed(options, dtype, device)); \
            },                                                           \
            options.dtype, options.device) {                             \
    if (!(waits)) set_materialized();                                    \
  }
#define BP_NN_HAS_STATE options.affine || options.track_running_stats
BP_NN_LAZY_NORM(BatchNorm1d, BatchNormOptions, features(1), true)
BP_NN_LAZY_NORM(BatchNorm2d, BatchNormOptions, features(2), true)
BP_NN_LAZY_NORM(BatchNorm3d, BatchNormOptions, features(3), true)
BP_NN_LAZY_NORM(InstanceNorm1d, LazyInstanceNormOptions, channels(1), BP_NN_HAS_STATE)
BP_NN_LAZY_NORM(InstanceNorm2d, LazyInstanceNormOptions, channels(2), BP_NN_HAS_STATE)
BP_NN_LAZY_NORM(InstanceNorm3d, LazyInstanceNormOptions, channels(3), BP_NN_HAS_STATE)
#undef BP_NN_HAS_STATE
#undef BP_NN_LAZY_NORM

}  // namespace bp::nn
