// Running statistics of batch norms, computed again: those of training are not the averaged weights' own.
#pragma once

#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>

#include <backplane/nn/module.hpp>

namespace bp::nn {
namespace detail {

using UseInput = std::function<void(const Tensor& input)>;

BP_API void check_batch_size(std::size_t num_parts);
// `visit` passes the input of each batch to the function that it is given.
BP_API void update_bn(const std::function<void(const UseInput&)>& visit, Module& model,
                      std::optional<Device> device);

template <class Batch> const Tensor& input_of(const Batch& batch) {
  if constexpr (std::is_base_of_v<Tensor, Batch>) {
    return batch;
  } else if constexpr (requires { batch.as_list(); }) {  // of a DataLoader
    return batch.is_list() ? input_of(batch.as_list()) : batch.as_tensor();
  } else if constexpr (requires { std::get<0>(batch); }) {
    return input_of(std::get<0>(batch));
  } else {
    check_batch_size(batch.size());
    return input_of(*batch.begin());
  }
}

}  // namespace detail

// PyTorch's torch.optim.swa_utils.update_bn: running means and variances of all batch norms in `model` become the means over
// `batches`, a range or data::DataLoader, which is read once.
//
//   nn::update_bn(loader, averaged);
//
// A batch is a tensor, or a list, pair or tuple of which the first is taken; it goes to `device` if there is one, and is what
// the model is called with, by call_all, without recording. Modules train meanwhile, those that were in evaluation too, and
// batch norms have no momentum; both are restored at the end, also if a batch throws. Without batch norms, nothing is
// read.
//
// Throws what a batch or the model throws, and bad_argument if there is no batch; the statistics are then those of before.
// Threads: nobody else uses the model.
template <class Batches>
void update_bn(Batches&& batches, Module& model, std::optional<Device> device = {}) {
  const auto visit = [&](const detail::UseInput& use) {
    for (const auto& batch : batches) use(detail::input_of(batch));
  };
  detail::update_bn(visit, model, device);
}

}  // namespace bp::nn
