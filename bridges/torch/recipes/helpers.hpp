// What recipes share. Nothing here knows of PyTorch but its words.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <backplane/autograd/pull_back.hpp>
#include <backplane/backplane.hpp>
#include <backplane/core_ops/factors.hpp>

#include "source/recipe.hpp"

namespace bp::bridge {

// How generated functions become a Recipe::run.
template <auto function> void one(const Arguments& arguments, Tensor* results) {
  results[0] = function(arguments);
}
template <auto function> void several(const Arguments& arguments, Tensor* results) {
  for (Tensor& result : function(arguments)) *results++ = std::move(result);
}

using Pair = std::array<Tensor, 2>;
using Triple = std::array<Tensor, 3>;

// The derivative of `function` at `at`, weighted by `grad`, from our own rules of derivatives: computes the function once more.
template <class Function>
Tensor pulled_back(const Tensor& grad, const Tensor& at, const Function& function) {
  const Tensor leaf = detach(at);
  set_requires_grad(leaf);
  return autograd::grad({function(leaf)}, {leaf}, {grad})[0];
}
// Two tensors in one shape and dtype, as PyTorch's derivatives take them in any that promote and broadcast.
Pair made_alike(const Tensor& first, const Tensor& second);

// The derivative of a row by its first argument, by the row's rule alone: its call is not made.
template <class... Others>
Tensor derivative_of(std::string_view row, const Tensor& grad, const Tensor& input,
                     const Others&... others) {
  const auto [weights, at] = made_alike(grad, input);
  const bp_value args[] = {value_of(at), value_of(others)...};
  return autograd::pull_back(*find_operator(row), args, 0, weights);
}
// The same by a rule that reads the row's result, and of its first argument only the shape.
template <class... Others>
Tensor derivative_by_result(std::string_view row, const Tensor& grad, const Tensor& result,
                            const Others&... others) {
  const auto [weights, at] = made_alike(grad, result);
  const bp_value args[] = {value_of(at), value_of(others)...};
  return autograd::pull_back(*find_operator(row), args, 0, weights, {&at, 1});
}
// x where the mask is true, times the scale, and x times 0 elsewhere.
Tensor masked_and_scaled(const Tensor& x, const Tensor& mask, double scale);
// Throws unsupported, so that the call goes to the CPU where it may.
[[noreturn]] void refuse(const char* op, const char* what);

// For last resorts: refuse what is not whole, or no truth values.
Tensor whole_copy(const char* op, const Tensor& tensor);
void truths_only(const char* op, const Tensor& tensor);
Tensor put_truths(const Tensor& input, const std::vector<Tensor>& indices, const Tensor& values,
                  bool accumulate);

// Values and types.
bool is_whole(const Tensor& tensor);
Dtype computed_dtype(const Tensor& like);  // a floating one for random numbers of the tensor
std::int64_t highest_whole(Dtype dtype);   // the end of what random_ draws from
Tensor uniform_like(const Tensor& like, Generator* generator);
std::int64_t wrapped(std::int64_t dim, std::int64_t ndim);
Tensor contiguous_copy(const Tensor& tensor);
Tensor evenly_spaced(const Scalar& start, const Scalar& end, std::int64_t steps);
Tensor eye_matrix(std::int64_t rows, std::int64_t columns);
Tensor per_channel(const Tensor& vector, std::int64_t ndim);  // [C] as [1, C, 1, ...]
IntList last_sizes(const Tensor& tensor, std::size_t count);
// Results that were not asked for are undefined.
Triple masked(IntList mask, Triple results);

// PyTorch's numbers for words.
std::string_view reduction_name(std::int64_t reduction);
std::string_view sample_mode(std::int64_t mode);
std::string_view sample_padding(std::int64_t padding);

Pair extreme(const Tensor& input, std::int64_t dim, bool keepdim, bool largest);
Tensor total_weight(const Tensor& input, const Tensor& target, const Tensor& weight,
                    std::int64_t reduction, std::int64_t ignore_index);

// Linear algebra and Fourier.
// For determinants: those of the transpose where PyTorch would take these, as its derivatives expect.
LinalgLuFactorResult factors_of(const Tensor& matrix);
// One word for each matrix: 1 where a number of the result is none, though those of the matrix are. Refuses where PyTorch would
// have the operator raise, so that its own words say it.
Tensor errors_in(const Tensor& result, const Tensor& matrices, bool raises);
// The product of the reflections in the columns of `vectors`, times a matrix; `adjoint`: that of their adjoints, in reverse.
Tensor reflected(const Tensor& vectors, const Tensor& tau, const Tensor& matrix, bool adjoint);
Tensor reflected_identity(const Tensor& vectors, const Tensor& tau);
double fft_scale(IntList sizes, IntList dims, std::int64_t normalization);
// Along the first `count` of the dims; `scale` once.
Tensor transformed(const Tensor& input, IntList dims, std::size_t count, double scale,
                   bool forward);

// Normalization.
Triple batch_normalized(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool training,
                        double momentum, double eps);
Pair weight_normed(const Tensor& v, const Tensor& g, std::int64_t dim);
Pair weight_norm_gradients(const Tensor& grad, const Tensor& v, const Tensor& g, std::int64_t dim);
Triple batch_norm_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                            const Tensor& mean, const Tensor& scale, bool training);
Triple group_norm_gradients(const Tensor& grad, const Tensor& input, const Tensor& mean,
                            const Tensor& rstd, const Tensor& weight, std::int64_t groups);

