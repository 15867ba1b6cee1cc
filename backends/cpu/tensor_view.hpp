// Typed access to the elements of a call's tensors.
#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include <backplane/abi.h>

namespace bp::cpu {

// Rounds to the nearest, ties to even; a NaN stays one.
inline uint16_t bf16_from(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float float_from_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  // Moving the exponent by a multiplication makes normal numbers of subnormal ones as well.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

inline uint16_t f16_from(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 65520 on
  if (rest < 0x38800000u) {  // subnormal: the addition leaves the right bits at the bottom
    const float shifted = std::bit_cast<float>(rest) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = rest + 0xfffu + ((rest >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

// Storage of the 16-bit floats; arithmetic is done in float.
struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value) : bits(f16_from(value)) {}
  operator float() const { return float_from_f16(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(bf16_from(value)) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

template <class T> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
inline constexpr bool is_reduced_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// What sums of T are computed in: the 16-bit floats in float, all others in themselves.
template <class T> using Wide = std::conditional_t<is_reduced_float<T>, float, T>;

template <class T> struct Tag { using type = T; };

// Calls f(Tag<T>) with the C++ type of `dtype`; nothing for the 8-bit floats, which are storage alone.
// A dtype outside `dtypes` makes no code.
template <bp_dtype_set dtypes = ~bp_dtype_set{0}, class F> bool visit_dtype(uint32_t dtype, F&& f) {
  const auto in_case = [&]<uint32_t code, class T>(Tag<T> tag) {
    if constexpr ((dtypes >> code) & 1u) {
      f(tag);
      return true;
    } else {
      (void)tag;
      return false;
    }
  };
  switch (dtype) {
    case BP_BOOL: return in_case.template operator()<BP_BOOL>(Tag<bool>{});
    case BP_U8: return in_case.template operator()<BP_U8>(Tag<uint8_t>{});
    case BP_I8: return in_case.template operator()<BP_I8>(Tag<int8_t>{});
    case BP_I16: return in_case.template operator()<BP_I16>(Tag<int16_t>{});
    case BP_I32: return in_case.template operator()<BP_I32>(Tag<int32_t>{});
    case BP_I64: return in_case.template operator()<BP_I64>(Tag<int64_t>{});
    case BP_U16: return in_case.template operator()<BP_U16>(Tag<uint16_t>{});
    case BP_U32: return in_case.template operator()<BP_U32>(Tag<uint32_t>{});
    case BP_U64: return in_case.template operator()<BP_U64>(Tag<uint64_t>{});
    case BP_F16: return in_case.template operator()<BP_F16>(Tag<Half>{});
    case BP_BF16: return in_case.template operator()<BP_BF16>(Tag<BFloat16>{});
    case BP_F32: return in_case.template operator()<BP_F32>(Tag<float>{});
    case BP_F64: return in_case.template operator()<BP_F64>(Tag<double>{});
    case BP_COMPLEX64: return in_case.template operator()<BP_COMPLEX64>(Tag<std::complex<float>>{});
    case BP_COMPLEX128:
      return in_case.template operator()<BP_COMPLEX128>(Tag<std::complex<double>>{});
    default: return false;
  }
}

constexpr bp_dtype_set dtype_set(std::initializer_list<uint32_t> dtypes) {
  bp_dtype_set set = 0;
  for (uint32_t dtype : dtypes) set |= bp_dtype_set{1} << dtype;
  return set;
}

inline constexpr bp_dtype_set all_dtypes = (bp_dtype_set{1} << BP_NUM_DTYPES) - 1;
inline constexpr bp_dtype_set signed_dtypes = dtype_set({BP_I8, BP_I16, BP_I32, BP_I64});
inline constexpr bp_dtype_set unsigned_dtypes = dtype_set({BP_U8, BP_U16, BP_U32, BP_U64});
inline constexpr bp_dtype_set integral_dtypes = signed_dtypes | unsigned_dtypes;
inline constexpr bp_dtype_set floating_dtypes = dtype_set({BP_F16, BP_BF16, BP_F32, BP_F64});
inline constexpr bp_dtype_set complex_dtypes = dtype_set({BP_COMPLEX64, BP_COMPLEX128});
inline constexpr bp_dtype_set numeric_dtypes = integral_dtypes | floating_dtypes | complex_dtypes;

// Of element 0: this backend's handles are addresses.
inline char* address(const bp_tensor& tensor) {
  return static_cast<char*>(tensor.dl.data) + tensor.dl.byte_offset;
}
template <class T = char> T* data_of(const bp_tensor& tensor) {
  return reinterpret_cast<T*>(address(tensor));
}

inline bool is_contiguous(const bp_tensor& tensor) {
  return (tensor.flags & BP_LAYOUT_CONTIGUOUS) != 0;
}

inline std::span<const int64_t> shape_of(const bp_tensor& tensor) {
  return {tensor.dl.shape, static_cast<size_t>(tensor.dl.ndim)};
}
inline std::span<const int64_t> strides_of(const bp_tensor& tensor) {
  return {tensor.dl.strides, static_cast<size_t>(tensor.dl.ndim)};
}

// Walks the elements of a shape in logical order with `num` running offsets, each with its own strides
// (in elements). Rank 0 has one element.
template <int num> class Walker {
 public:
  // `strides[k]` has shape.size() entries and outlives the walker, as the shape does.
  Walker(std::span<const int64_t> shape, std::array<const int64_t*, num> strides)
      : shape_(shape), strides_(strides) {}

  // Moves to the element with this place in logical order.
  void seek(int64_t element) {
    offsets_ = {};
    for (int dim = static_cast<int>(shape_.size()) - 1; dim >= 0; --dim) {
      index_[dim] = element % shape_[dim];
      element /= shape_[dim];
      for (int k = 0; k < num; ++k) offsets_[k] += index_[dim] * strides_[k][dim];
    }
  }

  void next() {
    for (int dim = static_cast<int>(shape_.size()) - 1; dim >= 0; --dim) {
      if (++index_[dim] < shape_[dim]) {
        for (int k = 0; k < num; ++k) offsets_[k] += strides_[k][dim];
        return;
      }
      index_[dim] = 0;
      for (int k = 0; k < num; ++k) offsets_[k] -= strides_[k][dim] * (shape_[dim] - 1);
    }
  }

  int64_t offset(int k) const { return offsets_[k]; }
  int64_t index(int dim) const { return index_[dim]; }

 private:
  std::span<const int64_t> shape_;
  std::array<const int64_t*, num> strides_;
  std::array<int64_t, num> offsets_{};
  std::array<int64_t, BP_MAX_RANK> index_{};
};

// A tensor's dimensions without one, for walking the rows along it.
struct WithoutDim {
  WithoutDim(const bp_tensor& tensor, int64_t dim) {
    for (int32_t i = 0; i < tensor.dl.ndim; ++i) {
      if (i == dim) continue;
      shape[rank] = tensor.dl.shape[i];
      strides[rank] = tensor.dl.strides[i];
      count *= tensor.dl.shape[i];
      ++rank;
    }
  }
  std::span<const int64_t> shape_span() const { return {shape.data(), rank}; }

  std::array<int64_t, BP_MAX_RANK> shape{};
  std::array<int64_t, BP_MAX_RANK> strides{};
  size_t rank = 0;
  int64_t count = 1;
};

}  // namespace bp::cpu
