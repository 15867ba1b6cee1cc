// Views: other shapes and strides over the same storage. Metadata alone, with PyTorch's semantics.
#pragma once

#include <cstdint>
#include <optional>

#include <backplane/tensor/shape.hpp>
#include <backplane/tensor/tensor.hpp>

// All of them take dimensions counted from the end as well (-1 is the last), need a defined tensor
// of any device, and throw bad_argument for what does not fit.
namespace bp::views {

// The strides under which a tensor shows its elements, in order, in the shape `wanted`, which has as
// many; nothing if that takes a copy.
BP_API std::optional<Dims> strides_for_view(IntList shape, IntList strides, IntList wanted);

// `wanted` with its -1, if any, replaced by the size that gives `shape`'s number of elements.
BP_API Dims complete_shape(const char* op, IntList wanted, IntList shape);

// Throws when it would take a copy.
BP_API Tensor view(const Tensor& base, IntList shape);

// Nothing where a copy is needed: then the caller copies into complete_shape("reshape", ...).
BP_API std::optional<Tensor> reshape(const Tensor& base, IntList shape);

// Joins the dimensions from `start_dim` to `end_dim`, both included. Nothing where a copy is needed:
// then the caller copies into flattened_shape(...).
BP_API std::optional<Tensor> flatten(const Tensor& base, std::int64_t start_dim = 0,
                                     std::int64_t end_dim = -1);
BP_API Dims flattened_shape(IntList shape, std::int64_t start_dim, std::int64_t end_dim);

// Dimension i of the result is dimension dims[i] of `base`.
BP_API Tensor permute(const Tensor& base, IntList dims);
BP_API Tensor transpose(const Tensor& base, std::int64_t dim0, std::int64_t dim1);

// Every `step`-th element from `start` up to but not including `end`; both are clamped, as in
// Python. step > 0.
BP_API Tensor slice(const Tensor& base, std::int64_t dim = 0,
                    std::optional<std::int64_t> start = std::nullopt,
                    std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1);
BP_API Tensor select(const Tensor& base, std::int64_t dim, std::int64_t index);
// `length` elements from `start`, which are not clamped.
BP_API Tensor narrow(const Tensor& base, std::int64_t dim, std::int64_t start, std::int64_t length);

// Repeats dimensions of size 1, and new leading ones, by a stride of 0; -1 keeps a size.
BP_API Tensor expand(const Tensor& base, IntList shape);

// Drops all dimensions of size 1, or those listed that have it.
BP_API Tensor squeeze(const Tensor& base);
BP_API Tensor squeeze(const Tensor& base, IntList dims);
// Inserts a dimension of size 1 before `dim`, in [-rank - 1, rank].
BP_API Tensor unsqueeze(const Tensor& base, std::int64_t dim);

// Any shape and strides that stay inside the storage; `storage_offset` is in elements from its
// start, by default `base`'s.
BP_API Tensor as_strided(const Tensor& base, IntList shape, IntList strides,
                         std::optional<std::int64_t> storage_offset = std::nullopt);

// Windows of `size` elements, `step` apart, along `dim`; a window's elements are a new last dimension.
BP_API Tensor unfold(const Tensor& base, std::int64_t dim, std::int64_t size, std::int64_t step);

// The diagonal of dimensions `dim1` and `dim2`, as a new last dimension; a positive `offset` lies
// above the main one.
BP_API Tensor diagonal(const Tensor& base, std::int64_t offset = 0, std::int64_t dim1 = 0,
                       std::int64_t dim2 = 1);

// The two parts of each complex number along a new last dimension, as real numbers.
BP_API Tensor view_as_real(const Tensor& base);
// The other way: pairs along the last dimension, of f32 or f64, as complex numbers. Throws where no
// strides show them, which shows_pairs tells.
BP_API Tensor view_as_complex(const Tensor& base);
BP_API bool shows_pairs(const Tensor& input);

}  // namespace bp::views
