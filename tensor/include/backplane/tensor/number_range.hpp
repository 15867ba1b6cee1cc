// Which numbers a dtype holds, and what becomes of one that it does not hold.
#pragma once

#include <array>
#include <cstdint>

#include <backplane/tensor/dtype.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {

namespace detail {
// The whole numbers from `least` on, `span` more. All for dtypes other than integers.
struct WholeNumbers {
  std::int64_t least;
  std::uint64_t span;
};
inline constexpr auto whole_numbers = [] {
  std::array<WholeNumbers, num_dtypes> all{};
  all.fill({INT64_MIN, UINT64_MAX});
  for (const Dtype dtype : {i8, i16, i32})
    all[index(dtype)] = {-(std::int64_t{1} << (8 * itemsize(dtype) - 1)),
                         (std::uint64_t{1} << 8 * itemsize(dtype)) - 1};
  for (const Dtype dtype : {u8, u16, u32})
    all[index(dtype)] = {0, (std::uint64_t{1} << 8 * itemsize(dtype)) - 1};
  all[index(u64)] = {0, INT64_MAX};
  return all;
}();
}  // namespace detail

// For a value with the tag BP_INT, on the call path. False for one from 2^63 on, which `holds` knows.
inline bool holds_plain_integer(std::uint32_t dtype, const bp_value& value) {
  const detail::WholeNumbers& all = detail::whole_numbers[dtype];
  return static_cast<std::uint64_t>(value.u.i) - static_cast<std::uint64_t>(all.least) <=
             all.span &&
         value.aux == 0;
}

// Real numbers lose their fraction in integers, and digits elsewhere; what no integer is (NaN, inf), what
// is beyond the largest finite number, and an imaginary part are not held. Bools hold every number.
BP_API bool holds(Dtype dtype, const Scalar& number);

// Throws bad_argument, as PyTorch does, unless `dtype` holds the number, which `what` names: "'value'".
BP_API void check_holds(const char* op, const char* what, Dtype dtype, const Scalar& number);
// The same for a number that becomes an element. Of unsigned integers a whole negative one counts from the top,
// as in PyTorch: -1 of uint8 is 255, and -256 is refused.
BP_API void check_element(const char* op, const char* what, Dtype dtype, const Scalar& number);

// For a whole number and an integer dtype: the nearest that it holds, or the one with the same low bits.
BP_API Scalar nearest_held(Dtype dtype, const Scalar& number);
BP_API Scalar wrapped(Dtype dtype, const Scalar& number);

}  // namespace bp
