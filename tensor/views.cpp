// Views that show all elements: other shapes, other orders of dimensions.
#include <algorithm>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/views.hpp>

namespace bp::views {
namespace {

Tensor with(const Tensor& base, IntList shape, IntList strides) {
  return make_view(base, shape, strides, base.storage_offset());
}

// Of a tensor without elements, which any strides show.
Dims strides_of_nothing(IntList shape, IntList strides, IntList wanted) {
  return shape == wanted ? Dims(strides) : contiguous_strides(wanted);
}

// Does the shape name all sizes, and fit?
bool is_complete(IntList wanted, std::int64_t numel) {
  std::int64_t product = 1;
  for (std::int64_t size : wanted)
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return false;
  return product == numel;
}

// Fills in the -1, or throws.
void complete(const char* op, Dims& result, IntList wanted, IntList shape, std::int64_t numel) {
  std::int64_t* unknown = nullptr;
  for (std::int64_t& size : result) {
    if (size != -1) continue;
    BP_CHECK(!unknown, "{}: shape {} has more than one -1; write all sizes but one", op,
             to_string(wanted));
    unknown = &size;
    size = 1;
  }
  const std::int64_t known = checked_numel(op, result);
  if (!unknown) {
    BP_CHECK(numel == known,
             "{}: shape {} of {} elements does not fit shape {} of {}; keep the number of elements",
             op, to_string(wanted), known, to_string(shape), numel);
    return;
  }
  BP_CHECK(known != 0, "{}: the -1 of shape {} could be any size, since another is 0; write it", op,
           to_string(wanted));
  BP_CHECK(numel % known == 0,
           "{}: shape {} does not fit the {} elements of shape {}; its known sizes must divide {}",
           op, to_string(wanted), numel, to_string(shape), numel);
  *unknown = numel / known;
}

// Nothing if that takes a copy.
std::optional<Tensor> show(const Tensor& base, const Dims& shape) {
  if (base.is_contiguous() && base.numel() > 0) return with(base, shape, contiguous_strides(shape));
  const std::optional<Dims> strides = strides_for_view(base.shape(), base.strides(), shape);
  if (!strides) return std::nullopt;
  return with(base, shape, *strides);
}

}  // namespace

// Both shapes are walked from the back in runs: as many old dimensions as lie in memory like one,
// and the new dimensions that have exactly its elements.
std::optional<Dims> strides_for_view(IntList shape, IntList strides, IntList wanted) {
  if (shape.empty()) return Dims(static_cast<std::uint32_t>(wanted.size()), 1);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return strides_of_nothing(shape, strides, wanted);
  Dims result;
  result.resize(wanted.size());
  std::size_t next = wanted.size();  // new dimensions from here on have their strides
  std::int64_t stride = strides.back();
  std::int64_t run = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    run *= shape[dim];
    if (dim > 0 && (shape[dim - 1] == 1 || strides[dim - 1] == run * stride)) continue;
    std::int64_t filled = 1;
    while (next > 0 && (filled < run || wanted[next - 1] == 1)) {
      --next;
      result[next] = filled * stride;
      filled *= wanted[next];
    }
    if (filled != run) return std::nullopt;
    if (dim > 0) stride = strides[dim - 1];
    run = 1;
  }
  if (next > 0) return std::nullopt;
  return result;
}

Dims complete_shape(const char* op, IntList wanted, IntList shape) {
  check_rank(op, wanted.size());
  Dims result(wanted);
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  if (!is_complete(wanted, numel)) complete(op, result, wanted, shape, numel);
  return result;
}

std::optional<Tensor> reshape(const Tensor& base, IntList shape) {
  return show(base, complete_shape("reshape", shape, base.shape()));
}

Tensor view(const Tensor& base, IntList shape) {
  const Dims wanted = complete_shape("view", shape, base.shape());
  std::optional<Tensor> result = show(base, wanted);
  BP_CHECK(result,
           "view: shape {} of a tensor of shape {} and strides {} takes a copy; call reshape",
           to_string(wanted), to_string(base.shape()), to_string(base.strides()));
  return std::move(*result);
}

Dims flattened_shape(IntList shape, std::int64_t start_dim, std::int64_t end_dim) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t start = wrap_dim("flatten", start_dim, rank);
  const std::int64_t end = wrap_dim("flatten", end_dim, rank);
  BP_CHECK(start <= end, "flatten: start_dim {} comes after end_dim {}; swap them", start_dim,
           end_dim);
  if (shape.empty()) return {1};
  Dims result;
  for (std::int64_t dim = 0; dim <= start; ++dim) result.push_back(shape[dim]);
  for (std::int64_t dim = start + 1; dim <= end; ++dim) result.back() *= shape[dim];
  for (std::int64_t dim = end + 1; dim < rank; ++dim) result.push_back(shape[dim]);
  return result;
}

