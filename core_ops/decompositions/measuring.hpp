// Counts, extremes, differences and what leaves NaN out, from other operators.
#pragma once

#include <cstdint>
#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

AminmaxResult both_extremes(const Tensor& input, std::optional<std::int64_t> dim, bool keepdim);
Tensor nan_as_zero(const Tensor& input);
Tensor mean_without_nan(const Tensor& input, const DimList& dim, bool keepdim,
                        std::optional<Dtype> dtype);
VarMeanResult variance_and_mean(const Tensor& input, const DimList& dim, const Scalar& correction,
                                bool keepdim);
StdMeanResult deviation_and_mean(const Tensor& input, const DimList& dim, const Scalar& correction,
                                 bool keepdim);
Tensor numbers_alone(const Tensor& input, std::optional<double> nan, std::optional<double> posinf,
                     std::optional<double> neginf);
Tensor are_close(const Tensor& input, const Tensor& other, double rtol, double atol,
                 bool equal_nan);
Tensor differences_along(const Tensor& input, std::int64_t n, std::int64_t dim,
                         const Tensor& prepend, const Tensor& append);
Tensor running_product(const Tensor& input, std::int64_t dim, std::optional<Dtype> dtype);
Tensor softmax_or_zero(const Tensor& input, std::int64_t dim, std::optional<Dtype> dtype);

// Both rows have the same results.
struct MiddleElement {
  Tensor values, indices;
  operator MedianResult() && { return {std::move(values), std::move(indices)}; }
  operator NanmedianResult() && { return {std::move(values), std::move(indices)}; }
};
MiddleElement middle_element(const Tensor& input, std::int64_t dim, bool keepdim,
                             bool leaves_nan_out);

}  // namespace bp
