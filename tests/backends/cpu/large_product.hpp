// Large products of one float dtype through the cpu plugin, compared with sums in double.
#pragma once

#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "direct_call.hpp"

namespace bp_test {

inline float widened(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t narrowed(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

inline float get(Data& data, int64_t element) {
  return data.dtype() == BP_BF16 ? widened(data.at<uint16_t>(element)) : data.at<float>(element);
}

// To bf16 by cutting off.
inline void set(Data& data, int64_t element, float value) {
  if (data.dtype() == BP_BF16)
    data.at<uint16_t>(element) = narrowed(value);
  else
    data.at<float>(element) = value;
}

// How a factor lies in memory.
enum class Order { rows, rows_with_gaps, columns };

inline Data zeros(uint32_t dtype, int64_t rows, int64_t columns, Order order = Order::rows) {
  switch (order) {
    case Order::rows_with_gaps: return {dtype, {rows, columns}, {columns + 7, 1}};
    case Order::columns: return {dtype, {rows, columns}, {1, rows}};
    default: return {dtype, {rows, columns}};
  }
}

inline Data normal_numbers(uint32_t dtype, int64_t rows, int64_t columns, Order order,
                           uint32_t seed) {
  Data data = zeros(dtype, rows, columns, order);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < data.numel(); ++i) set(data, i, normal(random));
  return data;
}

inline Data product(Data& a, Data& b) {
  Data out(a.dtype(), {a.shape()[0], b.shape()[1]});
  for (int64_t i = 0; i < out.numel(); ++i) set(out, i, NAN);
  run("matmul", {value(a), value(b)}, {&out});
  return out;
}

// Every element of the first and last rows and columns, and some of the others: a prime's multiples.
inline std::vector<int64_t> places(int64_t m, int64_t n) {
  std::vector<int64_t> all;
  for (int64_t row : {int64_t{0}, m / 2, m - 1})
    for (int64_t column = 0; column < n; ++column) all.push_back(row * n + column);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column : {int64_t{0}, n - 1}) all.push_back(row * n + column);
  for (int64_t place = 0; place < m * n; place += 1009) all.push_back(place);
  return all;
}

inline std::vector<double> numbers(Data data) {
  std::vector<double> all;
  for (int64_t i = 0; i < data.numel(); ++i) all.push_back(get(data, i));
  return all;
}

// Right but for an error of `of_result` times the result, and `of_terms` times the sum of the terms' magnitudes.
struct Tolerance {
  double of_result, of_terms;
};

inline void expect_close_product(Data a, Data b, Tolerance tolerance, const std::string& what) {
  const int64_t m = a.shape()[0];
  const int64_t k = a.shape()[1];
  const int64_t n = b.shape()[1];
  const std::vector<double> out = numbers(product(a, b));
  const std::vector<double> rows = numbers(a);
  const std::vector<double> columns = numbers(b);
  int64_t wrong = 0;
  for (int64_t place : places(m, n)) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double term = rows[place / n * k + i] * columns[i * n + place % n];
      sum += term;
      magnitude += std::abs(term);
    }
    wrong += !(std::abs(out[place] - sum) <=
               std::abs(sum) * tolerance.of_result + magnitude * tolerance.of_terms);
  }
  EXPECT_EQ(wrong, 0) << what << ": " << m << "x" << k << "x" << n;
}

// Factors that hold one `special` number in row 3 of a and one in the last column of b, which must reach these and no other:
// padding must not be multiplied by it.
inline void expect_special_number_stays(uint32_t dtype, int64_t size, Order order, float special) {
  Data a = normal_numbers(dtype, size, size, order, 1);
  Data b = normal_numbers(dtype, size, size, order, 2);
  for (int64_t i = 0; i < size; ++i) {
    set(b, (size - 1) * size + i, 1);
    set(a, i * size, -1);
  }
  set(a, 3 * size + size - 1, special);
  set(b, size - 1, special);
  Data out = product(a, b);
  int64_t wrong = 0;
  for (int64_t i = 0; i < size * size; ++i) {
    const float got = get(out, i);
    const float expected = (i / size == 3 ? special : 0) + (i % size == size - 1 ? -special : 0);
    if (expected == 0)
      wrong += !std::isfinite(got);
    else
      wrong += std::isnan(expected) ? !std::isnan(got) : got != expected;
  }
  EXPECT_EQ(wrong, 0) << special << " " << size;
}

}  // namespace bp_test
