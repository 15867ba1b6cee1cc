// argmax and argmin: where the extreme element is, the first of equals; a NaN counts as the extreme.
#include <algorithm>

#include "../constants.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "kernels/reduction_plan.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"
#include "tile/reduce.hpp"

namespace bp::cpu {

namespace {

constexpr int64_t tile_elements = constants::argmax_tile;
using constants::argmax_elements;
constexpr int64_t band_rows = constants::argmax_band;

template <class T> bool is_nan(T value) {
  return value != value;
}

template <class T, bool smallest> bool is_better(T value, T best) {
  return (smallest ? value < best : value > best) || (is_nan(value) && !is_nan(best));
}

template <class T> struct Best {
  T value;
  int64_t index;
};

// T: the type of computation.
template <class T, bool smallest> class Run {
 public:
  Run(const bp_tensor& in, const bp_tensor& out, const std::optional<Ints>& dims,
      uint32_t compute_dtype)
      : in_(in), out_(out), plan_(in_, out_, dims, true),
        reducer_(
            tile::find_reducer(smallest ? tile::Reduce::min : tile::Reduce::max, compute_dtype)) {
    if (in_.dtype != compute_dtype) load_ = tile::find_convert(in_.dtype, compute_dtype);
  }

  void operator()() {
    if (plan_.reduces_rows() || plan_.kept.inner() < 8) {
      rows();
    } else {
      columns();
    }
  }

 private:
  void rows() {
    const int64_t grain = std::max<int64_t>(1, argmax_elements / plan_.reduced.numel);
    parallel_for(plan_.kept.numel, grain, [&](int64_t begin, int64_t end) {
      tile::Position kept;
      kept.seek(plan_.kept, begin);
      for (int64_t i = begin; i < end; ++i) {
        data_of<int64_t>(out_)[kept.offsets[1]] = row(kept);
        kept.next_outer(plan_.kept, plan_.kept.rank);
      }
    });
  }

  // A tile's extreme element first, as vector code; where it is only if it beats those before.
  int64_t row(const tile::Position& kept) {
    const char* base = data_of<char>(in_) + kept.offsets[0] * in_.itemsize;
    Scratch scratch;
    Best<T> best{*read(base, 0, 1, scratch), 0};
    for (int64_t i = 0; i < plan_.reduced.numel && !is_nan(best.value); i += tile_elements) {
      const int64_t count = std::min(tile_elements, plan_.reduced.numel - i);
      const T* elements = read(base, i, count, scratch);
      T extreme;
      reducer_.start(&extreme, 1);
      reducer_.run(&extreme, elements, count);
      if (!is_better<T, smallest>(extreme, best.value)) continue;
      const T* found = std::find_if(elements, elements + count, [extreme](T value) {
        return value == extreme || (is_nan(value) && is_nan(extreme));
      });
      best = {extreme, i + (found - elements)};
    }
    return best.index;
  }

  struct Scratch {
    T raw[tile_elements], loaded[tile_elements];
  };

  // Elements of one output's from number `first` on, in logical order.
  const T* read(const char* base, int64_t first, int64_t count, Scratch& scratch) const {
    const char* elements = base + first * in_.itemsize;
    if (!plan_.reduced.is_flat(0)) {
      tile::Position at;
      at.seek(plan_.reduced, first);
      tile::gather_rows(scratch.raw, base, in_.itemsize, plan_.reduced, 0, at, count);
      elements = reinterpret_cast<const char*>(scratch.raw);
    }
    if (!load_) return reinterpret_cast<const T*>(elements);
    load_(scratch.loaded, elements, count);
    return scratch.loaded;
  }

  // The innermost axis is kept: a tile of outputs at a time.
  void columns() {
    const int64_t inner = plan_.kept.inner();
    const int64_t tiles = (inner + tile_elements - 1) / tile_elements;
    const int64_t grain = std::max<int64_t>(
        1, argmax_elements / (std::min(inner, tile_elements) * plan_.reduced.numel));
    parallel_for(plan_.kept.numel / inner * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tiles * tile_elements;
        column_tile(i / tiles * inner + first, std::min(tile_elements, inner - first));
      }
    });
  }

