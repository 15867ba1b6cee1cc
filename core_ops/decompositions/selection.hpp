// Writing by index, looking up, choosing the largest, from other operators.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor scatter_by_sort(const Tensor& input, std::int64_t dim, const Tensor& index,
                       const Tensor& src);
// Numbers, from 1, of who wrote each place as indices: where nobody did, any will do.
inline Tensor index_of_writer(const Tensor& writers) {
  return sub(maximum(writers, 1), 1);
}
Tensor embedding_by_select(const Tensor& weight, const Tensor& indices);
TopkResult topk_by_sort(const Tensor& input, std::int64_t k, std::int64_t dim, bool largest);

}  // namespace bp
