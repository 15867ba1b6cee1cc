// sort: every line by the standard library's stable sort, in O(n log n).
#include <numeric>
#include <vector>

#include "tensor_view.hpp"

namespace reference {
namespace {

// NaN, which alone differs from itself, is the largest.
template <class T> bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

template <class T> std::vector<int64_t> sorted_places(const std::vector<T>& keys, bool descending) {
  std::vector<int64_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    return descending ? is_less(keys[b], keys[a]) : is_less(keys[a], keys[b]);
  });
  return places;
}

bp::Status sort(bp::Stream stream, bp::In a, int64_t dim, bool descending, bool, bp::Out values,
                bp::Out indices) {
  const TensorView from(stream, a), sorted(stream, values), places(stream, indices);
  const uint32_t along = 1u << dim;
  return with_sum_type(a.dtype(), [&]<class T>(Tag<T>) {
    if constexpr (is_complex<T>)
      return bp::unsupported("sort: complex numbers have no order");
    else
      return submit(stream, [=] {
        const TensorView line = from.only(along), lines = from.only(~along);
        const TensorView to_line = sorted.only(along), to_lines = sorted.only(~along);
        const TensorView at_line = places.only(along), at_lines = places.only(~along);
        std::vector<T> keys(static_cast<size_t>(line.numel));
        for (int64_t i = 0; i < lines.numel; ++i) {
          for (int64_t j = 0; j < line.numel; ++j)
            keys[j] = read<T>(lines.at(i) + line.offset(j), from.dtype);
          const std::vector<int64_t> order = sorted_places(keys, descending);
          for (int64_t j = 0; j < line.numel; ++j) {
            move(to_lines.at(i) + to_line.offset(j), lines.at(i) + line.offset(order[j]),
                 from.itemsize);
            write(at_lines.at(i) + at_line.offset(j), bp::i64, order[j]);
          }
        }
      });
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(sort) {
  k.add<bp::op::sort>(reference::sort)
      .dtypes(bp::real | bp::boolean)
      .layouts(bp::strided)
      .deterministic();
}
