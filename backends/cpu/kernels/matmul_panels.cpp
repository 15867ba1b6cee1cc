// The usual way (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008). Both factors are packed
// into panels, by all threads: some rows of a, 32 columns of b, the numbers of each k beside each other. A tile of the result
// is a panel times a panel and stays in registers; a panel of a stays in the first cache while some of b pass, and these
// stay in the second while rows of a pass.
#include "matmul_panels.hpp"

#include "../constants.hpp"

#if defined(__x86_64__)
#  include <algorithm>
#  include <atomic>

#  include "../choices.hpp"
#  include "../rounding.hpp"
#  include "../threads.hpp"
#  include "matmul_packing.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw")

namespace bp::cpu {
namespace {

constexpr int64_t panel_columns = 32;

__mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

// ---- Packing

// Rows of a, or columns of b.
struct Lines {
  const float* data;
  int64_t count, stride, k_stride;  // of the strides one is 1
};

// Up to 16 lines of numbers that are neighbours in memory along the lines, at the places of a panel's k.
void copy_lines(const Lines& from, int64_t line, int64_t k, int64_t depth, __mmask16 there,
                __mmask16 wanted, float* to, int64_t width) {
  const float* at = from.data + line * from.stride + k * from.k_stride;
  for (int64_t i = 0; i < depth; ++i, at += from.k_stride, to += width)
    _mm512_mask_storeu_ps(to, wanted, _mm512_maskz_loadu_ps(there, at));
}

// The same of numbers that are neighbours along k: 16 by 16 of them change places.
void turn_lines(const Lines& from, int64_t line, int64_t k, int64_t depth, int64_t num_lines,
                __mmask16 wanted, float* to, int64_t width) {
  const float* at = from.data + line * from.stride + k;
  for (int64_t i = 0; i < depth; i += 16, at += 16) {
    const __mmask16 inside = first_lanes(depth - i);
    __m512i rows[16];
#  pragma GCC unroll 16
    for (int64_t row = 0; row < 16; ++row) {
      const bool is_there = row < num_lines;
      rows[row] = _mm512_maskz_loadu_epi32(is_there ? inside : __mmask16{0},
                                           at + (is_there ? row * from.stride : 0));
    }
    transpose(rows);
    const int64_t num = std::min<int64_t>(16, depth - i);
#  pragma GCC unroll 16
    for (int64_t row = 0; row < 16; ++row)
      if (row < num) _mm512_mask_storeu_epi32(to + (i + row) * width, wanted, rows[row]);
  }
}

// Up to 16 lines from `line` on, of which a panel of `width` has its first `wanted` there; zeros where there are none.
void pack_lines(const Lines& from, int64_t line, int64_t wanted, int64_t k, int64_t depth,
                float* to, int64_t width) {
  const int64_t num = std::clamp<int64_t>(from.count - line, 0, wanted);
  if (from.stride == 1)
    copy_lines(from, line, k, depth, first_lanes(num), first_lanes(wanted), to, width);
  else
    turn_lines(from, line, k, depth, num, first_lanes(wanted), to, width);
}

// ---- Multiplying

// A place in the result, and how much of a tile lies inside.
struct Place {
  float* to;
  int64_t stride, rows, columns;
  bool adds;  // to what an earlier part of k left there
};

template <int num_rows>
void multiply_tile(int64_t depth, const float* a, const float* b, const Place& place) {
  __m512 sums[num_rows][2];
#  pragma GCC unroll 16
  for (int i = 0; i < num_rows; ++i) {
    sums[i][0] = _mm512_setzero_ps();
    sums[i][1] = _mm512_setzero_ps();
  }
  for (int64_t i = 0; i < place.rows; ++i) {
    __builtin_prefetch(place.to + i * place.stride, 1);
    __builtin_prefetch(place.to + i * place.stride + 16, 1);
  }
#  pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k, a += num_rows, b += panel_columns) {
    const __m512 left = _mm512_loadu_ps(b), right = _mm512_loadu_ps(b + 16);
    __builtin_prefetch(b + constants::panel_numbers_ahead);
    __builtin_prefetch(b + constants::panel_numbers_ahead + 16);
#  pragma GCC unroll 16
    for (int i = 0; i < num_rows; ++i) {
      const __m512 number = _mm512_set1_ps(a[i]);
      sums[i][0] = _mm512_fmadd_ps(number, left, sums[i][0]);
      sums[i][1] = _mm512_fmadd_ps(number, right, sums[i][1]);
    }
  }
  const __mmask16 inside[2] = {first_lanes(place.columns), first_lanes(place.columns - 16)};
#  pragma GCC unroll 16
  for (int i = 0; i < num_rows; ++i) {
    if (i >= place.rows) break;
#  pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      float* const at = place.to + i * place.stride + half * 16;
      __m512 sum = sums[i][half];
      if (place.adds) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(inside[half], at));
      _mm512_mask_storeu_ps(at, inside[half], sum);
    }
  }
}

using MultiplyTile = void (*)(int64_t, const float*, const float*, const Place&);

// Rows of a panel of a, of 14, 12 and 8 those that leave the fewest of the last panel's empty. Fewer rows share each load of b.
struct Height {
  int64_t rows;
  MultiplyTile multiply;

  static Height of(int64_t m) {
    constexpr Height all[] = {
        {14, multiply_tile<14>}, {12, multiply_tile<12>}, {8, multiply_tile<8>}};
    const auto cost = [m](const Height& height) {  // of loads as well
      return divide_up(m, height.rows) * (2 * height.rows + 2);
    };
    return *std::min_element(
        std::begin(all), std::end(all),
        [&](const auto& one, const auto& other) { return cost(one) < cost(other); });
  }
};

