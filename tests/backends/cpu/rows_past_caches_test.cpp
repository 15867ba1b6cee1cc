// needs: cpu
// softmax and norms of tensors so large that results are written past the caches, where softmax writes a row while the next one is
// computed: the same bits as of each row alone, for each instruction set.
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"
#include "constants.hpp"

namespace bp_test {
namespace {

int64_t itemsize(uint32_t dtype) {
  return dtype == BP_F64 ? 8 : 4;
}

// A matrix that begins so many elements behind a line of the caches.
Data matrix(uint32_t dtype, int64_t rows, int64_t columns, int64_t past) {
  const int64_t line = 64 / itemsize(dtype);
  Data memory(dtype, {rows * columns + 2 * line});
  const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.address(0)));
  return memory.part((line - first / itemsize(dtype) % line) % line + past, {rows, columns});
}

// The result that is as large as `a`, in `out`, and what a norm tells of its rows.
std::vector<Data> results_of(const std::string& op, uint32_t dtype, Data a, Data out) {
  const int64_t rows = a.shape()[0], columns = a.shape()[1];
  Data mean(dtype, {rows, 1}), rstd(dtype, {rows, 1});
  Data weight(dtype, {columns}), bias(dtype, {columns});
  for (int64_t i = 0; i < columns; ++i) {
    set_number(weight, dtype, i, 1 + static_cast<double>(i % 5) / 4);
    set_number(bias, dtype, i, static_cast<double>(i % 3));
  }
  if (op == "native_layer_norm") {
    run(op, {value(a), value(Sizes{columns}), value(weight), value(bias), value(1e-5)},
        {&out, &mean, &rstd});
    return {out, mean, rstd};
  }
  if (op == "native_rms_norm") {
    run(op, {value(a), value(Sizes{columns}), value(weight), value(1e-5)}, {&out, &rstd});
    return {out, rstd};
  }
  run(op, {value(a), value(1), none()}, {&out});
  return {out};
}

void check(const std::string& op, uint32_t dtype, int64_t columns, int64_t past) {
  const int64_t row_bytes = columns * itemsize(dtype);
  const int64_t rows = bp::cpu::constants::streamed_bytes / (2 * row_bytes) + 3;
  Data a = matrix(dtype, rows, columns, 0);
  constexpr int64_t starts = 997;  // of rows, in numbers that most rows share
  Data numbers(dtype, {columns + starts});
  std::mt19937 random(7);
  for (int64_t i = 0; i < numbers.numel(); ++i)
    set_number(numbers, dtype, i, static_cast<double>(random() % 4096) / 256 - 8);
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(a.address(row * columns), numbers.address(row * 37 % starts),
                static_cast<size_t>(row_bytes));
  std::vector<Data> whole = results_of(op, dtype, a, matrix(dtype, rows, columns, past));
  for (int64_t row = 0; row < rows; row += 1 + rows / 300) {
    Data one(dtype, {1, columns});
    std::memcpy(one.address(0), a.address(row * columns), static_cast<size_t>(row_bytes));
    std::vector<Data> alone = results_of(op, dtype, one, Data(dtype, {1, columns}));
    for (size_t k = 0; k < alone.size(); ++k) {
      const auto bytes = static_cast<size_t>(alone[k].numel() * itemsize(dtype));
      ASSERT_EQ(std::memcmp(whole[k].address(row * alone[k].numel()), alone[k].address(0), bytes),
                0)
          << op << " of " << columns << " columns, " << past << " past a line: row " << row
          << ", result " << k;
    }
  }
}

// Whole lines and parts of them; rows that are too long for the scratch of two; a result that begins within a line.
TEST(RowsPastCaches, have_the_bits_of_each_row_alone) {
  for_each_target([](const std::string&) {
    for (const char* op : {"softmax", "log_softmax", "native_layer_norm", "native_rms_norm"}) {
      for (int64_t columns : {64, 80, 1008, 1501, 4096, 12000, 20000})
        check(op, BP_F32, columns, 0);
      check(op, BP_F32, 1008, 5);
      check(op, BP_F64, 1008, 0);
      check(op, BP_F64, 1001, 0);
    }
  });
}

}  // namespace
}  // namespace bp_test
