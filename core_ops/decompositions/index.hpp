// Reading and writing by tensors of indices, one for each dimension, from operators that know rows alone.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor index_by_rows(const Tensor& input, TensorList indices);
Tensor index_put_by_rows(const Tensor& input, TensorList indices, const Tensor& values,
                         bool accumulate);

}  // namespace bp
