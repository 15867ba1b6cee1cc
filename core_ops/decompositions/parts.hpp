// Rows with a list of results, from views.
#pragma once

#include <string_view>
#include <vector>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

std::vector<Tensor> chunk_by_split(const Tensor& input, std::int64_t chunks, std::int64_t dim);
std::vector<Tensor> tensor_split_by_narrow(const Tensor& input, std::int64_t sections,
                                           std::int64_t dim);
std::vector<Tensor> tensor_split_by_slice(const Tensor& input, IntList indices, std::int64_t dim);
std::vector<Tensor> meshgrid_by_expand(TensorList tensors, std::string_view indexing);
std::vector<Tensor> broadcast_tensors_by_expand(TensorList tensors);

}  // namespace bp
