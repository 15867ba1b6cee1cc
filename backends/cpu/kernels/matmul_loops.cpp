// Matrix products of our own: for dtypes that oneDNN does not have, and for sizes so small that
// calling it costs more than multiplying.
//
// Large ones go the usual way (Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", 2008): blocks that fit the caches are packed into panels, which also takes care of
// strides and conversions, and a kernel keeps a tile of the result in registers.
#include "../constants.hpp"
#include "../tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul_loops.cpp"
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <memory>
#include <new>

#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "matmul.hpp"

#ifndef BP_CPU_MATMUL_LOOPS_ONCE
#  define BP_CPU_MATMUL_LOOPS_ONCE
namespace bp::cpu::loops {

constexpr int64_t block_m = constants::loop_rows;
constexpr int64_t block_n = constants::loop_columns;
constexpr int64_t block_k = constants::loop_depth;

// Real numbers in which elements of T are multiplied and added. Unsigned, since integers wrap.
template <class T> struct ComputeOf {
  using type = std::conditional_t<
      is_reduced_float<T>, float,
      std::conditional_t<std::is_integral_v<T>,
                         std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, T>>;
};
template <class T> struct ComputeOf<std::complex<T>> { using type = T; };
template <class T> using Compute = typename ComputeOf<T>::type;

// Since they wrap, products of signed integers have the bits of those of unsigned ones: half the kernels to
// compile.
constexpr uint32_t without_sign(uint32_t dtype) {
  switch (dtype) {
    case BP_I8: return BP_U8;
    case BP_I16: return BP_U16;
    case BP_I32: return BP_U32;
    case BP_I64: return BP_U64;
    default: return dtype;
  }
}
constexpr bp_dtype_set loop_dtypes = matmul_dtypes & ~dtype_set({BP_I8, BP_I16, BP_I32, BP_I64});

// One element as one or two real numbers, and back.
template <class T> void unpack(const T& element, Compute<T>* parts) {
  if constexpr (is_complex<T>) {
    parts[0] = element.real();
    parts[1] = element.imag();
  } else {
    parts[0] = static_cast<Compute<T>>(element);
  }
}
template <class T> T pack(const Compute<T>* parts, int64_t imaginary_at) {
  if constexpr (is_complex<T>) {
    return T(parts[0], parts[imaginary_at]);
  } else {
    (void)imaginary_at;
    return static_cast<T>(parts[0]);
  }
}

// Scratch of one thread, kept for its next product.
inline char* scratch(uint64_t bytes) {
  struct Free {
    void operator()(char* block) const { ::operator delete (block, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<char, Free> block;
  thread_local uint64_t size = 0;
  if (size < bytes) {
    size = 0;
    block.reset();
    block.reset(static_cast<char*>(::operator new (bytes, std::align_val_t{64})));
    size = bytes;
  }
  return block.get();
}

}  // namespace bp::cpu::loops
#endif

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::loops {
namespace HWY_NAMESPACE {

// The tile of the result that stays in registers: tile_m rows of two vectors.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr int64_t vector_bytes = 64;
constexpr int64_t tile_m = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr int64_t vector_bytes = 32;
constexpr int64_t tile_m = 6;
#else
constexpr int64_t vector_bytes = 16;
constexpr int64_t tile_m = 4;
#endif

// For elements of type T. Panels of complex numbers hold real and imaginary parts apart: a row of a
// tile is then one vector of each, where it is two vectors of real numbers.
template <class T> struct Tile {
  using C = Compute<T>;
  static constexpr int64_t parts = is_complex<T> ? 2 : 1;
  static constexpr int64_t lanes = vector_bytes / static_cast<int64_t>(sizeof(C));
  static constexpr int64_t width = 2 * lanes;        // numbers in a row of a tile
  static constexpr int64_t columns = width / parts;  // elements in it
  static_assert(block_m % tile_m == 0 && block_n % columns == 0);
};

// tile += a panel of a times a panel of b; rows of the tile are `stride` numbers apart.
template <class T>
void multiply_panels(int64_t count, const Compute<T>* a, const Compute<T>* b, Compute<T>* tile,
                     int64_t stride) {
  using C = Compute<T>;
  typedef C Vector __attribute__((vector_size(vector_bytes)));
  constexpr int64_t lanes = Tile<T>::lanes;
  Vector sums[tile_m][2] = {};
  for (int64_t i = 0; i < count; ++i) {
    Vector b0;
    Vector b1;
    std::memcpy(&b0, b, sizeof b0);
    std::memcpy(&b1, b + lanes, sizeof b1);
    b += Tile<T>::width;
#pragma GCC unroll 8
    for (int64_t row = 0; row < tile_m; ++row) {
      if constexpr (is_complex<T>) {
        const C real = a[2 * row];
        const C imaginary = a[2 * row + 1];
        sums[row][0] += real * b0;
        sums[row][0] -= imaginary * b1;
        sums[row][1] += real * b1;
        sums[row][1] += imaginary * b0;
      } else {
        sums[row][0] += a[row] * b0;
        sums[row][1] += a[row] * b1;
      }
    }
    a += tile_m * Tile<T>::parts;
  }
  for (int64_t row = 0; row < tile_m; ++row) {
    for (int64_t half = 0; half < 2; ++half) {
      Vector old;
      std::memcpy(&old, tile + row * stride + half * lanes, sizeof old);
      old += sums[row][half];
      std::memcpy(tile + row * stride + half * lanes, &old, sizeof old);
    }
  }
}

// Panels of tile_m rows, one column after the other; zeros below the last row.
template <class T>
void pack_a(const T* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
            Compute<T>* to) {
  constexpr int64_t parts = Tile<T>::parts;
  for (int64_t first = 0; first < rows; first += tile_m, to += tile_m * parts * columns) {
    const int64_t height = std::min(tile_m, rows - first);
    if (height < tile_m) std::fill_n(to, tile_m * parts * columns, Compute<T>{});
    for (int64_t row = 0; row < height; ++row) {
      const T* const from = a + (first + row) * row_stride;
      for (int64_t column = 0; column < columns; ++column)
        unpack(from[column * column_stride], to + (column * tile_m + row) * parts);
    }
  }
}

// Panels of a tile's columns, one row after the other; zeros right of the last column.
template <class T>
void pack_b(const T* b, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
            Compute<T>* to) {
  constexpr int64_t step = Tile<T>::columns;
  for (int64_t first = 0; first < columns; first += step) {
    const int64_t width = std::min(step, columns - first);
    for (int64_t row = 0; row < rows; ++row, to += Tile<T>::width) {
      const T* const from = b + row * row_stride + first * column_stride;
      if (width < step) std::fill_n(to, Tile<T>::width, Compute<T>{});
      for (int64_t column = 0; column < width; ++column) {
        Compute<T> element[2];
        unpack(from[column * column_stride], element);
        to[column] = element[0];
        if constexpr (is_complex<T>) to[step + column] = element[1];
      }
    }
  }
}

template <class T>
void store(const Compute<T>* sums, int64_t stride, T* out, int64_t out_stride, int64_t rows,
           int64_t columns) {
  constexpr int64_t step = Tile<T>::columns;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t first = 0; first < columns; first += step) {
      const Compute<T>* const from = sums + row * stride + first * Tile<T>::parts;
      const int64_t width = std::min(step, columns - first);
      for (int64_t column = 0; column < width; ++column)
        out[row * out_stride + first + column] = pack<T>(from + column, step);
    }
  }
}

// One block of the result.
template <class T>
void multiply_block(const Product& p, int64_t batch, int64_t first_m, int64_t first_n) {
  using C = Compute<T>;
  constexpr int64_t parts = Tile<T>::parts;
  constexpr int64_t stride = block_n * parts;
  auto* const sums = reinterpret_cast<C*>(
      scratch(sizeof(C) * parts * (block_m * block_n + block_m * block_k + block_k * block_n)));
  C* const panels_a = sums + block_m * stride;
  C* const panels_b = panels_a + block_m * block_k * parts;

  const int64_t rows = std::min(block_m, p.m - first_m);
  const int64_t columns = std::min(block_n, p.n - first_n);
  const T* const a =
      reinterpret_cast<const T*>(p.a.data) + batch * p.a.batch_stride + first_m * p.a.row_stride;
  const T* const b =
      reinterpret_cast<const T*>(p.b.data) + batch * p.b.batch_stride + first_n * p.b.column_stride;
  std::fill_n(sums, block_m * stride, C{});
  for (int64_t first = 0; first < p.k; first += block_k) {
    const int64_t depth = std::min(block_k, p.k - first);
    pack_a(a + first * p.a.column_stride, p.a.row_stride, p.a.column_stride, rows, depth, panels_a);
    pack_b(b + first * p.b.row_stride, p.b.row_stride, p.b.column_stride, depth, columns, panels_b);
    for (int64_t n = 0; n < columns; n += Tile<T>::columns) {
      for (int64_t m = 0; m < rows; m += tile_m) {
        multiply_panels<T>(depth, panels_a + m * parts * depth, panels_b + n * parts * depth,
                           sums + m * stride + n * parts, stride);
      }
    }
  }
  T* const out = reinterpret_cast<T*>(p.out) + (batch * p.m + first_m) * p.n + first_n;
  store(sums, stride, out, p.n, rows, columns);
}

template <class T> void multiply_blocks(const Product& p) {
  const int64_t blocks_m = (p.m + block_m - 1) / block_m;
  const int64_t blocks_n = (p.n + block_n - 1) / block_n;
  const int64_t work = std::min(p.m, block_m) * std::min(p.n, block_n) * p.k;
  parallel_for(p.batch * blocks_m * blocks_n, std::max<int64_t>(1, constants::loop_products / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   multiply_block<T>(p, i / blocks_n / blocks_m, i / blocks_n % blocks_m * block_m,
                                     i % blocks_n * block_n);
                 }
               });
}

// A few columns of one row, at most `room`. With `columns` a constant and unit strides these loops are
// vectors.
template <class T, int64_t room>
HWY_INLINE void multiply_row(const Product& p, const T* a, const T* b, int64_t columns,
                             int64_t column_stride, T* out) {
  Compute<T> sums[Tile<T>::parts][room] = {};
  for (int64_t k = 0; k < p.k; ++k) {
    Compute<T> x[2];
    unpack(a[k * p.a.column_stride], x);
    const T* const from = b + k * p.b.row_stride;
    for (int64_t j = 0; j < columns; ++j) {
      Compute<T> y[2];
      unpack(from[j * column_stride], y);
      sums[0][j] += x[0] * y[0];
      if constexpr (is_complex<T>) {
        sums[0][j] -= x[1] * y[1];
        sums[1][j] += x[0] * y[1] + x[1] * y[0];
      }
    }
  }
  for (int64_t j = 0; j < columns; ++j) out[j] = pack<T>(&sums[0][j], room);
}

// Columns of one row from `first` on, as long as there are `columns` more; returns where it stopped.
template <class T, int64_t columns>
int64_t multiply_columns(const Product& p, const T* a, const T* b, T* out, int64_t first) {
  for (; first + columns <= p.n; first += columns)
    multiply_row<T, columns>(p, a, b + first, columns, 1, out + first);
  return first;
}

template <class T> void multiply_whole_row(const Product& p, const T* a, const T* b, T* out) {
  constexpr int64_t step = Tile<T>::columns;
  int64_t first = 0;
  if (p.b.column_stride == 1) {
    first = multiply_columns<T, step>(p, a, b, out, first);
    // The other dtypes are not worth the time that these take to compile.
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (step > 16) first = multiply_columns<T, 16>(p, a, b, out, first);
      if constexpr (step > 8) first = multiply_columns<T, 8>(p, a, b, out, first);
      first = multiply_columns<T, 2>(p, a, b, out, first);
    }
  }
  for (; first < p.n; first += step) {
    multiply_row<T, step>(p, a, b + first * p.b.column_stride, std::min(step, p.n - first),
                          p.b.column_stride, out + first);
  }
}

template <class T> void multiply_small(const Product& p) {
  const auto* const a = reinterpret_cast<const T*>(p.a.data);
  const auto* const b = reinterpret_cast<const T*>(p.b.data);
  auto* const out = reinterpret_cast<T*>(p.out);
  parallel_for(p.batch, std::max<int64_t>(1, constants::loop_products / (p.m * p.n * p.k)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t batch = begin; batch < end; ++batch) {
                   for (int64_t row = 0; row < p.m; ++row) {
                     multiply_whole_row(p, a + batch * p.a.batch_stride + row * p.a.row_stride,
                                        b + batch * p.b.batch_stride,
                                        out + (batch * p.m + row) * p.n);
                   }
                 }
               });
}

void multiply(const Product& p) {
  visit_dtype<loop_dtypes>(without_sign(p.dtype), [&]<class T>(Tag<T>) {
    if (is_tiny(p)) {
      multiply_small<T>(p);
    } else {
      multiply_blocks<T>(p);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace bp::cpu::loops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu {
namespace loops {

HWY_EXPORT(multiply);

static void multiply_by_best(const Product& p) {
  HWY_DYNAMIC_DISPATCH(multiply)(p);
}

}  // namespace loops

// A long sum of few products is not a loop for `multiply_row`, which runs along the columns of b.
bool is_tiny(const Product& p) {
  return p.m * p.n <= constants::tiny_work && p.m * p.n * p.k <= constants::tiny_work &&
         (p.k <= constants::tiny_depth || p.n >= constants::tiny_columns);
}

void multiply_by_loops(const Product& product) {
  loops::multiply_by_best(product);
}

}  // namespace bp::cpu
#endif
