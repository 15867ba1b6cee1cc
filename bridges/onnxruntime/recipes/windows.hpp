// Windows over images, as convolutions and pools of ONNX have them.
#pragma once

#include "helpers.hpp"

namespace bp::onnx {

// As the attributes say.
struct Window {
  std::string_view auto_pad;
  std::size_t count = 0;  // of dimensions
  Dims kernel;
  Axes strides, pads, dilations;
  bool ceil = false;
};

Dims kernel_of(const Tensor& weight);
Dims ones_or(const Axes& list, std::size_t count);
// The padding in front, of one that is_symmetric.
Dims first_half(const Axes& pads, std::size_t count);
bool is_symmetric(const Axes& pads);

// What is put around an input of this shape: before each dimension, then behind each.
Dims padding_of(const Window& window, IntList shape);

Tensor convolved(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const Window& window, std::int64_t groups);
Tensor deconvolved(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Window& window, const Axes& output_padding, const Axes& output_shape,
                   std::int64_t groups);
Tensor deformed(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& bias,
                const Tensor& mask, const Axes& strides, const Axes& pads, const Axes& dilations);
// The largest elements, and their places in the whole tensor, if they are wanted.
Tensors highest(const Tensor& input, const Window& window, bool with_places, bool column_major);
Tensor averaged(const Tensor& input, const Window& window, bool count_padding);
Tensor power_averaged(const Tensor& input, const Window& window, double power);
Tensor put_back(const Tensor& input, const Tensor& indices, const Axes& output_shape,
                const Window& window);

}  // namespace bp::onnx
