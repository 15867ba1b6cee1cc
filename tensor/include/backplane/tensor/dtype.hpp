// Element types: names, sizes, categories.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>

namespace bp {

// The values are those of the C ABI. The fp8 types are for storage: cast before computing.
enum class Dtype : std::uint8_t {
  boolean = BP_BOOL,
  u8 = BP_U8,
  i8 = BP_I8,
  i16 = BP_I16,
  i32 = BP_I32,
  i64 = BP_I64,
  u16 = BP_U16,
  u32 = BP_U32,
  u64 = BP_U64,
  f16 = BP_F16,
  bf16 = BP_BF16,
  f32 = BP_F32,
  f64 = BP_F64,
  complex64 = BP_COMPLEX64,
  complex128 = BP_COMPLEX128,
  f8_e4m3fn = BP_F8_E4M3FN,
  f8_e5m2 = BP_F8_E5M2,
};
using enum Dtype;

inline constexpr unsigned num_dtypes = BP_NUM_DTYPES;

constexpr unsigned index(Dtype dtype) {
  return static_cast<unsigned>(dtype);
}

// A set of dtypes is a word.
using DtypeSet = bp_dtype_set;
constexpr DtypeSet set_of(Dtype dtype) {
  return DtypeSet{1} << index(dtype);
}
template <class... D> constexpr DtypeSet set_of(Dtype first, D... rest) {
  return set_of(first) | set_of(rest...);
}
constexpr bool contains(DtypeSet set, Dtype dtype) {
  return (set & set_of(dtype)) != 0;
}

namespace dtypes {
inline constexpr DtypeSet floating = set_of(f16, bf16, f32, f64);
inline constexpr DtypeSet complex = set_of(complex64, complex128);
inline constexpr DtypeSet integral = set_of(u8, i8, i16, i32, i64, u16, u32, u64);
inline constexpr DtypeSet real = floating | integral;
inline constexpr DtypeSet numeric = real | complex;
inline constexpr DtypeSet computed = numeric | set_of(boolean);  // all but the storage types
inline constexpr DtypeSet all = computed | set_of(f8_e4m3fn, f8_e5m2);
}  // namespace dtypes

constexpr bool is_floating(Dtype dtype) {
  return contains(dtypes::floating, dtype);
}
constexpr bool is_complex(Dtype dtype) {
  return contains(dtypes::complex, dtype);
}
constexpr bool is_integral(Dtype dtype) {
  return contains(dtypes::integral, dtype);
}
constexpr bool is_storage_only(Dtype dtype) {
  return !contains(dtypes::computed, dtype);
}

namespace detail {
// Tables in memory, since both are read on the call path.
inline constexpr std::uint8_t itemsizes[num_dtypes] = {1, 1, 1, 2, 4, 8,  2, 4, 8,
                                                       2, 2, 4, 8, 8, 16, 1, 1};
// DLPack's codes: int 0, uint 1, float 2, bfloat 4, complex 5, bool 6, float8_e4m3fn 10, float8_e5m2 12.
inline constexpr bp_dl_dtype dl_dtypes[num_dtypes] = {
    {6, 8, 1},  {1, 8, 1},  {0, 8, 1},   {0, 16, 1}, {0, 32, 1}, {0, 64, 1},
    {1, 16, 1}, {1, 32, 1}, {1, 64, 1},  {2, 16, 1}, {4, 16, 1}, {2, 32, 1},
    {2, 64, 1}, {5, 64, 1}, {5, 128, 1}, {10, 8, 1}, {12, 8, 1}};
}  // namespace detail

// Bytes of one element.
constexpr std::uint32_t itemsize(Dtype dtype) {
  return detail::itemsizes[index(dtype)];
}

// The type's description in DLPack.
constexpr bp_dl_dtype dl_dtype(Dtype dtype) {
  return detail::dl_dtypes[index(dtype)];
}

// Throws bad_argument naming `op` unless this is one of the dtypes above: a number may have been cast to it.
BP_API void check_is_dtype(const char* op, Dtype dtype);

// PyTorch's name without its prefix: "float32"; "no dtype" for any other number.
BP_API std::string_view name(Dtype dtype);
BP_API std::string to_string(Dtype dtype);
BP_API std::ostream& operator<<(std::ostream& stream, Dtype dtype);

// Accepts PyTorch's names and the short ones ("f32"); throws bad_argument for others.
BP_API Dtype dtype_from_name(std::string_view name);

}  // namespace bp
