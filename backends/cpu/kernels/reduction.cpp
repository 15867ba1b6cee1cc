// sum, mean, prod, max, min, any and all over any axes; argmax and argmin are in argmax.cpp.
//
// A result depends on the shape alone, never on the number of threads: long reductions are cut into parts
// whose number follows from the sizes, and the parts are joined in their order.
#include <algorithm>
#include <cstring>
#include <memory>

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

using tile::Convert;
using tile::Position;
using tile::Reducer;

constexpr int64_t tile_elements = constants::reduction_tile;
constexpr int64_t column_elements = constants::reduction_columns;
constexpr int64_t largest_accumulator = 16;
constexpr int64_t grain_elements = constants::reduction_elements;
constexpr int64_t part_elements = constants::reduction_part,
                  most_parts = constants::reduction_parts;

int64_t parts_for(int64_t elements) {
  return std::clamp<int64_t>(elements / part_elements, 1, most_parts);
}

// One operator in one dtype.
struct Reduction {
  Reducer reducer;
  Convert load, store;  // for dtypes that are computed in f32
  int64_t itemsize = 0;
  bool divides = false;  // mean
};

class Run {
 public:
  Run(const Reduction& how, const Call& call, In a, const std::optional<Ints>& dims, Out out)
      : how_(how), call_(call), plan_(a.abi(), out.abi(), dims), in_(data_of<char>(a.abi())),
        out_(data_of<char>(out.abi())),
        divisor_(how.divides ? static_cast<double>(plan_.reduced.numel * plan_.repeats) : 1.0) {
    is_near_ = a.abi().numel * how.itemsize < constants::near_bytes;
    run_ = is_near_ && how.reducer.run_near ? how.reducer.run_near : how.reducer.run;
  }

  Status operator()() {
    if (plan_.reduces_rows()) {
      rows();
      return ok;
    }
    return columns();
  }

 private:
  // ---- The innermost axis is reduced: one accumulator for each output.

