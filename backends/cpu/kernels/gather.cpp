// gather, index_select, scatter_add, scatter, one_hot. The device is synchronous, so that a bad index is an
// error of the call itself, and all are looked at before anything is written.
#include <atomic>
#include <string>
#include <variant>

#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "indices.hpp"
#include "kernels.hpp"
#include "strided.hpp"
#include "tile/convert.hpp"

namespace bp::cpu {
namespace {

constexpr bp_dtype_set index_dtypes = dtype_set({BP_I32, BP_I64});

// Calls f(Tag<I>), which returns a code, with the type of the indices.
template <class F> Status with_index_type(const bp_tensor& index, F&& f) {
  return Status::from_host(index.dtype == BP_I32 ? f(Tag<int32_t>{}) : f(Tag<int64_t>{}));
}

// Of rank 1 at least, so that there is a last dimension.
struct Shape {
  explicit Shape(const bp_tensor& tensor) : rank(std::max(tensor.dl.ndim, 1)) {
    for (int32_t i = 0; i < tensor.dl.ndim; ++i) size[i] = tensor.dl.shape[i];
    if (tensor.dl.ndim == 0) size[0] = 1;
  }
  std::span<const int64_t> outer() const { return {size.data(), static_cast<size_t>(rank - 1)}; }
  int64_t last() const { return size[rank - 1]; }

