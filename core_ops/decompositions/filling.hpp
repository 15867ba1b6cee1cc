// Filling, adding and copying at the places that a mask or an index names, from other operators.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor filled_where(const Tensor& input, const Tensor& mask, const Scalar& value);
Tensor selected_where(const Tensor& input, const Tensor& mask);
Tensor scattered_where(const Tensor& input, const Tensor& mask, const Tensor& source);
Tensor filled_diagonal(const Tensor& input, const Scalar& value, bool wrap);
Tensor filled_slices(const Tensor& input, std::int64_t dim, const Tensor& index,
                     const Scalar& value);
Tensor added_slices(const Tensor& input, std::int64_t dim, const Tensor& index,
                    const Tensor& source, const Scalar& alpha);
Tensor copied_slices(const Tensor& input, std::int64_t dim, const Tensor& index,
                     const Tensor& source);
Tensor put_by_places(const Tensor& input, const Tensor& index, const Tensor& source,
                     bool accumulate);

}  // namespace bp
