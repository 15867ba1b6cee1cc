#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/move.cpp"
#include <algorithm>
#include <cstring>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "constants.hpp"
#include "tile/move.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `dst` is aligned to 64 bytes, `bytes` a multiple of 64.
void stream_lines(char* dst, const char* src, int64_t bytes) {
  const hn::CappedTag<uint8_t, 64> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  auto* to = reinterpret_cast<uint8_t*>(dst);
  const auto* from = reinterpret_cast<const uint8_t*>(src);
  for (int64_t i = 0; i < bytes; i += step) hn::Stream(hn::LoadU(d, from + i), d, to + i);
}

// The same from one line of 64 bytes, again and again.
void repeat_line(char* dst, const char* line, int64_t bytes, bool past_caches) {
  const hn::CappedTag<uint8_t, 64> d;
  constexpr int parts = 64 / static_cast<int>(hn::MaxLanes(d));
  constexpr int64_t step = 64 / parts;
  auto* to = reinterpret_cast<uint8_t*>(dst);
  hn::Vec<decltype(d)> values[parts];
  for (int k = 0; k < parts; ++k)
    values[k] = hn::LoadU(d, reinterpret_cast<const uint8_t*>(line) + k * step);
  for (int64_t i = 0; i < bytes; i += 64) {
    for (int k = 0; k < parts; ++k) {
      if (past_caches)
        hn::Stream(values[k], d, to + i + k * step);
      else
        hn::Store(values[k], d, to + i + k * step);
    }
  }
}

namespace {

#if HWY_TARGET != HWY_SCALAR
template <class D> HWY_INLINE hn::Vec<D> reversed(D d, hn::Vec<D> v) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) {  // Highway turns no bytes
    const hn::Repartition<uint16_t, D> pairs;
    const auto turned = hn::Reverse(pairs, hn::BitCast(pairs, v));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(turned), hn::ShiftRight<8>(turned)));
  } else {
    return hn::Reverse(d, v);
  }
}
#endif

template <class T> void reverse(T* to, const T* from, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(reversed(d, hn::LoadU(d, from - i - lanes + 1)), d, to + i);
#endif
  for (; i < count; ++i) to[i] = from[-i];
}

}  // namespace

// dst[i] = src[-i], for elements of 1, 2, 4 or 8 bytes.
void reverse_run(void* dst, const void* src, int64_t itemsize, int64_t count) {
  const auto by = [&]<class T>(T) {
    reverse(static_cast<T*>(dst), static_cast<const T*>(src), count);
  };
  switch (itemsize) {
    case 1: return by(uint8_t{});
    case 2: return by(uint16_t{});
    case 4: return by(uint32_t{});
    default: return by(uint64_t{});
  }
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(stream_lines);
HWY_EXPORT(repeat_line);
HWY_EXPORT(reverse_run);

namespace {

struct Bytes16 {
  uint64_t low, high;
};

// Calls f with an integer of the elements' size.
template <class F> void by_size(int64_t itemsize, F&& f) {
  switch (itemsize) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Bytes16{});
  }
}

