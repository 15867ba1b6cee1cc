// How oneDNN shall compute a convolution: in which order it takes the pictures, and by which algorithm.
#pragma once

#include <string>
#include <vector>

#include "convolution_primitive.hpp"

namespace bp::cpu {

enum class Pictures {
  as_they_lie,
  by_rows,           // row-major, whatever they lie in
  by_channels_last,  // the channels of a point together, whatever they lie in
  in_blocks,         // of channels, of the size that oneDNN likes
};

// Whether oneDNN computes with AMX here.
bool is_on_amx();

// Chosen by shape and processor alone. Measured layer by layer on the layers of
// ResNet-50 (bench/pairs/convolutions.cpp); reordering pictures is cheap, reordering weights is not.
Pictures choose_pictures(const ConvolutionKey& key);

// Winograd's algorithm for the gradient to a 3x3 kernel: 1.3 to 1.8 times as fast, and nearer to the exact sum than the
// plain one, since fewer products are added in a row. Forwards and to the input it would be as fast, and its error up to ten times
// the plain one's; it would also carry one point's NaN into its neighbours. So not there.
bool pays_by_winograd(const ConvolutionKey& key);

// A way to do a whole call. The first of ways_of is the one that shape alone chooses: by products, in parts, or on OpenMP's
// threads.
struct ConvolutionWay {
  int64_t pictures = 0;  // as ConvolutionKey's
  enum { by_shape, in_parts, whole } threads = by_shape;
};
std::vector<ConvolutionWay> ways_of(const ConvolutionKey& key);

// The class of shapes that share a decision about ways_of, with the list's version.
std::string class_of(const ConvolutionKey& key);

}  // namespace bp::cpu