  // The extremes of a band of rows first, as vector code; where one is only if it beats those before.
  void column_tile(int64_t first, int64_t count) {
    T best[tile_elements], extremes[tile_elements];
    int64_t index[tile_elements] = {};
    Band band;
    tile::Position kept, at;
    kept.seek(plan_.kept, first);
    at.seek(plan_.reduced, 0);
    for (int64_t row = 0; row < plan_.reduced.numel; row += band_rows) {
      band.num_rows = static_cast<int>(std::min<int64_t>(band_rows, plan_.reduced.numel - row));
      for (int k = 0; k < band.num_rows; ++k) {
        read_row(data_of<char>(in_) + (kept.offsets[0] + at.offsets[0]) * in_.itemsize, count, band,
                 k);
        at.next_outer(plan_.reduced, plan_.reduced.rank);
      }
      reducer_.start(extremes, count);
      reducer_.columns(extremes, band.rows, band.num_rows, nullptr, count);
      for (int64_t i = 0; i < count; ++i) {
        if (row != 0 && !is_better<T, smallest>(extremes[i], best[i])) continue;
        best[i] = extremes[i];
        index[i] = row + band.find(i, extremes[i]);
      }
    }
    tile::scatter(data_of<int64_t>(out_) + kept.offsets[1], index, 8, plan_.kept.inner_stride(1),
                  count);
  }

  struct Band {
    int64_t find(int64_t column, T extreme) const {
      for (int k = 0; k < num_rows; ++k) {
        const T value = static_cast<const T*>(rows[k])[column];
        if (value == extreme || is_nan(value)) return k;
      }
      return 0;
    }
    int num_rows;
    const void* rows[band_rows];
    T copies[band_rows][tile_elements];
  };

  void read_row(const char* from, int64_t count, Band& band, int k) const {
    const int64_t stride = plan_.kept.inner_stride(0);
    band.rows[k] = stride == 1 && !load_ ? static_cast<const void*>(from) : band.copies[k];
    if (band.rows[k] == from) return;
    T gathered[tile_elements];  // as they lie, or smaller
    void* const to = load_ ? static_cast<void*>(gathered) : band.copies[k];
    if (stride != 1) tile::gather(to, from, in_.itemsize, stride, count);
    if (load_) load_(band.copies[k], stride == 1 ? from : to, count);
  }

  const bp_tensor& in_;
  const bp_tensor& out_;
  ReductionPlan plan_;
  tile::Reducer reducer_;
  tile::Convert load_;
};

template <bool smallest>
Status run_extreme(Stream, In a, std::optional<int64_t> dim, bool, Out out) {
  std::optional<Ints> dims;
  if (dim) dims.emplace(&*dim, size_t{1});
  const uint32_t dtype = a.abi().dtype;
  if (dtype == BP_F16 || dtype == BP_BF16) {
    Run<float, smallest>(a.abi(), out.abi(), dims, BP_F32)();
  } else {
    visit_dtype<integral_dtypes | (1u << BP_F32) | (1u << BP_F64)>(
        dtype == BP_BOOL ? uint32_t{BP_U8} : dtype,
        [&]<class T>(Tag<T>) { Run<T, smallest>(a.abi(), out.abi(), dims, dtype)(); });
  }
  return ok;
}

template <class Op, class F> void add_extreme(Kernels& k, F run) {
  k.add<Op>(run)
      .dtypes(real | boolean)
      .dtypes(Op::place::out, i64)
      .layouts(strided)
      .deterministic();
}

}  // namespace

void add_argmax_kernels(Kernels& k) {
  add_extreme<op::argmax>(k, run_extreme<false>);
  add_extreme<op::argmin>(k, run_extreme<true>);
}

}  // namespace bp::cpu
