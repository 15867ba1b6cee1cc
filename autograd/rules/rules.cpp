#include "rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <backplane/autograd/autograd.hpp>
#include <backplane/dispatcher/transfer.hpp>

#include "variable.hpp"

namespace bp::autograd {
namespace {

std::int64_t wrapped(std::int64_t dim, const Tensor& input) {
  return dim < 0 ? dim + std::max<std::int64_t>(input.ndim(), 1) : dim;
}

std::size_t wrapped_in(IntList shape, std::int64_t dim) {
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(shape.size()) : dim);
}

// The shape that a reduction of `input` has with keepdim.
Dims kept_shape(const Tensor& input, const DimList& dim) {
  Dims shape(input.shape());
  const std::optional<IntList> dims = dim.list();
  if (!dims || dims->empty()) {
    std::fill(shape.begin(), shape.end(), 1);
    return shape;
  }
  for (std::int64_t d : *dims)
    if (input.ndim() != 0) shape[static_cast<std::size_t>(wrapped(d, input))] = 1;
  return shape;
}

}  // namespace

Tensor sum_to(const Tensor& input, IntList shape) {
  if (input.shape() == shape) return input;
  const std::size_t num_new = input.shape().size() - shape.size();
  Dims dims;
  for (std::size_t i = 0; i < input.shape().size(); ++i)
    if (i < num_new || (shape[i - num_new] == 1 && input.shape()[i] != 1))
      dims.push_back(static_cast<std::int64_t>(i));
  const Tensor summed = dims.empty() ? input : sum(input, dims, true);
  return num_new ? reshape(summed, shape) : summed;
}

Tensor product_like(const Tensor& like, const Tensor& left, const Tensor& right) {
  const auto step_of = [&](std::size_t from_end) {
    return like.strides()[like.strides().size() - from_end];
  };
  const bool is_transposed = step_of(2) == 1 && step_of(1) > 1;
  const Tensor product =
      is_transposed ? transpose(matmul(transpose(right, -2, -1), transpose(left, -2, -1)), -2, -1)
                    : matmul(left, right);
  return sum_to(product, like);
}

std::int64_t num_reduced(const Tensor& input, const DimList& dim) {
  std::int64_t count = 1, kept = 1;
  for (std::int64_t size : input.shape()) count *= size;
  for (std::int64_t size : kept_shape(input, dim)) kept *= size;
  return kept == 0 ? 0 : count / kept;
}

Tensor expand_reduced(const Tensor& reduced, const Tensor& input, const DimList& dim,
                      bool keepdim) {
  return expand(keepdim ? reduced : reshape(reduced, kept_shape(input, dim)), input.shape());
}

Tensor share_among(const Tensor& gradient, const Tensor& chosen, const DimList& dim, bool keepdim) {
  const Tensor weights = cast(chosen, gradient.dtype());
  const Tensor each = gradient / sum(weights, dim, keepdim);
  return weights * expand_reduced(each, chosen, dim, keepdim);
}

Dims inverse_permutation(IntList dims) {
  Dims inverse(dims);
  const auto rank = static_cast<std::int64_t>(dims.size());
  for (std::int64_t i = 0; i < rank; ++i)
    inverse[static_cast<std::size_t>((dims[static_cast<std::size_t>(i)] + rank) % rank)] = i;
  return inverse;
}

Tensor embed(const Tensor& gradient, const Tensor& input,
             const std::function<Tensor(const Tensor&)>& view) {
  Tensor all = zeros(input.shape(), gradient.dtype(), gradient.device());
  copy_into(view(all), gradient);
  return all;
}

Tensor embed_overlapping(const Tensor& gradient, const Tensor& input,
                         const std::function<Tensor(const Tensor&)>& view) {
  const Device device = gradient.device();
  const Tensor places =
      view(reshape(arange(0, input.numel(), 1, Dtype::i64, device), input.shape()));
  const Tensor line = zeros({input.numel()}, gradient.dtype(), device);
  const Tensor summed = scatter_add(line, 0, reshape(places, {-1}), reshape(gradient, {-1}));
  return reshape(summed, input.shape());
}

std::int64_t extent_of(IntList shape, IntList strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += strides[i] * (shape[i] - 1);
  }
  return last + 1;
}

// From the smallest stride up, each dimension must step past all that those before it reach.
bool names_each_once(const Tensor& tensor) {
  std::array<std::pair<std::int64_t, std::int64_t>, max_rank> steps;  // stride and size
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i)
    if (tensor.shape()[i] > 1) steps[count++] = {tensor.strides()[i], tensor.shape()[i]};
  std::sort(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count));
  std::int64_t reached = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (steps[i].first <= reached) return false;
    reached += steps[i].first * (steps[i].second - 1);
  }
  return true;
}

