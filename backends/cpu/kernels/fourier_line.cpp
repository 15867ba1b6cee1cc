#include "fourier_line.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <kissfft/kissfft.hh>
#include <limits>
#include <memory>
#include <numbers>

#include "../threads.hpp"

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

// From so many elements on, what is made for a length takes megabytes.
constexpr int64_t large_length = 1 << 17;

// What one thread made for the lengths that it used last; of those from `large` on, for the last one alone. KissFFT's plans have
// room of their own for large factors, so that threads cannot share them.
template <class T, size_t capacity, int64_t large = std::numeric_limits<int64_t>::max()>
class Kept {
 public:
  const T& find(int64_t n) {
    ++now_;
    Entry* oldest = entries_.data();
    for (Entry& entry : entries_) {
      if (entry.n == n) {
        entry.used = now_;
        return *entry.value;
      }
      if (n >= large && entry.n >= large) entry = {};
      if (entry.used < oldest->used) oldest = &entry;
    }
    *oldest = {n, now_, std::make_unique<T>(n)};
    return *oldest->value;
  }

 private:
  struct Entry {
    int64_t n = 0;
    uint64_t used = 0;
    std::unique_ptr<T> value;
  };
  std::array<Entry, capacity> entries_;
  uint64_t now_ = 0;
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

// Lines that a thread takes at a time: their neighbours fill a cache line.
constexpr int64_t block = 8;

// A matrix of [rows, columns], whose columns are transformed; element (k, j) is then turned by its place.
void transform_columns(int64_t rows, int64_t columns, const Number* from, Number* to) {
  const Roots& roots = roots_of(rows * columns);
  parallel_for((columns + block - 1) / block, 1, [&](int64_t begin, int64_t end) {
    const Sums& sums = sums_of(rows);
    std::vector<Number> lines(static_cast<size_t>(2 * block * rows));
    Number *const given = lines.data(), *const made = given + block * rows;
    for (int64_t first = begin * block; first < std::min(end * block, columns); first += block) {
      const int64_t count = std::min(block, columns - first);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t c = 0; c < count; ++c) given[c * rows + row] = from[row * columns + first + c];
      for (int64_t c = 0; c < count; ++c) sums.transform(given + c * rows, made + c * rows);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t c = 0; c < count; ++c)
          to[row * columns + first + c] = made[c * rows + row] * roots.power(row * (first + c));
    }
  });
}

// The rows of [rows, columns] are transformed, and become columns of the result.
void transform_rows(int64_t rows, int64_t columns, const Number* from, Number* to) {
  parallel_for((rows + block - 1) / block, 1, [&](int64_t begin, int64_t end) {
    const Sums& sums = sums_of(columns);
    std::vector<Number> made(static_cast<size_t>(block * columns));
    for (int64_t first = begin * block; first < std::min(end * block, rows); first += block) {
      const int64_t count = std::min(block, rows - first);
      for (int64_t r = 0; r < count; ++r)
        sums.transform(from + (first + r) * columns, made.data() + r * columns);
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t r = 0; r < count; ++r)
          to[column * rows + first + r] = made[static_cast<size_t>(r * columns + column)];
    }
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

int64_t largest_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t factor = 2; factor * factor <= n; ++factor)
    for (; n % factor == 0; n /= factor) largest = factor;
  return std::max(largest, n);
}

// From so many on, two transforms of more than twice the length are faster.
bool is_rough(int64_t n) {
  constexpr int64_t most_steps = 50;
  return n > most_steps && steps_of_large_factors(n) > most_steps;
}

// A length that holds 2 n - 1 numbers: a power of two, or five or six eighths of it.
int64_t length_of_chirp(int64_t n) {
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
  for (const int64_t eighths : {5, 6})
    if (power >= 8 && power / 8 * eighths >= 2 * n - 1) return power / 8 * eighths;
  return power;
}

// Bluestein 1970, as in core_ops/decompositions/fourier_parts.cpp: a convolution with exp(pi i j^2 / n).
struct Chirp {
  explicit Chirp(int64_t n) {
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
  std::vector<Number> turns, spectrum;
};

const Chirp& chirp_of(int64_t n) {
  thread_local Kept<Chirp, 2, large_length> kept;
  return kept.find(n);
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

bool is_worth_it(int64_t n, int64_t num_lines) {
  // So far one matrix does it, by which many lines are multiplied at once (measured on a Zen 4 core: from 120 to 340 lines on,
  // and with sums over large factors from 20 on).
  constexpr int64_t largest_matrix = 64;
  if (n <= largest_matrix) return num_lines <= (steps_of_large_factors(n) == 0 ? 150 : 16);
  // Such factors as a matrix has no trouble with, of enough elements that operators' overheads do not count.
  const int64_t factor = largest_factor(n);
  if (factor > 7 && factor <= largest_matrix && n * num_lines > 8192) return false;
  // Of larger ones a thread would keep too much.
  constexpr int64_t largest_rough = 1 << 20;
  return n <= largest_rough || !is_rough(n);
}

}  // namespace bp::cpu::fourier
