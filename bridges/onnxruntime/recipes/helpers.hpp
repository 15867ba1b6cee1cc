// What recipes share. Nothing here knows of ONNX Runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <backplane/backplane.hpp>

#include "source/recipe.hpp"

namespace bp::onnx {

// How generated functions become an Entry::run.
template <auto function> void one(const Arguments& arguments, std::vector<Tensor>& results) {
  results.push_back(function(arguments));
}
template <auto function> void several(const Arguments& arguments, std::vector<Tensor>& results) {
  results = function(arguments);
}

using Tensors = std::vector<Tensor>;
using Axes = std::optional<IntList>;

// Throws unsupported: a call that could not be told from those that are served before its values were known.
[[noreturn]] void refuse(const char* what);

bool is_whole(const Tensor& tensor);
std::int64_t wrapped(std::int64_t dim, std::int64_t ndim);
Tensor number_like(const Tensor& like,
                   const Scalar& value);  // of no dimensions, like in dtype and device

// Elementwise.
Tensor divided_whole(const Tensor& a, const Tensor& b);  // towards zero
Tensor raised(const Tensor& base, const Tensor& exponent, const NodeFacts& node);
template <class Function> Tensor folded(const Tensors& list, const Function& function) {
  Tensor result = list.at(0);
  for (std::size_t i = 1; i < list.size(); ++i) result = function(result, list[i]);
  return result;
}

// A cast. To 8-bit floats, what is beyond the largest becomes it with `saturate`.
Tensor converted(const Tensor& input, Dtype dtype, bool saturate);
// Quantization to and from 8-bit floats: the steps of `scale` are one, one for each index of `axis`, or one for `block_size` of them.
Tensor quantized_to_float8(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                           std::int64_t axis, std::int64_t block_size, Dtype dtype, bool saturate);
Tensor dequantized_float8(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                          std::int64_t axis, std::int64_t block_size, Dtype dtype);
// The same memory, read as a dtype of the same size.
Tensor same_bits(const Tensor& input, Dtype dtype);

// Reductions. No axes are all of them, or none with `noop`.
template <class Function>
Tensor reduced(const Tensor& data, const Axes& axes, bool keepdims, bool noop,
               const Function& function) {
  if (axes && !axes->empty()) return function(data, DimList(*axes), keepdims);
  return noop ? data : function(data, DimList(), keepdims);
}
Tensor mean_of(const Tensor& x, DimList dims, bool keepdim);
Tensor max_of(const Tensor& x, DimList dims, bool keepdim);  // of nothing: the least number
Tensor min_of(const Tensor& x, DimList dims, bool keepdim);
Tensor l2_of(const Tensor& x, DimList dims, bool keepdim);
template <class Function>
Tensor accumulated(const Tensor& input, std::int64_t axis, bool exclusive, bool reverse,
                   const Function& function, double neutral) {
  Tensor data = reverse ? flip(input, {axis}) : input;
  if (exclusive && input.size(axis) > 0) {
    const Tensor first = narrow(data, axis, 0, 1);
    data = cat({full_like(first, neutral), narrow(data, axis, 0, data.size(axis) - 1)}, axis);
  }
  const Tensor sums = function(data, axis);
  return reverse ? flip(sums, {axis}) : sums;
}

// Shapes.
// Pictures whose channels lie last stay so where a shape joins two dimensions to channels, as behind a shuffle of them.
Tensor reshaped(const Tensor& data, IntList shape);
Dims resolved_shape(const Tensor& data, IntList shape, bool zero_is_zero);
Tensor flattened(const Tensor& input, std::int64_t axis);  // to a matrix
Tensor unsqueezed(const Tensor& data, IntList axes);
Dims reversed_dims(const Tensor& data);
// Whether they are pictures whose channels lie next to each other, if perhaps as others do.
bool has_channels_last(const Tensor& tensor);
// One behind the other; pictures whose channels lie last stay so.
Tensor joined(const Tensors& inputs, std::int64_t axis);
// `value` before and behind each dimension; as many numbers as dimensions, negative ones cut. Pictures whose channels lie last
// stay so.
Tensor padded(const Tensor& input, IntList before, IntList after, const Scalar& value);
Tensors in_parts(const Tensor& input, std::int64_t count, std::int64_t axis);
Tensor sliced(const Tensor& data, IntList starts, IntList ends, const Axes& axes,
              const Axes& steps);
Tensor expanded(const Tensor& input, IntList shape);
Tensor padded(const Tensor& data, IntList pads, const Axes& axes, std::string_view mode,
              const std::optional<Scalar>& value);
Tensor shape_of(const Tensor& data, std::int64_t start, std::optional<std::int64_t> end);
Tensor counted(const Scalar& start, const Scalar& limit, const Scalar& delta, Dtype dtype,
               Device device);

// Places. Indices count from the end where they are negative.
Tensor whole_indices(const Tensor& indices, std::int64_t size);
Tensor gathered(const Tensor& data, const Tensor& indices, std::int64_t axis,
                const NodeFacts& node);
Tensor gathered_nd(const Tensor& data, const Tensor& indices, std::int64_t batch_dims);
Tensor scattered(const Tensor& data, const Tensor& indices, const Tensor& updates,
                 std::int64_t axis, std::string_view reduction);
Tensor scattered_nd(const Tensor& data, const Tensor& indices, const Tensor& updates,
                    std::string_view reduction);
Tensor one_hot_values(const Tensor& indices, std::int64_t depth, const Tensor& values,
                      std::int64_t axis);
Tensor compressed(const Tensor& input, IntList condition, std::optional<std::int64_t> axis);
// The different elements, or slices along `axis`: them, the first place of each, which of them each one is, and how often each occurs;
// in ascending order, or in that of their first places.
Tensors different_slices(const Tensor& input, std::optional<std::int64_t> axis, bool ascending);
Tensor eye_like(const Tensor& input, Dtype dtype, std::int64_t k);
// `update` over the parts of the cache that begin at each sequence's place, by default 0.
Tensor written_into(const Tensor& cache, const Tensor& update, const Tensor& places,
                    std::int64_t axis, bool circular);
Tensors largest(const Tensor& input, std::int64_t k, std::int64_t axis, bool is_largest);

}  // namespace bp::onnx
