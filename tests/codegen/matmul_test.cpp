// needs: cpu reference_compiler once
// Products of matrices on devices that compile: against cpu, at the edges of tiles and panels, and however
// the operands lie.
#include <complex>
#include <fmt/ranges.h>
#include <random>

#include "codegen/agree.hpp"

namespace bp::test {
namespace {

constexpr Dtype matmul_dtypes[] = {u8,  u16, u32,  u64, i8,  i16,       i32,
                                   i64, f16, bf16, f32, f64, complex64, complex128};

class Matmul : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }

  // matmul on the device against cpu, where `a` and `b` lie.
  void expect_product_agrees(const Tensor& a, const Tensor& b) {
    const std::string what = fmt::format("{} {} {} by {} {}", name(a.dtype()),
                                         fmt::join(a.shape(), "x"), fmt::join(a.strides(), " "),
                                         fmt::join(b.shape(), "x"), fmt::join(b.strides(), " "));
    const Tensor there_a = laid_out_as(a, device(GetParam()));
    const Tensor there_b = laid_out_as(b, device(GetParam()));
    const Tensor expected = matmul(a, b);
    Tensor actual;
    expect_stays_on(GetParam(), what, [&] { actual = matmul(there_a, there_b); });
    expect_agrees(actual, expected, "accumulation", what, false);
  }

 private:
  // A view of the same strides over a copy of all that `a` may read: a plain move would change its layout.
  static Tensor laid_out_as(const Tensor& a, Device on) {
    std::int64_t end = a.storage_offset() + 1;
    for (std::size_t d = 0; d < a.shape().size(); ++d) end += (a.shape()[d] - 1) * a.strides()[d];
    const Tensor memory = make_view(a, {end}, {1}, 0);
    return make_view(to(memory, on), a.shape(), a.strides(), a.storage_offset());
  }
};

Tensor random_matrix(IntList shape, Dtype dtype) {
  if (is_complex(dtype) || is_floating(dtype)) return to(randn(shape, f32), dtype);
  return randint(0, 100, shape, dtype);
}

TEST_P(Matmul, agrees_with_cpu_on_every_sample) {
  expect_row_agrees("matmul", GetParam(), matmul_dtypes);
}

TEST_P(Matmul, agrees_with_cpu_on_every_sample_of_bmm) {
  expect_row_agrees("bmm", GetParam(), matmul_dtypes);
}

// One less, the same and one more than what tiles and vectors are made of.
TEST_P(Matmul, agrees_at_the_edges_of_tiles) {
  manual_seed(1);
  for (std::int64_t m : {1, 3, 4, 5, 8, 17})
    for (std::int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 63, 65})
      for (std::int64_t k : {1, 7, 16, 33})
        expect_product_agrees(random_matrix({m, k}, f32), random_matrix({k, n}, f32));
}

TEST_P(Matmul, agrees_at_the_edges_of_tiles_of_other_dtypes) {
  manual_seed(2);
  for (Dtype dtype : matmul_dtypes)
    for (std::int64_t m : {1, 9})
      for (std::int64_t n : {7, 8, 9, 17, 33})
        expect_product_agrees(random_matrix({m, 19}, dtype), random_matrix({19, n}, dtype));
}

// b's columns lie apart, so that it is packed; small types are converted on the way.
TEST_P(Matmul, agrees_when_operands_are_packed) {
  manual_seed(3);
  for (Dtype dtype : matmul_dtypes)
    for (std::int64_t n : {31, 32, 33, 97}) {
      const Tensor a = random_matrix({67, 130}, dtype);
      expect_product_agrees(
          a, slice(transpose(random_matrix({2 * n, 130}, dtype), 0, 1), 1, 0, 2 * n, 2));
    }
}

TEST_P(Matmul, agrees_when_large_operands_are_packed) {
  manual_seed(4);
  expect_product_agrees(random_matrix({300, 700}, f32), random_matrix({700, 1030}, f32));
  expect_product_agrees(transpose(random_matrix({700, 300}, f32), 0, 1),
                        random_matrix({700, 1030}, f32));
}

// Large enough to be tuned, and an element is summed up in the same order whatever tile it is in.
TEST_P(Matmul, gives_the_same_bits_tuned_or_not) {
  manual_seed(9);
  const Device on = device(GetParam());
  const Tensor a = to(random_matrix({420, 700}, f32), on);
  const Tensor b = to(random_matrix({700, 450}, f32), on);
  const Tensor tuned = matmul(a, b);
  setenv("BACKPLANE_TUNE", "0", 1);
  const Tensor untuned = matmul(a, b);
  unsetenv("BACKPLANE_TUNE");
  expect_agrees(tuned, to(untuned, device("cpu")), "exact", "420x700 by 700x450");
}