  void rows() {
    const int64_t outputs = plan_.kept.numel, parts = parts_for(plan_.reduced.numel);
    if (parts == 1) {
      const int64_t grain = std::max<int64_t>(1, grain_elements / plan_.reduced.numel);
      parallel_for(outputs, grain, [&](int64_t begin, int64_t end) { row_tiles(begin, end); });
      return;
    }
    each_kept(0, outputs, [&](const Position& kept) {
      alignas(16) char sums[most_parts][largest_accumulator];
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          how_.reducer.start(sums[part], 1);
          row_part(kept, plan_.reduced.numel * part / parts,
                   plan_.reduced.numel * (part + 1) / parts, sums[part]);
        }
      });
      for (int64_t part = 1; part < parts; ++part) how_.reducer.merge(sums[0], sums[part], 1);
      finish(kept, sums[0], 1);
    });
  }

  // Outputs that are neighbours share a start and a finish: rows may be short.
  void row_tiles(int64_t begin, int64_t end) {
    const tile::Space& kept = plan_.kept;
    alignas(64) char sums[tile_elements * largest_accumulator];
    Position at;
    at.seek(kept, begin);
    for (int64_t i = begin, count = 0; i < end; i += count) {
      const Position first = at;
      count = std::min({tile_elements, end - i, kept.inner() - at.index[kept.rank - 1]});
      how_.reducer.start(sums, count);
      const bool is_one_row = kept.inner_stride(0) == 0;
      for (int64_t k = 0; k < count; ++k) {
        char* sum = sums + k * how_.reducer.accumulator_bytes;
        if (k > 0 && is_one_row)
          std::memcpy(sum, sums, static_cast<size_t>(how_.reducer.accumulator_bytes));
        else
          row_part(at, 0, plan_.reduced.numel, sum);
        at.next_outer(kept, kept.rank);
      }
      finish(first, sums, count);
    }
  }

  template <class F> void each_kept(int64_t begin, int64_t end, F&& f) {
    const tile::Space& kept = plan_.kept;
    Position at;
    at.seek(kept, begin);
    for (int64_t i = begin; i < end; ++i) {
      f(at);
      at.next_outer(kept, kept.rank);
    }
  }

  // Elements `begin` to `end` of one output's.
  void row_part(const Position& kept, int64_t begin, int64_t end, void* sum) {
    const tile::Space& reduced = plan_.reduced;
    const int64_t inner = reduced.inner(), stride = reduced.inner_stride(0);
    if (reduced.rank == 1) {
      return take(in_ + (kept.offsets[0] + begin * stride) * how_.itemsize, stride, end - begin,
                  sum);
    }
    Position at;
    at.seek(reduced, begin);
    for (int64_t i = begin; i < end;) {
      const int64_t count = std::min(end - i, inner - at.index[reduced.rank - 1]);
      take(in_ + (kept.offsets[0] + at.offsets[0]) * how_.itemsize, stride, count, sum);
      i += count;
      at.offsets[0] -= at.index[reduced.rank - 1] * stride;
      at.index[reduced.rank - 1] = 0;
      at.next_outer(reduced, reduced.rank - 1);
    }
  }

  void take(const char* from, int64_t stride, int64_t count, void* sum) {
    if (stride == 1 && !how_.load) return run_(sum, from, count);
    alignas(64) char raw[tile_elements * largest_accumulator],
        loaded[tile_elements * sizeof(float)];
    for (int64_t i = 0; i < count; i += tile_elements) {
      const int64_t size = std::min(tile_elements, count - i);
      const char* elements = from + i * stride * how_.itemsize;
      if (stride != 1) {
        tile::gather(raw, elements, how_.itemsize, stride, size);
        elements = raw;
      }
      if (how_.load) {
        how_.load(loaded, elements, size);
        elements = loaded;
      }
      how_.reducer.run(sum, elements, size);
    }
  }

  // ---- The innermost axis is kept: a tile of accumulators takes in one row after the other.

  Status columns() {
    const int64_t inner = plan_.kept.inner();
    const int64_t tiles = (inner + column_elements - 1) / column_elements;
    const int64_t work = plan_.kept.numel / inner * tiles;
    const int64_t rows = plan_.reduced.numel;
    // Few tiles of many rows: the rows are cut as well.
    const int64_t parts =
        work >= 8 ? 1 : std::min(rows, parts_for(rows * std::min(inner, column_elements)));
    const int64_t bytes = column_elements * largest_accumulator;
    char* partial = nullptr;
    if (parts > 1) {
      Result<Region> scratch = call_.workspace(static_cast<uint64_t>(work * parts * bytes));
      if (!scratch.is_ok()) return scratch.status();
      partial = scratch.value().address<char>();
    }
    const int64_t grain =
        std::max<int64_t>(1, grain_elements * parts / (rows * std::min(inner, column_elements)));
    parallel_for(work * parts, grain, [&](int64_t begin, int64_t end) {
      alignas(64) char own[column_elements * largest_accumulator];
      for (int64_t i = begin; i < end; ++i) {
        const Tile at = tile_at(i / parts);
        const int64_t part = i % parts;
        char* sums = parts > 1 ? partial + i * bytes : own;
        how_.reducer.start(sums, at.count);
        column_part(at, rows * part / parts, rows * (part + 1) / parts, sums);
        if (parts == 1) finish(at.kept, sums, at.count);
      }
    });
    if (parts == 1) return ok;
    for (int64_t i = 0; i < work; ++i) {
      const Tile at = tile_at(i);
      char* sums = partial + i * parts * bytes;
      for (int64_t part = 1; part < parts; ++part)
        how_.reducer.merge(sums, sums + part * bytes, at.count);
      finish(at.kept, sums, at.count);
    }
    return ok;
  }

  // Up to column_elements neighbours along the innermost axis.
  struct Tile {
    Position kept;
    int64_t count;
  };
  Tile tile_at(int64_t number) const {
    const tile::Space& kept = plan_.kept;
    const int64_t inner = kept.inner();
    const int64_t tiles = (inner + column_elements - 1) / column_elements;
    const int64_t first = number % tiles * column_elements;
    Tile at;
    at.kept.seek(kept, number / tiles * inner + first);
    at.count = std::min(column_elements, inner - first);
    return at;
  }

  void column_part(const Tile& tile, int64_t begin, int64_t end, void* sums) {
    const tile::Space& reduced = plan_.reduced;
    const int64_t stride = plan_.kept.inner_stride(0);
    alignas(64) char raw[column_elements * largest_accumulator],
        loaded[column_elements * sizeof(float)];
    if (stride == 1 && !how_.load) return columns_in_place(tile, begin, end, sums);
    Position at;
    at.seek(reduced, begin);
    for (int64_t i = begin; i < end; ++i) {
      const void* elements = in_ + (tile.kept.offsets[0] + at.offsets[0]) * how_.itemsize;
      if (stride != 1) {
        tile::gather(raw, static_cast<const char*>(elements), how_.itemsize, stride, tile.count);
        elements = raw;
      }
      if (how_.load) {
        how_.load(loaded, elements, tile.count);
        elements = loaded;
      }
      how_.reducer.columns(sums, &elements, 1, nullptr, tile.count);
      at.next_outer(reduced, reduced.rank);
    }
  }

  // Of rows that are read where they lie, several together.
  void columns_in_place(const Tile& tile, int64_t begin, int64_t end, void* sums) {
    const tile::Space& reduced = plan_.reduced;
    Position at;
    at.seek(reduced, begin);
    int64_t left = end - begin;
    struct Rows {
      const void* from[tile::rows_together];
      int count = 0;
    };
    const auto next_rows = [&] {
      Rows rows;
      rows.count = static_cast<int>(std::min<int64_t>(left, tile::rows_together));
      for (int k = 0; k < rows.count; ++k) {
        rows.from[k] = in_ + (tile.kept.offsets[0] + at.offsets[0]) * how_.itemsize;
        at.next_outer(reduced, reduced.rank);
      }
      left -= rows.count;
      return rows;
    };
    for (Rows rows = next_rows(), next; rows.count > 0; rows = next) {
      next = next_rows();
      how_.reducer.columns(sums, rows.from, rows.count,
                           next.count == rows.count && !is_near_ ? next.from : nullptr, tile.count);
    }
  }

  // Each sum taken in `repeats` times, by doubling.
  void repeat(char* sums, int64_t count) {
    alignas(64) char repeated[column_elements * largest_accumulator];
    how_.reducer.start(repeated, count);
    for (int64_t times = plan_.repeats;;) {
      if (times % 2 != 0) how_.reducer.merge(repeated, sums, count);
      times /= 2;
      if (times == 0) break;
      how_.reducer.merge(sums, sums, count);
    }
    std::memcpy(sums, repeated, static_cast<size_t>(count * how_.reducer.accumulator_bytes));
  }

  void finish(const Position& kept, char* sums, int64_t count) {
    if (plan_.repeats > 1) repeat(sums, count);
    const tile::Space& space = plan_.kept;
    char* out = out_ + kept.offsets[1] * how_.itemsize;
    const int64_t stride = space.inner_stride(1);
    if (!how_.store && (stride == 1 || count == 1)) {
      return how_.reducer.finish(out, sums, count, divisor_);
    }
    alignas(64) char results[column_elements * largest_accumulator], stored[column_elements * 2];
    how_.reducer.finish(results, sums, count, divisor_);
    if (how_.store) how_.store(stored, results, count);
    tile::scatter(out, how_.store ? stored : results, how_.itemsize, stride, count);
  }

  const Reduction& how_;
  void (*run_)(void* accumulator, const void* elements, int64_t count);
  const Call& call_;
  ReductionPlan plan_;
  bool is_near_;  // may lie in a cache, so that nothing needs to be fetched ahead
  const char* in_;
  char* out_;
  double divisor_;
};