  std::array<int64_t, BP_MAX_RANK> size{};
  int32_t rank;
};

std::array<int64_t, BP_MAX_RANK> strides_copy(const bp_tensor& tensor) {
  std::array<int64_t, BP_MAX_RANK> strides{};
  for (int32_t i = 0; i < tensor.dl.ndim; ++i) strides[i] = tensor.dl.strides[i];
  return strides;
}

// The first index outside [0, size), or BP_OK.
template <class I>
bp_code check_indices(const char* op, const bp_tensor& index, int64_t dim, int64_t size) {
  if ((index.flags & BP_LAYOUT_CONTIGUOUS) != 0 && all_are_within<I>(index, size)) return BP_OK;
  const Shape shape(index);
  const auto strides = strides_copy(index);
  const int64_t rows = product(shape.outer());
  std::atomic<int64_t> bad_row{rows};
  const auto find_bad = [&](const Walker<1>& at) -> const I* {
    const IndexRow<I> indices{data_of<I>(index) + at.offset(0), strides[shape.rank - 1]};
    if (are_within(indices, shape.last(), size)) return nullptr;
    for (int64_t j = 0;; ++j)
      if (static_cast<uint64_t>(indices[j]) >= static_cast<uint64_t>(size))
        return indices.data + j * indices.step;
  };
  parallel_for(rows, std::max<int64_t>(1, 2 * element_grain / std::max<int64_t>(1, shape.last())),
               [&](int64_t begin, int64_t end) {
                 Walker<1> at(shape.outer(), {strides.data()});
                 at.seek(begin);
                 for (int64_t row = begin; row < end; ++row, at.next()) {
                   if (find_bad(at) == nullptr) continue;
                   int64_t seen = bad_row.load();
                   while (row < seen && !bad_row.compare_exchange_weak(seen, row)) {
                   }
                   return;
                 }
               });
  if (bad_row == rows) return BP_OK;
  Walker<1> at(shape.outer(), {strides.data()});
  at.seek(bad_row);
  const auto value = static_cast<int64_t>(*find_bad(at));
  return fail(BP_BAD_ARGUMENT, std::string(op) + ": index " + std::to_string(value) +
                                   " is out of range for dimension " + std::to_string(dim) +
                                   " of size " + std::to_string(size));
}

int64_t size_of(const bp_tensor& tensor, int64_t dim) {
  return tensor.dl.ndim == 0 ? 1 : tensor.dl.shape[dim];
}

// out[..., i, ...] = a[..., index[..., i, ...], ...]; T is any type of the element's size.
template <class T, class I>
void run_gather(const bp_tensor& out, const bp_tensor& a, int64_t dim, const bp_tensor& index) {
  const Shape shape(index);
  const auto index_strides = strides_copy(index);
  auto a_strides = strides_copy(a);
  const int64_t along = a.dl.ndim == 0 ? 0 : a_strides[dim];
  a_strides[dim] = 0;  // the index moves along it instead
  const int32_t last = shape.rank - 1;
  const int64_t count = shape.last();
  parallel_for(product(shape.outer()), std::max<int64_t>(1, element_grain / count),
               [&](int64_t begin, int64_t end) {
                 Walker<2> at(shape.outer(), {index_strides.data(), a_strides.data()});
                 at.seek(begin);
                 for (int64_t row = begin; row < end; ++row, at.next()) {
                   const IndexRow<I> indices{data_of<I>(index) + at.offset(0), index_strides[last]};
                   const T* const from = data_of<T>(a) + at.offset(1);
                   T* const to = data_of<T>(out) + row * count;
                   if (a_strides[last] == 0 && along == 1 && indices.step == 1) {
                     for (int64_t j = 0; j < count; ++j) to[j] = from[indices.data[j]];
                     continue;
                   }
                   for (int64_t j = 0; j < count; ++j)
                     to[j] = from[j * a_strides[last] + indices[j] * along];
                 }
               });
}

Status gather(Stream, In from, int64_t dim, In places, Out out) {
  const bp_tensor &a = from.abi(), &index = places.abi();
  return with_index_type(index, [&]<class I>(Tag<I>) {
    const bp_code code = check_indices<I>("gather", index, dim, size_of(a, dim));
    if (code != BP_OK) return code;
    visit_itemsize(a.itemsize,
                   [&]<class T>(Tag<T>) { run_gather<T, I>(out.abi(), a, dim, index); });
    return bp_code{BP_OK};
  });
}

// Whole blocks of what lies behind `dim`, where that is one piece of memory.
template <class I>
void select_blocks(const bp_tensor& out, const bp_tensor& a, int64_t dim, IndexRow<I> index,
                   int64_t block_bytes) {
  const auto outer = shape_of(out).first(dim);
  const int64_t count = out.dl.shape[dim];
  const int64_t item = out.itemsize;
  const int64_t along = a.dl.strides[dim] * item;
  const int64_t grain = std::max<int64_t>(1, constants::selected_bytes / block_bytes);
  parallel_for(product(outer) * count, grain, [&](int64_t begin, int64_t end) {
    char* to = address(out) + begin * block_bytes;
    Walker<1> at(outer, {a.dl.strides});
    at.seek(begin / count);
    int64_t i = begin % count;
    for (int64_t row = begin; row < end; ++row, to += block_bytes) {
      std::memcpy(to, address(a) + at.offset(0) * item + index[i] * along, block_bytes);
      if (++i < count) continue;
      i = 0;
      at.next();
    }
  });
}

// Along the last dimension: row by row.
template <class T, class I>
void select_in_rows(const bp_tensor& out, const bp_tensor& a, IndexRow<I> index) {
  const int32_t last = out.dl.ndim - 1;
  const auto outer = shape_of(out).first(static_cast<size_t>(last));
  const int64_t count = out.dl.shape[last], along = a.dl.strides[last];
  parallel_for(product(outer), std::max<int64_t>(1, element_grain / std::max<int64_t>(1, count)),
               [&](int64_t begin, int64_t end) {
                 Walker<1> at(outer, {a.dl.strides});
                 at.seek(begin);
                 for (int64_t row = begin; row < end; ++row, at.next()) {
                   const T* const from = data_of<T>(a) + at.offset(0);
                   T* const to = data_of<T>(out) + row * count;
                   for (int64_t j = 0; j < count; ++j) to[j] = from[index[j] * along];
                 }
               });
}

template <class T, class I>
void select_elements(const bp_tensor& out, const bp_tensor& a, int64_t dim, IndexRow<I> index) {
  if (dim == out.dl.ndim - 1) return select_in_rows<T>(out, a, index);
  auto strides = strides_copy(a);
  const int64_t along = strides[dim];
  strides[dim] = 0;
  parallel_for(out.numel, element_grain, [&](int64_t begin, int64_t end) {
    Walker<1> at(shape_of(out), {strides.data()});
    at.seek(begin);
    for (int64_t i = begin; i < end; ++i, at.next()) {
      const int64_t place = index[at.index(static_cast<int>(dim))];
      data_of<T>(out)[i] = data_of<T>(a)[at.offset(0) + place * along];
    }
  });
}

// The bytes of one contiguous block of all dimensions behind `dim`; 0 if they are none.
int64_t block_bytes_behind(const bp_tensor& a, int64_t dim) {
  int64_t expected = 1;
  for (int32_t i = a.dl.ndim - 1; i > dim; --i) {
    if (a.dl.shape[i] != 1 && a.dl.strides[i] != expected) return 0;
    expected *= a.dl.shape[i];
  }
  return expected * a.itemsize;
}

Status index_select(Stream, In from, int64_t dim, In places, Out result) {
  const bp_tensor &a = from.abi(), &index = places.abi(), &out = result.abi();
  return with_index_type(index, [&]<class I>(Tag<I>) {
    const bp_code code = check_indices<I>("index_select", index, dim, size_of(a, dim));
    if (code != BP_OK) return code;
    const IndexRow<I> row{data_of<I>(index), index.dl.ndim == 0 ? 1 : index.dl.strides[0]};
    const int64_t block_bytes = block_bytes_behind(a, dim);
    if (a.dl.ndim == 0) {
      std::memcpy(address(out), address(a), a.itemsize);
    } else if (block_bytes > static_cast<int64_t>(a.itemsize)) {
      select_blocks<I>(out, a, dim, row, block_bytes);
    } else {
      visit_itemsize(a.itemsize, [&]<class T>(Tag<T>) { select_elements<T, I>(out, a, dim, row); });
    }
    return bp_code{BP_OK};
  });
}

template <class T> void add_to(T& sum, const T& value) {
  if constexpr (is_reduced_float<T>) {
    sum = T(static_cast<float>(sum) + static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    sum = static_cast<T>(static_cast<U>(static_cast<U>(sum) + static_cast<U>(value)));
  } else {
    sum += value;
  }
}

// How an element comes to its place: added to what is there, or over it.
struct Add {
  template <class T> static void apply(T& sum, const T& value) { add_to(sum, value); }
};
struct Replace {
  template <class T> static void apply(T& place, const T& value) { place = value; }
};

template <class Way, class T, class I>
void scatter_row(T* to, int64_t to_step, IndexRow<I> indices, const T* from, int64_t from_step,
                 int64_t count) {
  if (to_step == 1 && from_step == 1 && indices.step == 1) {
    for (int64_t j = 0; j < count; ++j) Way::apply(to[indices.data[j]], from[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) Way::apply(to[indices[j] * to_step], from[j * from_step]);
  }
}

// Along the last dimension: row by row.
template <class Way, class T, class I>
void run_scatter_in_rows(const bp_tensor& out, const bp_tensor& index, const bp_tensor& src) {
  const Shape shape(index);
  const auto index_strides = strides_copy(index), src_strides = strides_copy(src),
             out_strides = strides_copy(out);
  const int32_t last = shape.rank - 1;
  const int64_t count = shape.last();
  parallel_for(
      product(shape.outer()), std::max<int64_t>(1, element_grain / count),
      [&](int64_t begin, int64_t end) {
        Walker<3> at(shape.outer(), {index_strides.data(), src_strides.data(), out_strides.data()});
        at.seek(begin);
        for (int64_t row = begin; row < end; ++row, at.next())
          scatter_row<Way, T, I>(data_of<T>(out) + at.offset(2), out_strides[last],
                                 {data_of<I>(index) + at.offset(0), index_strides[last]},
                                 data_of<T>(src) + at.offset(1), src_strides[last], count);
      });
}

// Whether rows of the index belong to rows of `a`, all without gaps, and `out` lies apart.
bool can_scatter_whole_rows(const bp_tensor& a, int64_t dim, const bp_tensor& index,
                            const bp_tensor& out, const bp_tensor& src) {
  const int32_t last = index.dl.ndim - 1;
  if (index.dl.ndim == 0 || dim != last || !is_contiguous(index)) return false;
  if (!is_contiguous(a) || !is_contiguous(src) || address(out) == address(a)) return false;
  for (int32_t i = 0; i < index.dl.ndim; ++i) {
    if (src.dl.shape[i] != index.dl.shape[i]) return false;
    if (i != last && a.dl.shape[i] != index.dl.shape[i]) return false;
  }
  return true;
}

// Adds to rows of small floats in f32, which rounds a sum once instead of at each addition.
template <class T> struct WideSums {
  template <class I>
  void add(T* to, const T* a, int64_t width, IndexRow<I> indices, const T* from,
           int64_t count) const {
    float sums[constants::widened_row];
    widen(sums, a, width);
    for (int64_t j = 0; j < count; ++j) sums[indices.data[j]] += static_cast<float>(from[j]);
    narrow(to, sums, width);
  }

  static constexpr uint32_t dtype = std::is_same_v<T, Half> ? BP_F16 : BP_BF16;
  tile::Convert widen = tile::find_convert(dtype, BP_F32),
                narrow = tile::find_convert(BP_F32, dtype);
};

// Copies rows of `a` and scatters into them while they are in a cache.
template <class Way, class T, class I>
void scatter_whole_rows(const bp_tensor& a, const bp_tensor& index, const bp_tensor& out,
                        const bp_tensor& src) {
  const int32_t last = index.dl.ndim - 1;
  const int64_t count = index.dl.shape[last], width = out.dl.shape[last];
  const int64_t grain = std::max<int64_t>(1, element_grain / std::max(count, width));
  constexpr bool is_wide = std::is_same_v<Way, Add> && is_reduced_float<T>;
  const std::conditional_t<is_wide, WideSums<T>, std::monostate> wide;
  parallel_for(index.numel / count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const IndexRow<I> indices{data_of<I>(index) + row * count, 1};
      T* const to = data_of<T>(out) + row * width;
      const T* const from = data_of<T>(src) + row * count;
      if constexpr (is_wide) {
        if (width <= constants::widened_row) {
          wide.add(to, data_of<T>(a) + row * width, width, indices, from, count);
          continue;
        }
      }
      std::copy_n(data_of<T>(a) + row * width, width, to);
      scatter_row<Way, T, I>(to, 1, indices, from, 1, count);
    }
  });
}

// Elements of the output that share all coordinates but `dim` belong to one thread, which goes
// through their elements in order: duplicates are right and sums the same each time.
template <class Way, class T, class I>
void run_scatter(const bp_tensor& out, int64_t dim, const bp_tensor& index, const bp_tensor& src) {
  const Shape shape(index);
  const int32_t last = shape.rank - 1;
  if (index.dl.ndim != 0 && dim == last) return run_scatter_in_rows<Way, T, I>(out, index, src);
  auto index_strides = strides_copy(index);
  auto src_strides = strides_copy(src);
  auto out_strides = strides_copy(out);
  const int64_t count = shape.size[dim];
  const int64_t index_along = index_strides[dim];
  const int64_t src_along = src_strides[dim];
  const int64_t out_along = out_strides[dim];

  // All dimensions but `dim`; the last of them is cut into pieces that stay in the cache.
  std::array<int64_t, BP_MAX_RANK> lines = shape.size;
  lines[dim] = 1;
  out_strides[dim] = 0;
  constexpr int64_t piece_size = constants::scattered_columns;
  const int64_t width = lines[last];
  const int64_t num_pieces = (width + piece_size - 1) / piece_size;
  lines[last] = num_pieces;
  const std::span<const int64_t> pieces(lines.data(), shape.rank);
  const int64_t step_index = index_strides[last];
  const int64_t step_src = src_strides[last];
  const int64_t step_out = out_strides[last];
  index_strides[last] *= piece_size;
  src_strides[last] *= piece_size;
  out_strides[last] *= piece_size;

  const int64_t work = count * std::min(width, piece_size);
  parallel_for(
      product(pieces), std::max<int64_t>(1, element_grain / work), [&](int64_t begin, int64_t end) {
        Walker<3> at(pieces, {index_strides.data(), src_strides.data(), out_strides.data()});
        at.seek(begin);
        for (int64_t piece = begin; piece < end; ++piece, at.next()) {
          const int64_t columns = std::min(piece_size, width - at.index(last) * piece_size);
          for (int64_t i = 0; i < count; ++i) {
            const I* const indices = data_of<I>(index) + at.offset(0) + i * index_along;
            const T* const from = data_of<T>(src) + at.offset(1) + i * src_along;
            T* const to = data_of<T>(out) + at.offset(2);
            if (step_index == 0 && step_out == 1 && step_src == 1) {  // rows of an embedding
              T* const row = to + static_cast<int64_t>(*indices) * out_along;
              for (int64_t j = 0; j < columns; ++j) Way::apply(row[j], from[j]);
              continue;
            }
            for (int64_t j = 0; j < columns; ++j) {
              const auto place = static_cast<int64_t>(indices[j * step_index]);
              Way::apply(to[j * step_out + place * out_along], from[j * step_src]);
            }
          }
        }
      });
}

template <class Way, bp_dtype_set dtypes>
Status scatter_by(const char* op, const bp_tensor& a, int64_t dim, const bp_tensor& index,
                  const bp_tensor& src, const bp_tensor& out) {
  // What is not computed with only has a size.
  const auto visit = [&](auto&& f) {
    if constexpr (dtypes == 0)
      visit_itemsize(a.itemsize, f);
    else
      visit_dtype<dtypes>(a.dtype, f);
  };
  return with_index_type(index, [&]<class I>(Tag<I>) {
    if (index.numel == 0) {
      copy_contiguous(out, a);
      return bp_code{BP_OK};
    }
    const bp_code code = check_indices<I>(op, index, dim, size_of(a, dim));
    if (code != BP_OK) return code;
    const bool in_whole_rows = can_scatter_whole_rows(a, dim, index, out, src);
    if (!in_whole_rows) copy_contiguous(out, a);
    visit([&]<class T>(Tag<T>) {
      if (in_whole_rows)
        scatter_whole_rows<Way, T, I>(a, index, out, src);
      else
        run_scatter<Way, T, I>(out, dim, index, src);
    });
    return bp_code{BP_OK};
  });
}

Status scatter_add(Stream, In to, int64_t dim, In places, In added, Out result) {
  return scatter_by<Add, numeric_dtypes>("scatter_add", to.abi(), dim, places.abi(), added.abi(),
                                         result.abi());
}

Status scatter(Stream, In to, int64_t dim, In places, In written, Out result) {
  return scatter_by<Replace, 0>("scatter", to.abi(), dim, places.abi(), written.abi(),
                                result.abi());
}

template <class I> bp_code run_one_hot(const bp_tensor& a, const bp_tensor& out) {
  const auto label_at = [&](const Walker<1>& at) {
    return static_cast<int64_t>(data_of<I>(a)[at.offset(0)]);
  };
  const int64_t num_classes = out.dl.shape[out.dl.ndim - 1];
  int64_t largest = 0;
  int64_t smallest = 0;
  Walker<1> at(shape_of(a), {a.dl.strides});
  for (int64_t i = 0; i < a.numel; ++i, at.next()) {
    largest = std::max(largest, label_at(at));
    smallest = std::min(smallest, label_at(at));
  }
  if (smallest < 0 || largest >= num_classes) {
    return fail(BP_BAD_ARGUMENT,
                "one_hot: class " + std::to_string(smallest < 0 ? smallest : largest) +
                    " is out of range for " + std::to_string(num_classes) + " classes");
  }
  const int64_t zero = 0;
  fill_bytes(address(out), out.numel * sizeof(int64_t), &zero, sizeof zero);
  int64_t* row = data_of<int64_t>(out);
  at.seek(0);
  for (int64_t i = 0; i < a.numel; ++i, at.next(), row += num_classes) row[label_at(at)] = 1;
  return BP_OK;
}

Status one_hot(Stream, In a, int64_t, Out out) {
  return with_index_type(a.abi(),
                         [&]<class I>(Tag<I>) { return run_one_hot<I>(a.abi(), out.abi()); });
}

template <class Op, class F> KernelBuilder<Op> add_by_index(Kernels& k, F run, DtypeSet dtypes) {
  return k.add<Op>(run)
      .dtypes(dtypes)
      .dtypes(Op::place::out, dtypes)
      .layouts(strided)
      .layouts(Op::place::out, contiguous)
      .deterministic();
}

}  // namespace

void add_gather_kernels(Kernels& k) {
  constexpr DtypeSet indices{index_dtypes};
  add_by_index<op::gather>(k, gather, all).dtypes(op::gather::place::index, indices);
  add_by_index<op::index_select>(k, index_select, all)
      .dtypes(op::index_select::place::index, indices);
  add_by_index<op::scatter_add>(k, scatter_add, numeric)
      .dtypes(op::scatter_add::place::index, indices);
  add_by_index<op::scatter>(k, scatter, all).dtypes(op::scatter::place::index, indices);
  add_by_index<op::one_hot>(k, one_hot, indices).dtypes(op::one_hot::place::out, i64);
}

}  // namespace bp::cpu
