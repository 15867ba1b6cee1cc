// Convolutions and their gradients by oneDNN; what it has no fast way for is left to the decomposition.
#include <algorithm>

#include "../choices.hpp"
#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "convolution_parts.hpp"
#include "convolution_plan.hpp"
#include "convolution_planes.hpp"
#include "convolution_points.hpp"
#include "convolution_products.hpp"
#include "kernels.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

// A convolution makes `small` of `large`; its gradients go the other ways.
struct Convolution {
  Way way;
  const bp_tensor* large;
  const bp_tensor* small;
  const bp_tensor* weight;
  const bp_tensor* bias;  // forwards alone; may be NULL
  Ints stride, padding, dilation;
  int64_t groups;

  int rank() const { return large->dl.ndim - 2; }
};

Order order_of(const bp_tensor& tensor) {
  if (is_contiguous(tensor)) return row_major;
  return tensor.flags & BP_LAYOUT_CHANNELS_LAST ? channels_last : other_order;
}

bp_code run_by_onednn(const bp_call* call, const ConvolutionKey& key, const Addresses& at) {
  ConvolutionPrimitive& p = convolution_primitive_for(key);
  if (!p.run) return BP_UNSUPPORTED;
  bp_code code = place_operand(call, p.large, at.large);
  if (code == BP_OK) code = place_operand(call, p.small, at.small);
  if (code == BP_OK) code = place_operand(call, p.weight, at.weight);
  char* scratch = nullptr;
  if (code == BP_OK && p.scratch_bytes != 0) code = take_workspace(call, p.scratch_bytes, scratch);
  if (code != BP_OK) return code;
  if (key.has_bias) p.bias.set_data_handle(at.bias);
  p.scratch.set_data_handle(scratch);
  if (key.num_threads > 1) leave_cores_to_openmp();
  run_convolution(key, p, true);
  return BP_OK;
}

// False where oneDNN's padding cannot say it: room behind that no window reaches.
bool fill_key(const Convolution& c, ConvolutionKey& key) {
  key = {};
  key.way = c.way;
  key.dtype = c.large->dtype;
  key.rank = c.rank();
  key.groups = c.groups;
  key.has_bias = c.bias != nullptr;
  std::copy_n(c.large->dl.shape, key.rank + 2, key.large);
  std::copy_n(c.small->dl.shape, key.rank + 2, key.small);
  std::copy_n(c.weight->dl.shape, key.rank + 2, key.weight);
  for (int dim = 0; dim < key.rank; ++dim) {
    key.stride[dim] = of_dim(c.stride, dim);
    key.padding[dim] = key.padding_behind[dim] = of_dim(c.padding, dim);
    key.dilation[dim] = of_dim(c.dilation, dim);
    const int64_t reach = key.dilation[dim] * (key.weight[dim + 2] - 1) + 1;
    const int64_t room = key.large[dim + 2] + 2 * key.padding[dim] - reach;
    if (room / key.stride[dim] + 1 == key.small[dim + 2]) continue;
    key.padding_behind[dim] -= room - (key.small[dim + 2] - 1) * key.stride[dim];
    if (key.padding_behind[dim] < 0) return false;
  }
  return true;
}

// In row-major or channels-last order: as it lies, or a copy in memory of the call.
bp_code in_order(const bp_call* call, const bp_tensor& tensor, int64_t& order, char*& at) {
  at = address(tensor);
  order = order_of(tensor);
  if (order != other_order) return BP_OK;
  order = row_major;
  const auto bytes = static_cast<uint64_t>(tensor.numel) * tensor.itemsize;
  const bp_code code = take_workspace(call, bytes, at);
  if (code != BP_OK) return code;
  visit_itemsize(tensor.itemsize, [&]<class T>(Tag<T>) {
    copy_strided(shape_of(tensor), reinterpret_cast<T*>(at),
                 contiguous_strides(shape_of(tensor)).data(), data_of<T>(tensor),
                 tensor.dl.strides);
  });
  return BP_OK;
}

// Below this the threads' meeting costs more than the half of the work that one gives away.
int threads_for(const ConvolutionKey& key) {
  return work_of(key) < constants::convolution_work ? 1 : max_threads;
}

bool is_empty(const Convolution& c) {
  return c.large->numel == 0 || c.small->numel == 0 || c.weight->numel == 0;
}

// Asked before the outputs have memory: makes the primitive that the call will run.
bool has_way(const Convolution& c) {
  ConvolutionKey key;
  if (is_empty(c) || !fill_key(c, key)) return false;
  const auto order = [](const bp_tensor& tensor) {
    const Order own = order_of(tensor);
    return own == other_order ? row_major : own;
  };
  const ThreadLimit threads(threads_for(key));
  key.num_threads = threads.count();
  key.large_order = order(*c.large);
  key.small_order = order(*c.small);
  key.weight_order = order(*c.weight);
  return static_cast<bool>(convolution_primitive_for(key).run);
}

bp_code convolve_by(const ConvolutionWay& way, const bp_call* call, ConvolutionKey key,
                    const Addresses& at) {
  bp_code code = BP_OK;
  key.pictures = way.pictures;
  const bool usual = way.pictures == 0;
  if (usual && pays_by_products(key) && convolve_by_products(call, key, at, code)) return code;
  if (usual && pays_by_points(key)) return convolve_by_points(call, key, at);
  if (usual && pays_by_planes(key) && convolve_by_planes(call, key, at, code)) return code;
  if (way.threads != ConvolutionWay::whole && convolve_in_parts(call, key, at, code)) return code;
  if (way.threads == ConvolutionWay::in_parts) return BP_UNSUPPORTED;
  const ThreadLimit threads(threads_for(key));
  key.num_threads = threads.count();
  return run_by_onednn(call, key, at);
}

