// Orthogonal polynomials by the recurrences of three terms.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp {

enum class Chebyshev { t, u, v, w };
// `shifted`: of 2 * input - 1.
Tensor chebyshev_by_recurrence(Chebyshev kind, bool shifted, const Tensor& input, std::int64_t n);
// `probabilists`: He instead of H.
Tensor hermite_by_recurrence(bool probabilists, const Tensor& input, std::int64_t n);
Tensor laguerre_by_recurrence(const Tensor& input, std::int64_t n);
Tensor legendre_by_recurrence(const Tensor& input, std::int64_t n);

}  // namespace bp
