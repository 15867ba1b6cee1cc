// oneDNN's primitives for convolutions and their gradients.
#pragma once

#include "onednn.hpp"

namespace bp::cpu {

inline constexpr int most_dims = 3;

enum Way : int64_t { forwards, to_input, to_weight };

enum Order : int64_t { row_major, channels_last, other_order };

// What a primitive is made for.
struct ConvolutionKey {
  int64_t way, dtype, num_threads, rank, groups, has_bias;
  int64_t large_order, small_order, weight_order;
  int64_t pictures;  // 0: choose_pictures; else a Pictures and 1
  int64_t large[2 + most_dims], small[2 + most_dims], weight[2 + most_dims];
  int64_t stride[most_dims], padding[most_dims], padding_behind[most_dims], dilation[most_dims];
};

// Where a convolution's tensors lie; `bias` may be NULL.
struct Addresses {
  char *large, *small, *weight, *bias;
};

struct ConvolutionPrimitive {
  dnnl::primitive run;  // empty: oneDNN has no fast way
  Operand large, small, weight;
  dnnl::memory bias, scratch;
  uint64_t scratch_bytes = 0;
  bool is_older = false;  // see NoSignals
};

// What oneDNN has for it; `run` is empty where that is slow or nothing.
ConvolutionPrimitive make_convolution(const ConvolutionKey& key);

}  // namespace bp::cpu
