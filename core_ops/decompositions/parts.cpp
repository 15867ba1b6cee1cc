#include "decompositions/parts.hpp"

#include <algorithm>

#include <backplane/core_ops/forms.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "rules/decompositions.hpp"

namespace bp {

std::vector<Tensor> chunk_by_split(const Tensor& input, std::int64_t chunks, std::int64_t dim) {
  const std::int64_t whole = input.size(dim);
  if (whole != 0) return split(input, (whole - 1) / chunks + 1, dim);
  return split_with_sizes(input, std::vector<std::int64_t>(static_cast<std::size_t>(chunks), 0),
                          dim);
}

std::vector<Tensor> tensor_split_by_narrow(const Tensor& input, std::int64_t sections,
                                           std::int64_t dim) {
  const std::int64_t whole = input.size(dim);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t length = whole / sections + (i < whole % sections ? 1 : 0);
    parts.push_back(narrow(input, dim, start, length));
    start += length;
  }
  return parts;
}

std::vector<Tensor> tensor_split_by_slice(const Tensor& input, IntList indices, std::int64_t dim) {
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t end : indices) {
    parts.push_back(slice(input, dim, start, end));
    start = end;
  }
  parts.push_back(slice(input, dim, start));
  return parts;
}

std::vector<Tensor> meshgrid_by_expand(TensorList tensors, std::string_view indexing) {
  BP_CHECK(indexing == "ij" || indexing == "xy", "meshgrid: indexing is '{}'; pass 'ij' or 'xy'",
           indexing);
  const Tensor& first = tensors.span()[0];
  Dims shape;
  for (const Tensor& tensor : tensors.span()) {
    BP_CHECK(tensor.ndim() <= 1, "meshgrid: a tensor has shape {}; pass vectors",
             to_string(tensor.shape()));
    BP_CHECK(tensor.dtype() == first.dtype(), "meshgrid: tensors are {} and {}; cast one of them",
             name(first.dtype()), name(tensor.dtype()));
    BP_CHECK(tensor.device() == first.device(),
             "meshgrid: tensors are on {} and {}; move one with to()", device_name(first.device()),
             device_name(tensor.device()));
    shape.push_back(tensor.numel());
  }
  check_rank("meshgrid", shape.size());
  const bool swaps = indexing == "xy" && shape.size() >= 2;
  if (swaps) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t dim = swaps && i < 2 ? 1 - i : i;
    grids.push_back(expand(along_dim(tensors.span()[i], static_cast<std::int64_t>(dim),
                                     static_cast<std::int64_t>(shape.size())),
                           shape));
  }
  return grids;
}

std::vector<Tensor> broadcast_tensors_by_expand(TensorList tensors) {
  Dims shape;
  for (const Tensor& tensor : tensors.span())
    shape = broadcast_shapes("broadcast_tensors", shape, tensor.shape());
  std::vector<Tensor> views;
  for (const Tensor& tensor : tensors.span()) views.push_back(expand(tensor, shape));
  return views;
}

}  // namespace bp
