#include <cmath>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/averaging.hpp>
#include <backplane/optim/fields.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "lists.hpp"

namespace bp::optim {
namespace {

void check_alike(const char* what, const Tensors& averages, std::span<const Tensor> current) {
  BP_CHECK(averages.size() == current.size(),
           "AveragedModel: {} averages of {} and {} of the model; pass those of the same network",
           averages.size(), what, current.size());
  for (std::size_t i = 0; i < averages.size(); ++i) {
    BP_CHECK(averages[i].shape() == current[i].shape(),
             "AveragedModel: average {} of {} has shape {}, and the model's has {}; pass those of "
             "the same network",
             i, what, to_string(averages[i].shape()), to_string(current[i].shape()));
    BP_CHECK(can_cast(current[i].dtype(), averages[i].dtype()),
             "AveragedModel: average {} of {} is {}, and the model's is {}, whose values it can't "
             "hold; move the averages to the model's dtype",
             i, what, name(averages[i].dtype()), name(current[i].dtype()));
  }
}

bool is_averaged(const Tensor& tensor) {
  return is_floating(tensor.dtype()) || is_complex(tensor.dtype());
}

}  // namespace

AveragedModel::AveragedModel(std::vector<Tensor> parameters, std::vector<Tensor> buffers,
                             const AveragedModelOptions& options)
    : parameters_(std::move(parameters)), buffers_(std::move(buffers)), options_(options) {
  BP_CHECK(!parameters_.empty(), "AveragedModel got no parameters; pass model.parameters()");
  const double decay = options.ema_decay.value_or(0);
  BP_CHECK(decay >= 0 && decay <= 1, "AveragedModel: ema_decay is {}; it must be from 0 to 1",
           decay);
}

void AveragedModel::update_parameters(TensorList parameters, TensorList buffers) {
  const Apart apart;
  check_alike("parameters", parameters_, parameters.span());
  check_alike("buffers", buffers_, buffers.span());
  Tensors averages, current;
  for (const bool of_buffers : {false, true}) {
    const Tensors& own = of_buffers ? buffers_ : parameters_;
    const std::span<const Tensor> theirs = (of_buffers ? buffers : parameters).span();
    for (std::size_t i = 0; i < own.size(); ++i) {
      // Counters and the like have no mean.
      if (n_averaged_ == 0 || !is_averaged(own[i]) || (of_buffers && !options_.use_buffers)) {
        copy_(own[i], theirs[i]);
        continue;
      }
      averages.push_back(real_parts(own[i]));
      current.push_back(real_parts(to(theirs[i], own[i].device(), own[i].dtype())));
    }
  }
  for (const Places& each : places_by_device_and_dtype(averages))
    average(at_places(averages, each), at_places(current, each));
  ++n_averaged_;
}

void AveragedModel::average(const Tensors& averages, const Tensors& current) const {
  const double weight =
      options_.ema_decay ? 1 - *options_.ema_decay : 1 / (static_cast<double>(n_averaged_) + 1);
  _foreach_lerp_(averages, current, weight);
}

State AveragedModel::state_dict() const {
  return State::dict({{"n_averaged", n_averaged_}});
}

void AveragedModel::load_state_dict(const State& dict) {
  const double count = number_of(dict.at("n_averaged"), "AveragedModel: 'n_averaged'");
  BP_CHECK(count >= 0 && count <= 0x1p53 && std::trunc(count) == count,
           "AveragedModel: n_averaged is {}; it must be a whole number from 0 to 2^53", count);
  n_averaged_ = static_cast<std::int64_t>(count);
}

}  // namespace bp::optim