// One operator: its reductions by dtype.
struct Reductions {
  Reduction by_dtype[BP_NUM_DTYPES];
};

// Filled where the row's kernel is declared, before it runs.
template <class Op> constinit Reductions reductions{};

template <class Op>
Status reduce(const Call& call, In a, const std::optional<Ints>& dim, bool, Out out) {
  return Run(reductions<Op>.by_dtype[out.abi().dtype], call, a, dim, out)();
}

// Of rows with a `dtype`, which is that of the result.
template <class Op>
Status reduce_to_dtype(const Call& call, In a, const std::optional<Ints>& dim, bool keepdim,
                       std::optional<Dtype>, Out out) {
  return reduce<Op>(call, a, dim, keepdim, out);
}

Status root_of_squares(const Call& call, In a, double, const std::optional<Ints>& dim, bool,
                       Out out) {
  return reduce<op::norm>(call, a, dim, false, out);
}

// Those of `wanted` that there is a way for.
DtypeSet fill(Reductions& reductions, tile::Reduce what, bp_dtype_set wanted, bool divides) {
  bp_dtype_set dtypes = 0;
  for (uint32_t dtype = 0; dtype < BP_NUM_DTYPES; ++dtype) {
    if (((wanted >> dtype) & 1u) == 0) continue;
    Reduction& how = reductions.by_dtype[dtype];
    const bool small = dtype == BP_F16 || dtype == BP_BF16;
    how.reducer = tile::find_reducer(what, dtype);
    const bool loads = small && !how.reducer;  // those of small floats that there are finish in f32
    if (loads) how.reducer = tile::find_reducer(what, BP_F32);
    if (!how.reducer) continue;
    if (loads) how.load = tile::find_convert(dtype, BP_F32);
    if (small) {
      how.store = tile::find_convert(BP_F32, dtype);
    }
    how.itemsize = tile::itemsize_of(dtype);
    how.divides = divides;
    dtypes |= 1u << dtype;
  }
  return DtypeSet(dtypes);
}

