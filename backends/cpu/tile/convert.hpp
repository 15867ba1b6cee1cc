// Elements from one dtype to another, for every pair.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

using ConvertStage = void (*)(void* dst, const void* src, int64_t count);

// dst[i] = src[i] in another type; dst and src are apart, and contiguous.
//
// To bool: 1 if not 0. Complex to real: the real part. To floating: to nearest even; beyond the range,
// infinity, and for f8_e4m3fn, which has none, NaN. Floating to integer: truncates; what does not fit
// gives what x86 gives, the lowest number of i32 or i64, cut to the type, and never traps.
// To f16, bf16 and f8 the way is through f32, rounded to odd, so that each number is rounded once.
struct Convert {
  ConvertStage first = nullptr;
  ConvertStage second = nullptr;  // NULL: the first does it all

  explicit operator bool() const { return first != nullptr; }
  void operator()(void* dst, const void* src, int64_t count) const {
    if (second == nullptr) {
      first(dst, src, count);
    } else {
      in_two_stages(dst, src, count);
    }
  }

  int32_t from_bytes = 0, to_bytes = 0;

 private:
  void in_two_stages(void* dst, const void* src, int64_t count) const;
};

// For dtypes that are equal: a plain copy.
Convert find_convert(uint32_t from, uint32_t to);

int64_t itemsize_of(uint32_t dtype);

}  // namespace bp::cpu::tile
