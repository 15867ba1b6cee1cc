// What the derivatives of the table are written with: public operators, and the functions here.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>

#include "rules/convolution.hpp"
#include "rules/fourier.hpp"
#include "rules/joint.hpp"
#include "rules/linear_algebra.hpp"
#include "rules/norm.hpp"
#include "rules/pooling.hpp"
#include "rules/statistics.hpp"

namespace bp::autograd {

// The complex conjugate; of real numbers themselves. `room` holds a new tensor until the expression ends,
// so that a real one is not even counted.
// It is an object, so that the row's function is not looked up beside it.
struct Conjugate {
  const Tensor& operator()(const Tensor& input, Tensor&& room = Tensor()) const {
    if (!is_complex(input.dtype())) return input;
    return room = bp::conj(input);
  }
  Scalar operator()(const Scalar& input) const {
    return input.is_complex() ? Scalar(std::conj(input.to_complex())) : input;
  }
};
inline constexpr Conjugate conj;

inline Tensor scaled(const Tensor& input, const Scalar& factor) {
  return factor.to_complex() == 1.0 ? input : input * factor;
}

// The sum over the dimensions along which a tensor of `shape` was stretched to `input`'s.
Tensor sum_to(const Tensor& input, IntList shape);
inline Tensor sum_to(const Tensor& input, const Tensor& like) {
  return sum_to(input, like.shape());
}

// left by right, summed over the dimensions along which `like` was stretched for it. Where the matrices of `like` are
// transposed in memory, so are the product's: the gradient of the matrix that `like` is a view of lies as that one does.
Tensor product_like(const Tensor& like, const Tensor& left, const Tensor& right);

// How many elements went into one result.
std::int64_t num_reduced(const Tensor& input, const DimList& dim);
// What a reduction of `input` gave, seen with `input`'s shape.
Tensor expand_reduced(const Tensor& reduced, const Tensor& input, const DimList& dim, bool keepdim);
// The gradient of a maximum or minimum, in equal parts to all elements that attain it, which `chosen`
// marks.
Tensor share_among(const Tensor& gradient, const Tensor& chosen, const DimList& dim, bool keepdim);

Dims inverse_permutation(IntList dims);
// Zeros like `input`, with `gradient` in the place that `view` shows of them.
Tensor embed(const Tensor& gradient, const Tensor& input,
             const std::function<Tensor(const Tensor&)>& view);
// The same for views that show an element several times: it gets the sum.
Tensor embed_overlapping(const Tensor& gradient, const Tensor& input,
                         const std::function<Tensor(const Tensor&)>& view);
// How many elements of memory a tensor reaches over.
std::int64_t extent_of(IntList shape, IntList strides);
// Is each element of memory named by one index alone? False when in doubt.
bool names_each_once(const Tensor& tensor);
// The same for as_strided, whose offset counts from the start of the memory.
Tensor embed_strided(const Tensor& gradient, const Tensor& input, IntList size, IntList strides,
                     std::optional<std::int64_t> offset);
// The gradient of gather's input.
Tensor gathered_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim,
                         const Tensor& index);
// a with the rows of `source` added at `index` along `dim`.
Tensor rows_added(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& source);
// The gradient of scatter_add's source, of this shape: what the index does not reach has none.
Tensor scatter_added(const Tensor& gradient, std::int64_t dim, const Tensor& index, IntList shape);
// The gradient of scatter's source, of this shape: of several elements for one place, the last has it.
Tensor scatter_chosen(const Tensor& gradient, std::int64_t dim, const Tensor& index, IntList shape);
// `read`, what an index chose, in the shape that it was chosen from: what lies beyond the index is 0.
Tensor padded_behind(Tensor read, IntList shape);
// The gradients of what scatter_reduce reduces. Equal extremes share theirs.
Tensor reduced_input_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim,
                              const Tensor& index, const Tensor& src, std::string_view reduce,
                              bool include_self, const Tensor& result);
Tensor reduced_source_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim,
                               const Tensor& index, const Tensor& src, std::string_view reduce,
                               bool include_self, const Tensor& result);
Tensor embedding_gradient(const Tensor& gradient, IntList weight_shape, const Tensor& indices,
                          std::int64_t padding_idx);
std::vector<std::int64_t> negated(IntList numbers);
// The parts of what cat joined.
void split_like(const Tensor& input, std::span<const Tensor> parts, std::int64_t dim,
                std::span<Tensor> out);

// Of a call with a list of results: came no gradient at all?
inline bool none_defined(std::span<const Tensor> gradients) {
  return std::none_of(gradients.begin(), gradients.end(),
                      [](const Tensor& gradient) { return gradient.defined(); });
}
// How many slices each part of `split_size` has along `dim`, the last one what is left.
std::vector<std::int64_t> equal_parts(IntList shape, std::int64_t split_size, std::int64_t dim);
// The gradient of a tensor of this shape that was cut into parts, or into slices; one that did not come is zero.
Tensor joined_gradients(std::span<const Tensor> gradients, IntList shape, IntList sizes,
                        std::int64_t dim);
Tensor stacked_gradients(std::span<const Tensor> gradients, IntList shape, std::int64_t dim);

}  // namespace bp::autograd