template <class Op, class F>
KernelBuilder<Op> add_reduction(Kernels& k, F run, tile::Reduce what, bp_dtype_set wanted,
                                bool divides = false) {
  const DtypeSet dtypes = fill(reductions<Op>, what, wanted, divides);
  return k.add<Op>(run)
      .dtypes(dtypes)
      .dtypes(Op::place::out, dtypes)
      .layouts(strided)
      .deterministic()
      .scratch();
}

}  // namespace

void add_reduction_kernels(Kernels& k) {
  using tile::Reduce;
  add_reduction<op::sum>(k, reduce_to_dtype<op::sum>, Reduce::sum, all_dtypes);
  // Not of complex numbers: their sum is divided as such, in which a NaN or an infinity takes both parts.
  add_reduction<op::mean>(k, reduce_to_dtype<op::mean>, Reduce::sum, floating_dtypes, true);
  add_reduction<op::prod>(k, reduce_to_dtype<op::prod>, Reduce::prod, all_dtypes);
  // f64 squares could leave the range that their root is in.
  add_reduction<op::norm>(k, root_of_squares, Reduce::root_of_squares,
                          dtype_set({BP_F16, BP_BF16, BP_F32}))
      .supports([](Stream, In, double p, const std::optional<Ints>&, bool, Out) { return p == 2; });
  add_reduction<op::any>(k, reduce<op::any>, Reduce::max, 1u << BP_BOOL);
  add_reduction<op::all>(k, reduce<op::all>, Reduce::min, 1u << BP_BOOL);
  add_reduction<op::max>(k, reduce<op::max>, Reduce::max, all_dtypes);
  add_reduction<op::min>(k, reduce<op::min>, Reduce::min, all_dtypes);
}

}  // namespace bp::cpu
