// Arithmetic and comparisons in C++'s notation. == compares elementwise; is_same compares handles.
#pragma once

#include <backplane/core_ops/generated/comparison.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>

namespace bp {

#define BP_BINARY_OPERATOR(symbol, function)                        \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { \
    return function(a, b);                                          \
  }                                                                 \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { \
    return function(a, b);                                          \
  }                                                                 \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) { \
    return function(a, b);                                          \
  }
BP_BINARY_OPERATOR(+, add)
BP_BINARY_OPERATOR(-, sub)
BP_BINARY_OPERATOR(*, mul)
BP_BINARY_OPERATOR(/, div)
BP_BINARY_OPERATOR(==, eq)
BP_BINARY_OPERATOR(!=, ne)
BP_BINARY_OPERATOR(<, lt)
BP_BINARY_OPERATOR(<=, le)
BP_BINARY_OPERATOR(>, gt)
BP_BINARY_OPERATOR(>=, ge)
#undef BP_BINARY_OPERATOR

// In place: every tensor over the same memory sees it. a[mask] is a copy: use masked_fill_ or index_put_.
#define BP_ASSIGNING_OPERATOR(symbol, function)                             \
  inline const Tensor& operator symbol(const Tensor& a, const Tensor& b) {  \
    return function(a, b);                                                  \
  }                                                                         \
  inline const Tensor& operator symbol(const Tensor& a, const Scalar& b) {  \
    return function(a, b);                                                  \
  }                                                                         \
  const Tensor& operator symbol(IndexedCopy&& a, const Tensor& b) = delete; \
  const Tensor& operator symbol(IndexedCopy&& a, const Scalar& b) = delete;
BP_ASSIGNING_OPERATOR(+=, add_)
BP_ASSIGNING_OPERATOR(-=, sub_)
BP_ASSIGNING_OPERATOR(*=, mul_)
BP_ASSIGNING_OPERATOR(/=, div_)
#undef BP_ASSIGNING_OPERATOR

inline Tensor operator-(const Tensor& a) {
  return neg(a);
}

}  // namespace bp
