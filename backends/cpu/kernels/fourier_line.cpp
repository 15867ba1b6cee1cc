#include "fourier_line.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <kissfft/kissfft.hh>
#include <numbers>

#include "../constants.hpp"
#include "../threads.hpp"
#include "fourier_packs.hpp"

namespace bp::cpu::fourier {
namespace {

// exp(-2 pi i k / n). Quarters are taken off as integers, so that the rest of the angle is small and its rounding is, too.
Number root(int64_t k, int64_t n) {
  const int64_t quarters = (8 * k + n) / (2 * n);
  const double angle =
      static_cast<double>(4 * k - quarters * n) * (std::numbers::pi / 2) / static_cast<double>(n);
  const double cosine = std::cos(angle), sine = -std::sin(angle);
  switch (quarters % 4) {
    case 0: return {cosine, sine};
    case 1: return {sine, -cosine};
    case 2: return {-cosine, -sine};
    default: return {-sine, cosine};
  }
}

Number swapped(Number value) {
  return {value.imag(), value.real()};
}

struct Sums : kissfft<double> {
  explicit Sums(int64_t n) : kissfft(static_cast<size_t>(n), false) {}
};

const Sums& sums_of(int64_t n) {
  thread_local Kept<Sums, 8, large_length> kept;
  return kept.find(n);
}

// The divisor next to the square root, from below.
int64_t middle_divisor(int64_t n) {
  auto divisor = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % divisor != 0) --divisor;
  return divisor;
}

struct alignas(64) Aligned {
  static constexpr int64_t count = 8;
  double numbers[count];
};

// Transforms lines of n by packs: load(k, line) gives a line's element k, and store(k, first, count, re, im) takes those of
// `count` lines from `first` on.
template <class Load, class Store>
void transform_side_by_side(int64_t num_lines, int64_t n, const Load& load, const Store& store) {
  const Packs<double>& wide = packs<double>();
  const int64_t width = wide.width, room = 2 * width * room_for(n);
  parallel_for((num_lines + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    const auto both =
        std::make_unique_for_overwrite<Aligned[]>(static_cast<size_t>(2 * room / Aligned::count));
    double* const given = both[0].numbers;
    for (int64_t first = begin * width; first < std::min(end * width, num_lines); first += width) {
      const int64_t count = std::min(width, num_lines - first);
      for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < count; ++i) {
          const Number value = load(k, first + i);
          given[2 * k * width + i] = value.real();
          given[(2 * k + 1) * width + i] = value.imag();
        }
      const double* const made = wide.transform(n, given, given + room);
      for (int64_t k = 0; k < n; ++k)
        store(k, first, count, made + 2 * k * width, made + (2 * k + 1) * width);
    }
  });
}

// A matrix of [rows, columns], whose columns are transformed; element (k, j) is then turned by its place.
void transform_columns(int64_t rows, int64_t columns, const Number* from, Number* to) {
  const Roots& roots = roots_of(rows * columns);
  transform_side_by_side(
      columns, rows, [&](int64_t row, int64_t column) { return from[row * columns + column]; },
      [&](int64_t row, int64_t first, int64_t count, const double* re, const double* im) {
        Number turn = roots.power(row * first);
        const Number step = roots.power(row);
        for (int64_t i = 0; i < count; ++i, turn *= step)
          to[row * columns + first + i] = Number(re[i], im[i]) * turn;
      });
}

// The rows of [rows, columns] are transformed, and become columns of the result.
void transform_rows(int64_t rows, int64_t columns, const Number* from, Number* to) {
  transform_side_by_side(
      rows, columns, [&](int64_t column, int64_t row) { return from[row * columns + column]; },
      [&](int64_t column, int64_t first, int64_t count, const double* re, const double* im) {
        for (int64_t i = 0; i < count; ++i) to[column * rows + first + i] = {re[i], im[i]};
      });
}

