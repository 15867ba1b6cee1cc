// Reading and writing by tensors of indices, one for each dimension, from operators that know rows alone.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor index_by_rows(const Tensor& input, TensorList indices);
Tensor index_put_by_rows(const Tensor& input, TensorList indices, const Tensor& values,
                         bool accumulate);
// scatter_add, and of bools whether one of those added, or the one that was there, is true.
Tensor sum_at(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace bp
