// How oneDNN shall compute a convolution: in which order it takes the pictures, and by which algorithm.
#pragma once

#include "convolution_primitive.hpp"

namespace bp::cpu {

enum class Pictures {
  as_they_lie,
  by_rows,           // row-major, whatever they lie in
  by_channels_last,  // the channels of a point together, whatever they lie in
  in_blocks,         // of channels, of the size that oneDNN likes
};

// Chosen by shape alone, so that the same call gives the same bits every time. Measured layer by layer on the layers of
// ResNet-50 (bench/pairs/convolutions.cpp); reordering pictures is cheap, reordering weights is not.
Pictures choose_pictures(const ConvolutionKey& key);

// Winograd's algorithm for the gradient to a 3x3 kernel: 1.3 to 1.8 times as fast, and nearer to the exact sum than the
// plain one, since fewer products are added in a row. Forwards and to the input it would be as fast, and its error up to ten times
// the plain one's; it would also carry one point's NaN into its neighbours. So not there.
bool pays_by_winograd(const ConvolutionKey& key);

// Its transformed pictures take more than twice the pictures' own memory; more than this is not asked for.
inline constexpr uint64_t most_winograd_scratch = uint64_t{64} << 20;

}  // namespace bp::cpu