// Of the ways to do this call, the fastest on this machine.
ConvolutionWay way_of(const bp_call* call, const ConvolutionKey& key, const Addresses& at) {
  if (work_of(key) < constants::asked_convolution || !choices_are_free()) return {};
  thread_local Recent<ConvolutionKey, ConvolutionWay, 256> known;
  ConvolutionKey asked = key;
  asked.num_threads = num_threads();
  return known.find(asked, [&] {
    const std::vector<ConvolutionWay> ways = ways_of(key);
    return ways[fastest_of(class_of(key), static_cast<uint32_t>(ways.size()),
                           [&](uint32_t way) { return convolve_by(ways[way], call, key, at); })];
  });
}

bp_code convolve(const bp_call* call, const Convolution& c) {
  ConvolutionKey key;
  if (is_empty(c) || !fill_key(c, key)) return BP_UNSUPPORTED;
  Addresses at{};
  bp_code code = in_order(call, *c.large, key.large_order, at.large);
  if (code == BP_OK) code = in_order(call, *c.small, key.small_order, at.small);
  if (code == BP_OK) code = in_order(call, *c.weight, key.weight_order, at.weight);
  int64_t any_order = row_major;
  if (code == BP_OK && c.bias) code = in_order(call, *c.bias, any_order, at.bias);
  if (code != BP_OK) return code;
  return convolve_by(way_of(call, key, at), call, key, at);
}

// ---- The rows

// oneDNN adds it forwards alone.
void add_bias(const bp_tensor& result, const bp_tensor& bias) {
  const int64_t channels = result.dl.shape[1],
                plane = result.numel / (result.dl.shape[0] * channels);
  const bool last = !is_contiguous(result);
  visit_dtype<dtype_set({BP_F32, BP_BF16})>(result.dtype, [&]<class T>(Tag<T>) {
    T* const data = data_of<T>(result);
    const T* const added = data_of<T>(bias);
    const int64_t step = bias.dl.strides[0];
    parallel_for(result.numel, element_grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t channel = (last ? i : i / plane) % channels;
        data[i] = T(static_cast<float>(data[i]) + static_cast<float>(added[channel * step]));
      }
    });
  });
}

Convolution convolution_of(In a, In weight, const std::optional<In>& bias, Ints stride,
                           Ints padding, Ints dilation, bool transposed, int64_t groups,
                           Out result) {
  const bp_tensor &from = a.abi(), &to = result.abi();
  if (transposed) {
    return {to_input, &to, &from, &weight.abi(), nullptr, stride, padding, dilation, groups};
  }
  return {forwards, &from,   &to,      &weight.abi(), tensor_or_null(bias),
          stride,   padding, dilation, groups};
}

Status convolution(Call call, In a, In weight, std::optional<In> bias, Ints stride, Ints padding,
                   Ints dilation, bool transposed, Ints, int64_t groups, Out result) {
  const bp_code code = convolve(&call.abi(), convolution_of(a, weight, bias, stride, padding,
                                                            dilation, transposed, groups, result));
  if (code == BP_OK && transposed && bias) add_bias(result.abi(), bias->abi());
  return Status::from_host(code);
}

bool takes_convolution(Stream, In a, In weight, std::optional<In> bias, Ints stride, Ints padding,
                       Ints dilation, bool transposed, Ints, int64_t groups, Out result) {
  return has_way(
      convolution_of(a, weight, bias, stride, padding, dilation, transposed, groups, result));
}

Convolution backward_weight_of(In grad_output, In a, Ints stride, Ints padding, Ints dilation,
                               int64_t groups, Out result) {
  return {to_weight, &a.abi(), &grad_output.abi(), &result.abi(), nullptr,
          stride,    padding,  dilation,           groups};
}

Status backward_weight(Call call, In grad_output, In a, Ints, Ints stride, Ints padding,
                       Ints dilation, int64_t groups, Out result) {
  return Status::from_host(convolve(
      &call.abi(), backward_weight_of(grad_output, a, stride, padding, dilation, groups, result)));
}

bool takes_backward_weight(Stream, In grad_output, In a, Ints, Ints stride, Ints padding,
                           Ints dilation, int64_t groups, Out result) {
  return has_way(backward_weight_of(grad_output, a, stride, padding, dilation, groups, result));
}

}  // namespace

void add_convolution_kernels(Kernels& k) {
  constexpr DtypeSet dtypes = DtypeSet(f32) | bf16;
  using forward = op::convolution::place;
  k.add<op::convolution>(convolution)
      .dtypes(dtypes)
      .dtypes(forward::out, dtypes)
      .layouts(strided)
      .layouts(forward::out, contiguous, bp::channels_last)
      .deterministic()
      .scratch()
      .supports(takes_convolution);
  using backward = op::convolution_backward_weight::place;
  k.add<op::convolution_backward_weight>(backward_weight)
      .dtypes(dtypes)
      .dtypes(backward::out, dtypes)
      .layouts(strided)
      .layouts(backward::out, contiguous)
      .deterministic()
      .scratch()
      .supports(takes_backward_weight);
}

}  // namespace bp::cpu
