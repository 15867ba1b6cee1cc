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

// A matrix that begins so many floats behind a line of the caches.
Data matrix(int64_t rows, int64_t columns, int64_t past) {
  constexpr int64_t line = 16;
  Data memory(BP_F32, {rows * columns + 2 * line});
  const auto floats = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.address(0)) / 4);
  return memory.part((line - floats % line) % line + past, {rows, columns});
}

// The result that is as large as `a`, in `out`, and what a norm tells of its rows.
std::vector<Data> results_of(const std::string& op, Data a, Data out) {
  const int64_t rows = a.shape()[0], columns = a.shape()[1];
  Data mean(BP_F32, {rows, 1}), rstd(BP_F32, {rows, 1});
  Data weight(BP_F32, {columns}), bias(BP_F32, {columns});
  for (int64_t i = 0; i < columns; ++i) {
    weight.at<float>(i) = 1 + static_cast<float>(i % 5) / 4;
    bias.at<float>(i) = static_cast<float>(i % 3);
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

void check(const std::string& op, int64_t columns, int64_t past) {
  const int64_t rows = bp::cpu::constants::streamed_bytes / (2 * columns * 4) + 3;
  const auto row_bytes = static_cast<size_t>(columns) * 4;
  Data a = matrix(rows, columns, 0);
  auto* const numbers = reinterpret_cast<float*>(a.address(0));
  std::mt19937 random(7);
  for (int64_t i = 0; i < a.numel(); ++i)
    numbers[i] = static_cast<float>(random() % 4096) / 256 - 8;
  std::vector<Data> whole = results_of(op, a, matrix(rows, columns, past));
  for (int64_t row = 0; row < rows; row += 1 + rows / 300) {
    Data one(BP_F32, {1, columns});
    std::memcpy(one.address(0), numbers + row * columns, row_bytes);
    std::vector<Data> alone = results_of(op, one, Data(BP_F32, {1, columns}));
    for (size_t k = 0; k < alone.size(); ++k) {
      const auto bytes = static_cast<size_t>(alone[k].numel()) * 4;
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
      for (int64_t columns : {64, 80, 1008, 1501, 4096, 12000, 20000}) check(op, columns, 0);
      check(op, 1008, 5);
    }
  });
}

}  // namespace
}  // namespace bp_test