std::optional<Tensor> flatten(const Tensor& base, std::int64_t start_dim, std::int64_t end_dim) {
  return show(base, flattened_shape(base.shape(), start_dim, end_dim));
}

Tensor permute(const Tensor& base, IntList dims) {
  const std::int64_t rank = base.ndim();
  BP_CHECK(static_cast<std::int64_t>(dims.size()) == rank,
           "permute: dims {} do not name the {} dimensions of shape {}; list each once",
           to_string(dims), rank, to_string(base.shape()));
  Dims shape;
  Dims strides;
  std::uint32_t seen = 0;
  for (std::int64_t dim : dims) {
    dim = wrap_dim("permute", dim, rank);
    BP_CHECK((seen >> dim & 1) == 0, "permute: dimension {} is twice in {}; list each once", dim,
             to_string(dims));
    seen |= 1u << dim;
    shape.push_back(base.shape()[dim]);
    strides.push_back(base.strides()[dim]);
  }
  return with(base, shape, strides);
}

Tensor transpose(const Tensor& base, std::int64_t dim0, std::int64_t dim1) {
  dim0 = wrap_dim("transpose", dim0, base.ndim());
  dim1 = wrap_dim("transpose", dim1, base.ndim());
  Dims shape(base.shape());
  Dims strides(base.strides());
  if (dim0 != dim1) {  // a 0-dim tensor has a dimension 0 only by courtesy
    std::swap(shape[dim0], shape[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  return with(base, shape, strides);
}

Tensor expand(const Tensor& base, IntList shape) {
  check_rank("expand", shape.size());
  const IntList old = base.shape();
  BP_CHECK(shape.size() >= old.size(),
           "expand: shape {} has fewer dimensions than {}; name all of them", to_string(shape),
           to_string(old));
  const std::size_t added = shape.size() - old.size();
  Dims result(shape);
  Dims strides(static_cast<std::uint32_t>(shape.size()), 0);
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    if (dim < added) {
      BP_CHECK(shape[dim] >= 0, "expand: size {} of the new dimension {} in {}; give it a size",
               shape[dim], dim, to_string(shape));
      if (shape[dim] == 1)
        strides[dim] = dim + 1 < shape.size() ? result[dim + 1] * strides[dim + 1] : 1;
      continue;
    }
    const std::int64_t size = old[dim - added];
    if (shape[dim] == -1 || shape[dim] == size) {
      result[dim] = size;
      strides[dim] = base.strides()[dim - added];
      continue;
    }
    BP_CHECK(
        size == 1 && shape[dim] >= 0,
        "expand: shape {} does not expand to {} (dimension {}: {} against {}); only sizes of 1 "
        "expand",
        to_string(old), to_string(shape), dim, size, shape[dim]);
  }
  checked_numel("expand", result);
  return with(base, result, strides);
}

Tensor squeeze(const Tensor& base) {
  Dims shape;
  Dims strides;
  for (std::int64_t dim = 0; dim < base.ndim(); ++dim) {
    if (base.shape()[dim] == 1) continue;
    shape.push_back(base.shape()[dim]);
    strides.push_back(base.strides()[dim]);
  }
  return with(base, shape, strides);
}

Tensor squeeze(const Tensor& base, IntList dims) {
  std::uint32_t listed = 0;
  for (std::int64_t dim : dims) {
    dim = wrap_dim("squeeze", dim, base.ndim());
    BP_CHECK((listed >> dim & 1) == 0, "squeeze: dimension {} is twice in {}; list each once", dim,
             to_string(dims));
    listed |= 1u << dim;
  }
  Dims shape;
  Dims strides;
  for (std::int64_t dim = 0; dim < base.ndim(); ++dim) {
    if (base.shape()[dim] == 1 && (listed >> dim & 1) != 0) continue;
    shape.push_back(base.shape()[dim]);
    strides.push_back(base.strides()[dim]);
  }
  return with(base, shape, strides);
}

Tensor unsqueeze(const Tensor& base, std::int64_t dim) {
  const std::int64_t rank = base.ndim();
  check_rank("unsqueeze", static_cast<std::size_t>(rank) + 1);
  BP_CHECK(dim >= -rank - 1 && dim <= rank,
           "unsqueeze: there is no place {} in a tensor of rank {}; pass one from {} to {}", dim,
           rank, -rank - 1, rank);
  if (dim < 0) dim += rank + 1;
  Dims shape(base.shape());
  Dims strides(base.strides());
  // PyTorch's choice: the stride of a dimension that would go around the next one.
  const std::int64_t stride = dim < rank ? base.shape()[dim] * base.strides()[dim] : 1;
  shape.insert(dim, 1);
  strides.insert(dim, stride);
  return with(base, shape, strides);
}

}  // namespace bp::views
