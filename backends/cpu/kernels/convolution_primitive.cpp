#include "convolution_primitive.hpp"

#include <string_view>

#include <backplane/abi.h>

#include "../constants.hpp"
#include "convolution_plan.hpp"

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

struct Descriptions {
  Description large, small, weight, bias;        // as the caller has them
  Description large_any, small_any, weight_any;  // as oneDNN may choose
};

Descriptions describe_all(const ConvolutionKey& key, Pictures pictures) {
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
  const auto chosen = [&](const Description& own, const int64_t* sizes) {
    if (pictures == Pictures::by_rows) return describe_in_order(sizes, ndim, row_major, type);
    if (pictures == Pictures::by_channels_last)
      return describe_in_order(sizes, ndim, channels_last, type);
    return pictures == Pictures::as_they_lie ? own : any(own);
  };
  all.large_any = chosen(all.large, key.large);
  all.small_any = chosen(all.small, key.small);
  all.weight_any = any(all.weight);
  return all;
}

dnnl::convolution_forward::primitive_desc forward_description(const ConvolutionKey& key,
                                                              const Descriptions& all,
                                                              dnnl::algorithm algorithm,
                                                              const dnnl::primitive_attr& attr) {
  using Forward = dnnl::convolution_forward;
  const WindowDims w(key);
  const auto kind = dnnl::prop_kind::forward_training;
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
  made.is_older = runs_older_kernels(description.impl_info_str());
}

bool is_slow(const char* implementation) {
  return std::string_view(implementation).starts_with("ref");
}

ConvolutionPrimitive make_fast(const ConvolutionKey& key, dnnl::algorithm algorithm,
                               Pictures pictures) {
  const Descriptions all = describe_all(key, pictures);
  const WindowDims w(key);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the host counts it
  ConvolutionPrimitive made;
  const auto forward = forward_description(key, all, algorithm, attr);
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

// Empty where oneDNN has no such way.
ConvolutionPrimitive try_to_make(const ConvolutionKey& key, dnnl::algorithm algorithm,
                                 Pictures pictures) {
  try {
    return make_fast(key, algorithm, pictures);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
    return {};
  }
}

}  // namespace

ConvolutionPrimitive make_convolution(const ConvolutionKey& key) {
  if (key.pictures == 0 && pays_by_winograd(key)) {
    ConvolutionPrimitive made =
        try_to_make(key, dnnl::algorithm::convolution_winograd, Pictures::in_blocks);
    if (made.run && made.scratch_bytes <= constants::winograd_bytes) return made;
  }
  const Pictures pictures =
      key.pictures == 0 ? choose_pictures(key) : static_cast<Pictures>(key.pictures - 1);
  return try_to_make(key, dnnl::algorithm::convolution_direct, pictures);
}

}  // namespace bp::cpu
