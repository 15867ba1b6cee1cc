// Reading and writing by index, choosing the largest, from other operators.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor scatter_by_sort(const Tensor& input, std::int64_t dim, const Tensor& index,
                       const Tensor& src);
Tensor index_put_by_rows(const Tensor& input, TensorList indices, const Tensor& values,
                         bool accumulate);
Tensor embedding_by_select(const Tensor& weight, const Tensor& indices);
TopkResult topk_by_sort(const Tensor& input, std::int64_t k, std::int64_t dim, bool largest);

}  // namespace bp
