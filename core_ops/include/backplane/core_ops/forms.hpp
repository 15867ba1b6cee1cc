// Forms of operators that no row of the table describes: lists of results, numbers in place of tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// The parts of a tensor along `dim`, as views: of these sizes, which add up to the whole, or of one size,
// the last one smaller where it does not fit.
BP_API std::vector<Tensor> split(const Tensor& input, IntList sizes, std::int64_t dim = 0);
BP_API std::vector<Tensor> split(const Tensor& input, std::int64_t size, std::int64_t dim = 0);
inline std::vector<Tensor> split(const Tensor& input, std::initializer_list<std::int64_t> sizes,
                                 std::int64_t dim = 0) {
  return split(input, IntList(sizes), dim);
}

// At most this many equal parts along `dim`, as views; the last one may be smaller.
BP_API std::vector<Tensor> chunk(const Tensor& input, std::int64_t chunks, std::int64_t dim = 0);

// A copy of `input` with one number at `index` along `dim`.
BP_API Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index,
                      const Scalar& value);

// Normal numbers from the device's generator. Without `dtype`, of the default dtype.
BP_API Tensor normal(double mean, double std, IntList size,
                     std::optional<Dtype> dtype = std::nullopt,
                     std::optional<Device> device = std::nullopt);

}  // namespace bp
