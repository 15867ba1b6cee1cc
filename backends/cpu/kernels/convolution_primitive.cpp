#include "convolution_primitive.hpp"

#include <string_view>

#include <backplane/abi.h>

namespace bp::cpu {
namespace {

using Description = dnnl::memory::desc;

Description describe_in_order(const int64_t* sizes, int64_t ndim, Order order,
                              dnnl::memory::data_type type) {
  const dnnl::memory::dims shape(sizes, sizes + ndim);
  dnnl::memory::dims strides(static_cast<size_t>(ndim));
  int64_t step = order == channels_last ? sizes[1] : 1;
  for (int64_t dim = ndim - 1; dim >= (order == channels_last ? 2 : 0); --dim) {
    strides[dim] = step;
    step *= sizes[dim];
  }
  if (order == channels_last) {
    strides[1] = 1;
    strides[0] = step;
  }
  return {shape, type, strides};
}

// With the groups as a dimension of its own, where there are several.
Description describe_weight(const ConvolutionKey& key, dnnl::memory::data_type type) {
  const Description plain =
      describe_in_order(key.weight, key.rank + 2, static_cast<Order>(key.weight_order), type);
  if (key.groups == 1) return plain;
  dnnl::memory::dims shape(key.weight, key.weight + key.rank + 2);
  shape[0] /= key.groups;
  shape.insert(shape.begin(), key.groups);
  return plain.reshape(shape);
}

// The windows as oneDNN counts them.
struct WindowDims {
  dnnl::memory::dims stride, dilation, before, behind;
  explicit WindowDims(const ConvolutionKey& key) {
    for (int64_t dim = 0; dim < key.rank; ++dim) {
      stride.push_back(key.stride[dim]);
      dilation.push_back(key.dilation[dim] - 1);
      before.push_back(key.padding[dim]);
      behind.push_back(key.padding_behind[dim]);
    }
  }
};

// What decides in which order a primitive takes its pictures.
struct Traits {
  bool is_product = true;  // of matrices: the kernel is a point, and no element is left out
  bool is_point = true;    // of which it may leave some out
  bool has_many_channels;  // so that reordering the weight takes about as long as the work
  int64_t plane = 1, weights;