// By factors, which are small.
Number* transform_by_factors(int64_t n, Number* line, Number* room, bool is_long) {
  if (!is_long) {
    sums_of(n).transform(line, room);
    return room;
  }
  const int64_t rows = middle_divisor(n);
  transform_columns(rows, n / rows, line, room);
  transform_rows(rows, n / rows, room, line);
  return line;
}

// What the prime factors above 7 cost: a sum of so many terms for each result.
int64_t steps_of_large_factors(int64_t n) {
  int64_t steps = 0;
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    for (; n % factor == 0; n /= factor)
      if (factor > 7) steps += factor;
  }
  return n > 7 ? steps + n : steps;
}

// A length that holds 2 n - 1 numbers: a power of two, or five or six eighths of it.
int64_t length_of_chirp(int64_t n) {
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
  for (const int64_t eighths : {5, 6})
    if (power >= 8 && power / 8 * eighths >= 2 * n - 1) return power / 8 * eighths;
  return power;
}

Number* transform_by_chirp(int64_t n, Number* line, Number* room, bool is_long) {
  const Chirp& chirp = chirp_of(n);
  const auto length = static_cast<int64_t>(chirp.spectrum.size());
  for (int64_t j = 0; j < n; ++j) line[j] *= chirp.turns[static_cast<size_t>(j)];
  std::fill(line + n, line + length, Number());
  Number* const made = transform_by_factors(length, line, room, is_long);
  for (int64_t k = 0; k < length; ++k)
    made[k] = swapped(made[k] * chirp.spectrum[static_cast<size_t>(k)]);
  Number* const back = transform_by_factors(length, made, made == line ? room : line, is_long);
  for (int64_t k = 0; k < n; ++k) back[k] = swapped(back[k]) * chirp.turns[static_cast<size_t>(k)];
  return back;
}

}  // namespace

// From so many on, two transforms of more than twice the length are faster.
bool is_rough(int64_t n) {
  using constants::rough_steps;
  return n > rough_steps && steps_of_large_factors(n) > rough_steps;
}

Chirp::Chirp(int64_t n) {
  const Roots roots(2 * n);
  for (int64_t j = 0; j < n; ++j) turns.push_back(roots.power(j * j % (2 * n)));
  const int64_t length = length_of_chirp(n);
  std::vector<Number> circle(static_cast<size_t>(length));
  for (int64_t j = 0; j < n; ++j) {
    const Number turn = std::conj(turns[static_cast<size_t>(j)]) / static_cast<double>(length);
    circle[static_cast<size_t>(j)] = circle[static_cast<size_t>(j == 0 ? 0 : length - j)] = turn;
  }
  spectrum.resize(static_cast<size_t>(length));
  // Large ones are not kept: the transforms that follow are usually made by all threads, as columns and rows.
  if (length >= large_length)
    Sums(length).transform(circle.data(), spectrum.data());
  else
    sums_of(length).transform(circle.data(), spectrum.data());
}

const Chirp& chirp_of(int64_t n) {
  thread_local Kept<Chirp, 2, large_length> kept;
  return kept.find(n);
}

Roots::Roots(int64_t n) {
  while (int64_t{1} << (2 * shift_) < n) ++shift_;
  const int64_t step = int64_t{1} << shift_;
  for (int64_t k = 0; k < step; ++k) low_.push_back(root(k, n));
  for (int64_t k = 0; k <= n; k += step) high_.push_back(root(k, n));
}

const Roots& roots_of(int64_t n) {
  thread_local Kept<Roots, 8> kept;
  return kept.find(n);
}

int64_t room_for(int64_t n) {
  return is_rough(n) ? length_of_chirp(n) : n;
}

Number* transform(int64_t n, Number* line, Number* room, bool is_long) {
  return is_rough(n) ? transform_by_chirp(n, line, room, is_long)
                     : transform_by_factors(n, line, room, is_long);
}

bool is_small_enough(int64_t n) {
  return n <= constants::rough_length || !is_rough(n);
}

}  // namespace bp::cpu::fourier
