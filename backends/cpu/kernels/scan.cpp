// cumsum and cumprod: lines along `dim` are independent; within one it runs from the first element on.
#include <algorithm>
#include <cstdint>

#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "kernels.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

// f32 sums and products are kept in double, as PyTorch keeps them: a long line loses nothing that way.
template <class T> using Sum = std::conditional_t<std::is_same_v<T, float>, double, Wide<T>>;

struct Add {
  static constexpr int initial = 0;
  template <class T> T operator()(const T& a, const T& b) const { return a + b; }
};
struct Multiply {
  static constexpr int initial = 1;
  template <class T> T operator()(const T& a, const T& b) const { return a * b; }
};

template <class Join, class T> void join_to(Sum<T>& sum, const T& value) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::uint64_t;  // wraps, where smaller types would become signed ones
    sum = static_cast<T>(Join{}(static_cast<U>(sum), static_cast<U>(value)));
  } else {
    sum = Join{}(sum, static_cast<Sum<T>>(value));
  }
}

template <class T> T element_of(const Sum<T>& sum) {
  if constexpr (is_reduced_float<T>) {
    return T(sum);
  } else {
    return static_cast<T>(sum);
  }
}

// Several neighbouring lines at once, so that a line across memory does not fetch one element of
// every cache line.
constexpr int64_t max_lines = constants::scan_lines;

template <class Join, class T>
void scan_lines(const T* from, int64_t from_line, int64_t from_step, T* to, int64_t to_line,
                int64_t to_step, int64_t num_lines, int64_t count) {
  Sum<T> sums[max_lines];
  std::fill_n(sums, max_lines, static_cast<Sum<T>>(Join::initial));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t line = 0; line < num_lines; ++line) {
      join_to<Join, T>(sums[line], from[i * from_step + line * from_line]);
      to[i * to_step + line * to_line] = element_of<T>(sums[line]);
    }
  }
}

// Lines of neighbours, as vector code.
template <class Join, class T>
void scan_columns(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t num_lines,
                  int64_t count) {
  Sum<T> sums[max_lines];
  std::fill_n(sums, max_lines, static_cast<Sum<T>>(Join::initial));
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
#pragma GCC ivdep
    for (int64_t line = 0; line < num_lines; ++line) {
      join_to<Join, T>(sums[line], from[line]);
      to[line] = element_of<T>(sums[line]);
    }
  }
}

constexpr int64_t lines_in_turn = constants::scan_rows;

// Lines along memory, some in turns: unrolled, since sums in memory would wait for their own stores.
template <class Join, class T>
void scan_rows(const T* from, int64_t from_line, int64_t from_step, T* to, int64_t to_line,
               int64_t to_step, int64_t num_lines, int64_t count) {
  if (num_lines != lines_in_turn || to_step != 1 || from_step != 1)
    return scan_lines<Join>(from, from_line, from_step, to, to_line, to_step, num_lines, count);
  static_assert(lines_in_turn == 4);
  constexpr auto initial = static_cast<Sum<T>>(Join::initial);
  Sum<T> a = initial, b = initial, c = initial, d = initial;
  const auto take = [&](Sum<T>& sum, int64_t i) {
    join_to<Join, T>(sum, from[i]);
    return element_of<T>(sum);
  };
  for (int64_t i = 0; i < count; ++i) {
    const T first = take(a, i), second = take(b, i + from_line), third = take(c, i + 2 * from_line),
            fourth = take(d, i + 3 * from_line);
    to[i] = first;
    to[i + to_line] = second;
    to[i + 2 * to_line] = third;
    to[i + 3 * to_line] = fourth;
  }
}

template <class Join, class T>
void run_scan(const bp_tensor& out, const bp_tensor& a, int64_t dim) {
  if (a.dl.ndim == 0) {
    *data_of<T>(out) = *data_of<T>(a);
    return;
  }
  WithoutDim from(a, dim);
  WithoutDim to(out, dim);
  // The last of the other dimensions in groups of lines: of many, if memory runs along it.
  const size_t last = from.rank - 1;
  const bool grouped = from.rank > 0, is_last = dim == a.dl.ndim - 1;
  const int64_t max_lines = is_last ? lines_in_turn : cpu::max_lines;
  const int64_t width = grouped ? from.shape[last] : 1;
  const int64_t from_line = grouped ? from.strides[last] : 0;
  const int64_t to_line = grouped ? to.strides[last] : 0;
  if (grouped) {
    from.shape[last] = (width + max_lines - 1) / max_lines;
    from.strides[last] *= max_lines;
    to.strides[last] *= max_lines;
  }
  const int64_t count = a.dl.shape[dim];
  const int64_t work = count * std::min(width, max_lines);
  parallel_for(
      product(from.shape_span()), std::max<int64_t>(1, element_grain / work),
      [&](int64_t begin, int64_t end) {
        Walker<2> at(from.shape_span(), {from.strides.data(), to.strides.data()});
        at.seek(begin);
        for (int64_t group = begin; group < end; ++group, at.next()) {
          const int64_t lines =
              grouped ? std::min(max_lines, width - at.index(static_cast<int>(last)) * max_lines)
                      : 1;
          const T* const first = data_of<T>(a) + at.offset(0);
          T* const first_to = data_of<T>(out) + at.offset(1);
          const int64_t from_step = a.dl.strides[dim], to_step = out.dl.strides[dim];
          if (is_last) {
            scan_rows<Join>(first, from_line, from_step, first_to, to_line, to_step, lines, count);
          } else if (from_line == 1 && to_line == 1) {
            scan_columns<Join>(first, from_step, first_to, to_step, lines, count);
          } else {
            scan_lines<Join>(first, from_line, from_step, first_to, to_line, to_step, lines, count);
          }
        }
      });
}

template <class Join> Status scan(Stream, In a, int64_t dim, std::optional<Dtype>, Out out) {
  visit_dtype<numeric_dtypes>(a.abi().dtype,
                              [&]<class T>(Tag<T>) { run_scan<Join, T>(out.abi(), a.abi(), dim); });
  return ok;
}

template <class Row, class Join> void add_scan(Kernels& k) {
  k.add<Row>(scan<Join>)
      .dtypes(numeric)
      .dtypes(Row::place::out, numeric)
      .layouts(strided)
      .deterministic()
      .in_place_safe();
}

}  // namespace

void add_scan_kernels(Kernels& k) {
  add_scan<op::cumsum, Add>(k);
  add_scan<op::cumprod, Multiply>(k);
}

}  // namespace bp::cpu