// In a line of memory that reaches over both tensors. An element that several indices name has the sum of
// their gradients, of which each index of `input` gets an equal part.
Tensor embed_strided(const Tensor& gradient, const Tensor& input, IntList size, IntList strides,
                     std::optional<std::int64_t> offset) {
  const std::int64_t origin = input.storage_offset();
  const std::int64_t from = offset.value_or(origin) - origin,
                     start = std::min<std::int64_t>(from, 0);
  const std::int64_t end =
      std::max(from + extent_of(size, strides), extent_of(input.shape(), input.strides()));
  const Device device = gradient.device();
  const Tensor places =
      as_strided(arange(0, end - start, 1, Dtype::i64, device), size, strides, from - start);
  const Tensor line = scatter_add(zeros({end - start}, gradient.dtype(), device), 0,
                                  reshape(places, {-1}), reshape(gradient, {-1}));
  const auto shown = [&](const Tensor& memory) {
    return as_strided(memory, input.shape(), input.strides(), -start);
  };
  if (names_each_once(input)) return shown(line);
  const Tensor names = reshape(shown(arange(0, end - start, 1, Dtype::i64, device)), {-1});
  const Tensor counts = scatter_add(zeros({end - start}, gradient.dtype(), device), 0, names,
                                    ones({input.numel()}, gradient.dtype(), device));
  return shown(line / maximum(counts, 1));
}

// An index without elements may be of any dtype and rank.
Tensor gathered_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim,
                         const Tensor& index) {
  const Tensor none = zeros_like(input);
  return index.numel() == 0 ? none : scatter_add(none, dim, index, gradient);
}

Tensor rows_added(const Tensor& input, std::int64_t dim, const Tensor& index,
                  const Tensor& source) {
  if (input.ndim() == 0) return scatter_add(input, 0, reshape(index, {}), reshape(source, {}));
  Dims line(static_cast<std::uint32_t>(input.ndim()), 1);
  line[static_cast<std::size_t>(wrapped(dim, input))] = index.numel();
  return scatter_add(input, dim, expand(reshape(index, line), source.shape()), source);
}

void split_like(const Tensor& input, std::span<const Tensor> parts, std::int64_t dim,
                std::span<Tensor> out) {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_bare = parts[i].ndim() == 1 && parts[i].numel() == 0;  // which cat leaves out
    const std::int64_t length = is_bare && input.ndim() != 1 ? 0 : parts[i].size(dim);
    if (!is_bare) {
      const Tensor part = narrow(input, dim, start, length);
      out[i] = part.dtype() == parts[i].dtype() ? part : cast(part, parts[i].dtype());
    }
    start += length;
  }
}

std::vector<std::int64_t> equal_parts(IntList shape, std::int64_t split_size, std::int64_t dim) {
  const std::int64_t whole = shape[wrapped_in(shape, dim)];
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = whole; left > 0; left -= sizes.back())
    sizes.push_back(std::min(split_size, left));
  if (sizes.empty()) sizes.push_back(0);
  return sizes;
}

namespace {

const Tensor& any_of(std::span<const Tensor> gradients) {
  return *std::find_if(gradients.begin(), gradients.end(),
                       [](const Tensor& gradient) { return gradient.defined(); });
}

}  // namespace

Tensor joined_gradients(std::span<const Tensor> gradients, IntList shape, IntList sizes,
                        std::int64_t dim) {
  const std::size_t place = wrapped_in(shape, dim);
  const Tensor& like = any_of(gradients);
  std::vector<Tensor> parts(gradients.begin(), gradients.end());
  Dims part(shape);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    part[place] = sizes[i];
    if (!parts[i].defined()) parts[i] = zeros(part, like.dtype(), like.device());
  }
  return cat(parts, static_cast<std::int64_t>(place));
}

Tensor stacked_gradients(std::span<const Tensor> gradients, IntList shape, std::int64_t dim) {
  const std::size_t place = wrapped_in(shape, dim);
  const Tensor& like = any_of(gradients);
  std::vector<Tensor> slices(gradients.begin(), gradients.end());
  Dims slice(shape);
  slice.erase(place);
  for (Tensor& each : slices)
    if (!each.defined()) each = zeros(slice, like.dtype(), like.device());
  return stack(slices, static_cast<std::int64_t>(place));
}

}  // namespace bp::autograd
