// flip, tril and triu: rows of a tensor that are copied, turned around or cut.
#include <algorithm>
#include <array>

#include "../constants.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "kernels.hpp"
#include "strided.hpp"
#include "tile/move.hpp"
#include "tile/space.hpp"

namespace bp::cpu {
namespace {

// The elements from the last ones on, by negative strides.
Status flip(Stream, In from, Ints dims, Out result) {
  const bp_tensor &out = result.abi(), &a = from.abi();
  const int64_t itemsize = a.itemsize;
  std::array<int64_t, BP_MAX_RANK> strides{};
  std::copy_n(a.dl.strides, a.dl.ndim, strides.begin());
  const char* first = address(a);
  for (const int64_t dim : dims) {
    first += (a.dl.shape[dim] - 1) * strides[dim] * itemsize;
    strides[dim] = -strides[dim];
  }
  tile::Space space;
  space.set_shape(out);
  space.add(out);
  space.add(strides.data());
  space.join_in_order();
  parallel_for(out.numel, constants::strided_copy_bytes / itemsize,
               [&](int64_t begin, int64_t end) {
                 tile::Position at;
                 at.seek(space, begin);
                 tile::gather_rows(address(out) + begin * itemsize, first, itemsize, space, 1, at,
                                   end - begin);
               });
  return ok;
}

// Calls f(place, source, cut) for each row of the matrices: its place in a contiguous result, its element 0 in `a`, and the
// column at which the diagonal cuts it, `diagonal` being right of the main one and no column behind the last.
template <class F> void for_each_cut_row(const bp_tensor& a, int64_t diagonal, F&& f) {
  const auto outer = static_cast<size_t>(a.dl.ndim - 1);
  const int64_t rows = a.dl.shape[outer - 1], columns = a.dl.shape[outer];
  diagonal = std::clamp(diagonal, -rows, columns);
  parallel_for(a.numel / columns, std::max<int64_t>(1, element_grain / columns),
               [&](int64_t begin, int64_t end) {
                 Walker<1> at(shape_of(a).first(outer), {a.dl.strides});
                 at.seek(begin);
                 for (int64_t i = begin; i < end; ++i, at.next()) {
                   f(i * columns, at.offset(0),
                     std::clamp<int64_t>(i % rows + diagonal, 0, columns));
                 }
               });
}

// What is left of the cut stays, or what is right of it; zeros are elsewhere.
template <bool keeps_left> Status cut(Call call, In from, int64_t diagonal, Out result) {
  const bp_tensor &out = result.abi(), &a = from.abi();
  const int64_t columns = a.dl.shape[a.dl.ndim - 1];
  const auto itemsize = static_cast<size_t>(a.itemsize);
  const bool are_rows = columns == 1 || a.dl.strides[a.dl.ndim - 1] == 1;
  if (!are_rows) copy_elements(call, a, out);
  for_each_cut_row(a, diagonal, [&](int64_t place, int64_t source, int64_t cut) {
    const int64_t kept_begin = keeps_left ? 0 : cut, kept_end = keeps_left ? cut : columns;
    const int64_t gone_begin = keeps_left ? cut : 0, gone_end = keeps_left ? columns : cut;
    char* const to = address(out) + place * a.itemsize;
    if (are_rows) {
      std::memcpy(to + kept_begin * a.itemsize, address(a) + (source + kept_begin) * a.itemsize,
                  static_cast<size_t>(kept_end - kept_begin) * itemsize);
    }
    std::memset(to + gone_begin * a.itemsize, 0,
                static_cast<size_t>(gone_end - gone_begin) * itemsize);
  });
  return ok;
}

// The diagonal itself stays on both sides.
Status tril(Call call, In from, int64_t diagonal, Out result) {
  return cut<true>(call, from, diagonal == INT64_MAX ? diagonal : diagonal + 1, result);
}
Status triu(Call call, In from, int64_t diagonal, Out result) {
  return cut<false>(call, from, diagonal, result);
}

template <class Op, class F> void add_rearranging(Kernels& k, F run) {
  k.add<Op>(run)
      .dtypes(all)
      .dtypes(Op::place::out, all)
      .layouts(strided)
      .layouts(Op::place::out, contiguous)
      .deterministic();
}

}  // namespace

void add_rearranging_kernels(Kernels& k) {
  add_rearranging<op::flip>(k, flip);
  add_rearranging<op::tril>(k, tril);
  add_rearranging<op::triu>(k, triu);
}

}  // namespace bp::cpu
