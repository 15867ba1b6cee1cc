// Forms of operators that no row of the table describes: lists and numbers in place of other arguments, writing in place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// split_with_sizes and tensor_split_at by the names that PyTorch has for them as well.
BP_API std::vector<Tensor> split(const Tensor& input, IntList sizes, std::int64_t dim = 0);
inline std::vector<Tensor> split(const Tensor& input, std::initializer_list<std::int64_t> sizes,
                                 std::int64_t dim = 0) {
  return split(input, IntList(sizes), dim);
}

BP_API std::vector<Tensor> tensor_split(const Tensor& input, IntList indices, std::int64_t dim = 0);
inline std::vector<Tensor> tensor_split(const Tensor& input,
                                        std::initializer_list<std::int64_t> indices,
                                        std::int64_t dim = 0) {
  return tensor_split(input, IntList(indices), dim);
}

// index_put into `input` itself.
//   bp::index_put_(table, {rows, {}, columns}, values);
BP_API const Tensor& index_put_(const Tensor& input, TensorList indices, const Tensor& values,
                                bool accumulate = false);

// A copy of `input` with one number at `index` along `dim`.
BP_API Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index,
                      const Scalar& value);

// Normal numbers from `generator`, by default the device's. Without `dtype`, of the default dtype.
BP_API Tensor normal(double mean, double std, IntList size,
                     std::optional<Dtype> dtype = std::nullopt,
                     std::optional<Device> device = std::nullopt, Generator* generator = nullptr);

// Draws into `input` itself, in its dtype: uniform numbers from `low` up to `high`; normal ones; 1 with
// probability `p`, else 0. From `generator`, by default the device's.
BP_API const Tensor& uniform_(const Tensor& input, double low = 0, double high = 1,
                              Generator* generator = nullptr);
BP_API const Tensor& normal_(const Tensor& input, double mean = 0, double std = 1,
                             Generator* generator = nullptr);
BP_API const Tensor& bernoulli_(const Tensor& input, double p = 0.5,
                                Generator* generator = nullptr);

}  // namespace bp