// What is packed at a time: some rows, columns and k.
struct Block {
  Block(const Product& p, const Height& height)
      : rows(std::min(round_up(p.m, height.rows),
                      constants::panel_block / height.rows * height.rows)),
        columns(std::min(round_up(p.n, panel_columns), constants::panel_block)),
        depth(divide_up(p.k, divide_up(p.k, constants::panel_depth))) {}

  int64_t numbers() const { return (rows + columns) * depth; }

  int64_t rows, columns, depth;
};

// Each thread takes the next task when it has done one: ranges would end further apart, and a call is over with the last.
template <class F> void in_turns(int64_t tasks, const F& task) {
  std::atomic<int64_t> next{0};
  parallel_for(std::min<int64_t>(tasks, num_threads()), 1, [&](int64_t, int64_t) {
    for (int64_t i = next++; i < tasks; i = next++) task(i);
  });
}

class Multiplication {
 public:
  Multiplication(const Product& p, const Height& height, const Block& block, float* memory)
      : p_(p), height_(height), block_(block), a_{reinterpret_cast<const float*>(p.a.data), p.m,
                                                  p.a.row_stride, p.a.column_stride},
        b_{reinterpret_cast<const float*>(p.b.data), p.n, p.b.column_stride, p.b.row_stride},
        packed_a_(memory), packed_b_(memory + block.rows * block.depth) {}

  void run() {
    for (column_ = 0; column_ < p_.n; column_ += block_.columns)
      for (row_ = 0; row_ < p_.m; row_ += block_.rows)
        for (k_ = 0; k_ < p_.k; k_ += block_.depth) {
          panels_a_ = divide_up(std::min(block_.rows, p_.m - row_), height_.rows);
          panels_b_ = divide_up(std::min(block_.columns, p_.n - column_), panel_columns);
          depth_ = std::min(block_.depth, p_.k - k_);
          pack();
          multiply();
        }
  }

 private:
  float* panel_a(int64_t i) const { return packed_a_ + i * height_.rows * depth_; }
  float* panel_b(int64_t i) const { return packed_b_ + i * panel_columns * depth_; }

  // Both halves of a panel of b are as much work as a panel of a.
  void pack() const {
    constexpr int64_t some = constants::panels_of_task;
    const int64_t count = panels_a_ + 2 * panels_b_;
    in_turns(divide_up(count, some), [&](int64_t task) {
      for (int64_t i = task * some; i < std::min((task + 1) * some, count); ++i)
        if (i < panels_a_)
          pack_lines(a_, row_ + i * height_.rows, height_.rows, k_, depth_, panel_a(i),
                     height_.rows);
        else
          pack_half_of_b(i - panels_a_);
    });
  }
  void pack_half_of_b(int64_t i) const {
    pack_lines(b_, column_ + i * 16, 16, k_, depth_, panel_b(i / 2) + i % 2 * 16, panel_columns);
  }

  // Some panels of a times some of b.
  void multiply() const {
    constexpr int64_t high = constants::panels_of_task;
    const int64_t groups = divide_up(panels_b_, constants::panels_of_columns);
    const int64_t wide = divide_up(panels_b_, groups), tall = divide_up(panels_a_, high);
    in_turns(tall * groups, [&](int64_t task) {
      const int64_t row = task % tall * high, column = task / tall * wide;
      for (int64_t i = row; i < std::min(row + high, panels_a_); ++i)
        for (int64_t j = column; j < std::min(column + wide, panels_b_); ++j) multiply(i, j);
    });
  }

  void multiply(int64_t i, int64_t j) const {
    const int64_t row = row_ + i * height_.rows, column = column_ + j * panel_columns;
    height_.multiply(
        depth_, panel_a(i), panel_b(j),
        {reinterpret_cast<float*>(p_.out) + row * p_.n + column, p_.n,
         std::min(height_.rows, p_.m - row), std::min(panel_columns, p_.n - column), k_ > 0});
  }

  const Product& p_;
  const Height height_;
  const Block block_;
  const Lines a_, b_;
  float *const packed_a_, *const packed_b_;
  int64_t row_ = 0, column_ = 0, k_ = 0;             // where the block begins
  int64_t panels_a_ = 0, panels_b_ = 0, depth_ = 0;  // that it has
};

bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  return has;
}

}  // namespace

bool suits_panels(const Product& p) {
  return p.dtype == BP_F32 && p.batch == 1 && std::min({p.m, p.n, p.k}) >= constants::panel_size &&
         p.m * p.n * p.k >= constants::panel_work && has_avx512();
}

bp_code multiply_by_panels(const bp_call* call, const Product& product) {
  const Height height = Height::of(product.m);
  const Block block(product, height);
  char* memory = nullptr;
  const bp_code code =
      take_workspace(call, static_cast<uint64_t>(block.numbers()) * sizeof(float), memory);
  if (code != BP_OK) return code;
  Product p = product;
  p.batch = 1;
  for (int64_t i = 0; i < product.batch; ++i) {
    Multiplication(p, height, block, reinterpret_cast<float*>(memory)).run();
    p.a.data += product.a.batch_stride * 4;
    p.b.data += product.b.batch_stride * 4;
    p.out += product.m * product.n * 4;
  }
  return BP_OK;
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES

#else

namespace bp::cpu {

bool suits_panels(const Product&) {
  return false;
}
bp_code multiply_by_panels(const bp_call*, const Product&) {
  return BP_UNSUPPORTED;
}

}  // namespace bp::cpu

#endif