// Convolution and pooling.
struct Window {
  IntList stride, padding, dilation;
  std::int64_t groups;
};
Triple convolution_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                             const Window& window, bool transposed, IntList mask);
// With or without a dimension of the batch.
Pair adaptive_maxima(const Tensor& input, IntList output_size);
// Adds each gradient to the place that its index names, within the last `num_dims` dimensions taken as one.
Tensor put_back(const Tensor& grad, const Tensor& input, const Tensor& indices, int num_dims);
// Each value at the place that its index names, zeros elsewhere; `size` is that of the last dimensions.
Tensor unpooled(const Tensor& input, const Tensor& indices, IntList size);

// Indexing and resampling.
Tensor embedding_gradient(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                          std::int64_t padding_idx, bool by_frequency);
Tensor pad_gradient(const Tensor& grad, const Tensor& input, IntList padding,
                    std::string_view mode);
using Scales = std::initializer_list<std::optional<double>>;
Tensor upsampled(const Tensor& input, IntList size, std::string_view mode, bool align_corners,
                 Scales scales);
Tensor upsample_gradient(const Tensor& grad, IntList size, IntList input_size,
                         std::string_view mode, bool align_corners, Scales scales);
Pair grid_gradients(const Tensor& grad, const Tensor& input, const Tensor& grid, std::int64_t mode,
                    std::int64_t padding, bool align_corners);

// By the given scales, where a row has no mode for it: PyTorch's resizing with `antialias`, or to the nearest center.
Tensor resized_smoothly(const Tensor& input, IntList size, std::string_view mode,
                        bool align_corners, Scales scales);
Tensor smooth_gradient(const Tensor& grad, IntList size, IntList input_size, std::string_view mode,
                       bool align_corners, Scales scales);

// Bags, runs and sequences. Of `bags`: the results, the bag of each index, their sizes, and the rows of maxima.
std::array<Tensor, 4> bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                           std::int64_t mode, const Tensor& sample_weights,
                           bool include_last_offset, std::int64_t padding_idx);
Tensor bags_gradient(const Tensor& grad, const Tensor& indices, const Tensor& bag_of,
                     const Tensor& bag_sizes, const Tensor& maxima, std::int64_t num_weights,
                     bool by_frequency, std::int64_t mode, const Tensor& sample_weights,
                     std::int64_t padding_idx);
Triple runs_of_equals(const Tensor& input, std::optional<std::int64_t> dim);
Tensor as_tensor(IntList numbers, const Tensor& like);
Pair sequence_losses(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                     const Tensor& target_lengths, std::int64_t blank);
Tensor sequence_gradients(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                          const Tensor& input_lengths, const Tensor& target_lengths,
                          const Tensor& losses, std::int64_t blank, bool zero_infinity);

// Recurrent cells. The workspace is what the derivative needs: the gates after their activations.
Triple lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cell,
                 const Tensor& input_bias, const Tensor& hidden_bias);
Triple lstm_cell_gradients(const Tensor& grad_hidden, const Tensor& grad_cell, const Tensor& cell,
                           const Tensor& new_cell, const Tensor& workspace, bool has_bias);
Pair gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden,
              const Tensor& input_bias, const Tensor& hidden_bias);
std::array<Tensor, 5> gru_cell_gradients(const Tensor& grad, const Tensor& workspace,
                                         bool has_bias);

}  // namespace bp::bridge