// A row's piece, which is short: apart from the general loop, those that the compiler makes into vector code.
template <class T> void copy_run(T* to, const T* from, int64_t stride, int64_t count) {
  if (stride == 1) {
#  pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else if (stride == 0) {
    std::fill_n(to, count, *from);
  } else if (stride == -1 && sizeof(T) <= 8 && count >= constants::reversed_elements) {
    HWY_DYNAMIC_DISPATCH(reverse_run)(to, from, sizeof(T), count);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

// Calls f(offset, done, run) for each piece of a row: `run` elements at `offset`, after `done` others.
template <class F>
void for_each_row(const Space& space, int operand, const Position& from, int64_t count, F&& f) {
  Position at = from;
  const int last = space.rank - 1;
  int64_t run = std::min(count, space.shape[last] - at.index[last]);
  f(at.offsets[operand], int64_t{0}, run);
  at.offsets[operand] -= at.index[last] * space.strides[operand][last];
  for (int64_t done = run; done < count; done += run) {
    for (int dim = last - 1; dim >= 0; --dim) {
      if (++at.index[dim] < space.shape[dim]) {
        at.offsets[operand] += space.strides[operand][dim];
        break;
      }
      at.index[dim] = 0;
      at.offsets[operand] -= space.strides[operand][dim] * (space.shape[dim] - 1);
    }
    run = std::min(count - done, space.shape[last]);
    f(at.offsets[operand], done, run);
  }
}

}  // namespace

void fill(void* dst, const void* value, int64_t itemsize, int64_t count) {
  by_size(itemsize, [&]<class T>(T element) {
    std::memcpy(&element, value, sizeof(T));
    std::fill_n(static_cast<T*>(dst), count, element);
  });
}

void gather(void* dst, const void* src, int64_t itemsize, int64_t stride, int64_t count) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count * itemsize));
    return;
  }
  by_size(itemsize, [&]<class T>(T) {
    auto* to = static_cast<T*>(dst);
    const auto* from = static_cast<const T*>(src);
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  });
}

void scatter(void* dst, const void* src, int64_t itemsize, int64_t stride, int64_t count) {
  if (stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count * itemsize));
    return;
  }
  by_size(itemsize, [&]<class T>(T) {
    auto* to = static_cast<T*>(dst);
    const auto* from = static_cast<const T*>(src);
    for (int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
  });
}

void gather_rows(void* dst, const char* base, int64_t itemsize, const Space& space, int operand,
                 const Position& from, int64_t count) {
  const int64_t stride = space.inner_stride(operand);
  by_size(itemsize, [&]<class T>(T) {
    auto* to = static_cast<T*>(dst);
    const auto* elements = reinterpret_cast<const T*>(base);
    for_each_row(space, operand, from, count, [&](int64_t offset, int64_t done, int64_t run) {
      copy_run(to + done, elements + offset, stride, run);
    });
  });
}

void scatter_rows(char* base, const void* src, int64_t itemsize, const Space& space, int operand,
                  const Position& from, int64_t count) {
  const int64_t stride = space.inner_stride(operand);
  by_size(itemsize, [&]<class T>(T) {
    auto* elements = reinterpret_cast<T*>(base);
    const auto* source = static_cast<const T*>(src);
    for_each_row(space, operand, from, count, [&](int64_t offset, int64_t done, int64_t run) {
      for (int64_t i = 0; i < run; ++i) elements[offset + i * stride] = source[done + i];
    });
  });
}

void stream(void* dst, const void* src, int64_t bytes) {
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  const int64_t head = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 63);
  if (head != 0) std::memcpy(to, from, static_cast<size_t>(head));
  const int64_t lines = (bytes - head) & ~int64_t{63};
  if (lines != 0) HWY_DYNAMIC_DISPATCH(stream_lines)(to + head, from + head, lines);
  const int64_t tail = bytes - head - lines;
  if (tail != 0) std::memcpy(to + head + lines, from + head + lines, static_cast<size_t>(tail));
}

void finish_streaming() {
  hwy::FlushStream();
}

void repeat(void* dst, const char (&pattern)[5 * 16], int64_t bytes, bool past_caches) {
  auto* to = static_cast<char*>(dst);
  const int64_t head = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 63);
  std::memcpy(to, pattern, static_cast<size_t>(head));
  const char* const line = pattern + head % 16;
  const int64_t lines = (bytes - head) & ~int64_t{63};
  if (lines != 0) HWY_DYNAMIC_DISPATCH(repeat_line)(to + head, line, lines, past_caches);
  std::memcpy(to + head + lines, line, static_cast<size_t>(bytes - head - lines));
}

// How large the last cache is, is not asked of the C library, which gives the sum of all such caches of a machine (320 MiB where a core
// sees 32).
bool worth_streaming(int64_t read, int64_t written) {
  return read + written >
         (2 * read < written ? constants::streamed_writes : constants::streamed_bytes);
}

}  // namespace bp::cpu::tile
#endif