  explicit Traits(const ConvolutionKey& key) : weights(key.weight[0] * key.weight[1]) {
    for (int64_t dim = 0; dim < key.rank; ++dim) {
      is_point = is_point && key.weight[dim + 2] == 1 && key.padding[dim] == 0;
      is_product = is_product && key.stride[dim] == 1;
      plane *= key.small[dim + 2];
    }
    is_point = is_point && key.groups == 1;
    is_product = is_product && is_point;
    has_many_channels = weights >= 1 << 18;
  }
};

// Do the pictures go to oneDNN as they lie, rather than in blocks of channels of its choice? Reordering pictures
// is cheap, reordering weights is not. Measured on Zen 5, layer by layer (bench/pairs/convolutions.cpp).
bool takes_as_given(const ConvolutionKey& key) {
  if (key.large_order != key.small_order) return false;
  const Traits traits(key);
  if (key.large_order == channels_last) {
    if (key.way == to_weight) return !traits.is_point;
    if (key.way == to_input) return !traits.has_many_channels;
    return !traits.is_point || !traits.has_many_channels;
  }
  if (key.way == to_weight && traits.has_many_channels && traits.plane <= 64)
    return key.groups == 1;
  if (!traits.is_product) return false;
  if (key.way == to_weight) return traits.weights > 4096;
  return traits.plane >= (key.way == forwards ? 128 : 512);
}

struct Descriptions {
  Description large, small, weight, bias;        // as the caller has them
  Description large_any, small_any, weight_any;  // as oneDNN may choose
};

Descriptions describe_all(const ConvolutionKey& key) {
  const auto type =
      key.dtype == BP_BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  const int64_t ndim = key.rank + 2;
  Descriptions all;
  all.large = describe_in_order(key.large, ndim, static_cast<Order>(key.large_order), type);
  all.small = describe_in_order(key.small, ndim, static_cast<Order>(key.small_order), type);
  all.weight = describe_weight(key, type);
  if (key.has_bias) all.bias = {{key.small[1]}, type, dnnl::memory::format_tag::a};
  const auto any = [&](const Description& own) {
    return Description(own.dims(), type, dnnl::memory::format_tag::any);
  };
  const bool as_given = takes_as_given(key);
  all.large_any = as_given ? all.large : any(all.large);
  all.small_any = as_given ? all.small : any(all.small);
  all.weight_any = any(all.weight);
  return all;
}

dnnl::convolution_forward::primitive_desc forward_description(const ConvolutionKey& key,
                                                              const Descriptions& all,
                                                              const dnnl::primitive_attr& attr) {
  using Forward = dnnl::convolution_forward;
  const WindowDims w(key);
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  if (key.has_bias)
    return {Forward::desc(kind, algorithm, all.large_any, all.weight_any, all.bias, all.small_any,
                          w.stride, w.dilation, w.before, w.behind),
            attr, onednn_engine()};
  return {Forward::desc(kind, algorithm, all.large_any, all.weight_any, all.small_any, w.stride,
                        w.dilation, w.before, w.behind),
          attr, onednn_engine()};
}

template <class PrimitiveDescription>
void set_common(ConvolutionPrimitive& made, const ConvolutionKey& key, const Descriptions& all,
                const PrimitiveDescription& description, const Description& large,
                const Description& weight, const Description& small) {
  made.large.set(all.large, large, key.way == to_input);
  made.weight.set(all.weight, weight, key.way == to_weight);
  made.small.set(all.small, small, key.way == forwards);
  if (key.has_bias) made.bias = dnnl::memory(all.bias, onednn_engine(), nullptr);
  made.scratch = dnnl::memory(description.scratchpad_desc(), onednn_engine(), nullptr);
  made.scratch_bytes = description.scratchpad_desc().get_size();
}

bool is_slow(const char* implementation) {
  return std::string_view(implementation).starts_with("ref");
}

ConvolutionPrimitive make_fast(const ConvolutionKey& key) {
  const Descriptions all = describe_all(key);
  const WindowDims w(key);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the host counts it
  ConvolutionPrimitive made;
  const auto forward = forward_description(key, all, attr);
  if (key.way == forwards) {
    if (is_slow(forward.impl_info_str())) return made;
    set_common(made, key, all, forward, forward.src_desc(), forward.weights_desc(),
               forward.dst_desc());
    made.run = dnnl::convolution_forward(forward);
  } else if (key.way == to_input) {
    using Backward = dnnl::convolution_backward_data;
    const Backward::primitive_desc back(
        Backward::desc(algorithm, all.large_any, all.weight_any, all.small_any, w.stride,
                       w.dilation, w.before, w.behind),
        attr, onednn_engine(), forward);
    if (is_slow(back.impl_info_str())) return made;
    set_common(made, key, all, back, back.diff_src_desc(), back.weights_desc(),
               back.diff_dst_desc());
    made.run = Backward(back);
  } else {
    using Backward = dnnl::convolution_backward_weights;
    const Backward::primitive_desc back(
        Backward::desc(algorithm, all.large_any, all.weight_any, all.small_any, w.stride,
                       w.dilation, w.before, w.behind),
        attr, onednn_engine(), forward);
    if (is_slow(back.impl_info_str())) return made;
    set_common(made, key, all, back, back.src_desc(), back.diff_weights_desc(),
               back.diff_dst_desc());
    made.run = Backward(back);
  }
  return made;
}

}  // namespace

ConvolutionPrimitive make_convolution(const ConvolutionKey& key) {
  try {
    return make_fast(key);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
    return {};
  }
}

}  // namespace bp::cpu
