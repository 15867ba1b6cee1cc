// PyTorch's type promotion; for u16, u32 and u64, the array API's.
#pragma once

#include <optional>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/dtype.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {

// The smallest dtype that both convert to. Throws bad_argument where there is none: for u64 with an integer
// that has a sign; u16, u32 or u64 with a complex one; an fp8 with anything but itself.
BP_API Dtype promote(Dtype a, Dtype b);

// May results of `from` be written into `to` (out=, in-place)? Not from complex to real, from
// floating to integral, or from anything to bool.
BP_API bool can_cast(Dtype from, Dtype to);

// The complex type whose parts are of this floating type. f16 and bf16 give complex64, since there is
// no smaller one here (PyTorch: complex32).
BP_API Dtype to_complex(Dtype floating);
// That of the parts of a complex type; any other as it is.
BP_API Dtype to_real(Dtype dtype);

// Collects the arguments of a call. Tensors with dimensions decide; 0-dim tensors raise the category
// (bool < integer < floating < complex) if theirs is higher, and numbers if theirs is higher still.
class BP_API ResultType {
 public:
  // `default_dtype`: that of real numbers, f32 or f64 (or f16, bf16).
  explicit ResultType(Dtype default_dtype = f32) : default_(default_dtype) {}

  void add(Dtype dtype, bool is_zero_dim);
  void add(const Scalar& number);
  // Throws bad_argument when nothing was added, or promote refuses.
  Dtype result() const;

 private:
  Dtype default_;
  std::optional<Dtype> dims_;
  std::optional<Dtype> zero_dim_;
  std::optional<Dtype> number_;
};

}  // namespace bp