TEST_P(Matmul, agrees_for_a_matrix_by_a_vector_however_it_lies) {
  manual_seed(5);
  const Tensor matrix = random_matrix({130, 75}, f32), vector = random_matrix({75, 1}, f32);
  expect_product_agrees(matrix, vector);
  expect_product_agrees(transpose(random_matrix({75, 130}, f32), 0, 1), vector);
  expect_product_agrees(transpose(vector, 0, 1), transpose(matrix, 0, 1));
  expect_product_agrees(slice(matrix, 1, 0, 75, 2), slice(vector, 0, 0, 75, 2));
  expect_product_agrees(transpose(vector, 0, 1), random_matrix({75, 1100}, f32));
}

TEST_P(Matmul, walks_batches_that_do_not_join) {
  manual_seed(6);
  const Tensor a = permute(random_matrix({2, 3, 4, 5, 6}, f32), {2, 0, 1, 3, 4});
  const Tensor b = expand(random_matrix({1, 2, 1, 6, 17}, f32), {4, 2, 3, 6, 17});
  expect_product_agrees(a, b);
}

TEST_P(Matmul, packs_one_operand_for_all_batches) {
  manual_seed(7);
  const Tensor b = transpose(random_matrix({33, 40, 70}, f32), 1, 2);
  expect_product_agrees(random_matrix({33, 20, 70}, f32), b);
  expect_product_agrees(random_matrix({33, 20, 70}, f32), expand(select(b, 0, 0), {33, 70, 40}));
  expect_product_agrees(expand(random_matrix({20, 70}, f32), {33, 20, 70}), b);
}

// The panels of all batches are more than is packed at once.
TEST_P(Matmul, packs_many_batches_in_parts) {
  manual_seed(10);
  const Tensor b = transpose(random_matrix({70, 256, 1024}, u8), 1, 2);
  expect_product_agrees(random_matrix({70, 8, 1024}, u8), b);
}

// Shapes, layouts and offsets by chance. In f64, where a wrong element is far from any rounding.
TEST_P(Matmul, agrees_for_random_shapes_and_layouts) {
  std::mt19937 chance(8);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(chance);
  };
  // [batch, rows, columns] of a larger tensor, cut out, perhaps transposed, perhaps one for all batches.
  const auto operand = [&](std::int64_t batch, std::int64_t rows, std::int64_t columns) {
    const bool flips = pick(0, 1) == 1, spreads = pick(0, 3) == 0;
    const std::int64_t step = pick(1, 2), from = pick(0, 3), own = spreads ? 1 : batch;
    const std::int64_t x = flips ? columns : rows, y = flips ? rows : columns;
    Tensor made = randn({own, x + from, y * step + from}, f64);
    made = slice(slice(made, 1, from, from + x), 2, from, from + y * step, step);
    if (flips) made = transpose(made, 1, 2);
    return expand(made, {batch, rows, columns});
  };
  manual_seed(8);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t batch = pick(1, 3), m = pick(1, 70), n = pick(1, 70), k = pick(1, 90);
    expect_product_agrees(operand(batch, m, k), operand(batch, k, n));
  }
}

TEST_P(Matmul, spreads_nan_over_its_row_and_column_only) {
  const Tensor a = ones({20, 40}, f32), b = ones({40, 50}, f32);
  fill_(narrow(narrow(a, 0, 3, 1), 1, 5, 1), std::nan(""));
  fill_(narrow(narrow(b, 0, 7, 1), 1, 49, 1), INFINITY);
  expect_product_agrees(a, b);
  expect_product_agrees(transpose(b, 0, 1), transpose(a, 0, 1));
}

// Sums of real products, so that (inf + inf i) * 1 is NaN in both parts.
TEST_P(Matmul, takes_infinities_of_complex_numbers_as_cpu_does) {
  std::vector<std::complex<float>> numbers(6, {1, 0});
  numbers[1] = {INFINITY, INFINITY};
  const Tensor a = from_blob(numbers.data(), {2, 3}, complex64);
  const Tensor b = to(ones({3, 5}, f32), complex64);
  expect_product_agrees(a, b);
}

TEST_P(Matmul, sums_nothing_to_zeros) {
  const Device on = device(GetParam());
  const Tensor out = matmul(empty({3, 0}, f32, on), empty({0, 4}, f32, on));
  expect_agrees(out, zeros({3, 4}, f32), "exact", "an empty sum");
}

INSTANTIATE_TEST_SUITE_P(devices, Matmul,
                         testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string device = each.param;
                           return device.substr(0, device.find(':'));
                         });

}  // namespace
}  // namespace bp::test
