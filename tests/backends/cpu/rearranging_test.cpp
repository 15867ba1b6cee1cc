// needs: cpu
// flip, tril and triu against elements one by one: dtypes of each size, any rank, order in memory and broadcasting, rows shorter and
// longer than a vector, and diagonals far outside.
#include <cstring>
#include <random>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

std::mt19937& random_numbers() {
  static std::mt19937 random(7);
  return random;
}
int64_t up_to(int64_t most) {
  return static_cast<int64_t>(random_numbers()()) % most + 1;
}

const uint32_t one_of_each_size[] = {BP_BOOL, BP_BF16, BP_F32, BP_I64, BP_COMPLEX128};

// Every byte random, so that NaN of any bits and negative zeros are among them.
Data random_data(uint32_t dtype, const Sizes& shape) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random_numbers());
  const bool is_permuted = random_numbers()() % 2 == 0;
  Sizes stored(shape.size());
  std::vector<size_t> place(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!is_permuted) order[i] = i;
    stored[i] = shape[order[i]];
    place[order[i]] = i;
  }
  Data data(dtype, stored);
  const int64_t bytes = data.numel() * itemsize_of(dtype);
  for (int64_t i = 0; i < bytes; ++i) data.bytes()[i] = static_cast<char>(random_numbers()());
  return data.permuted(place);
}

Sizes random_shape(size_t rank, size_t long_dim) {
  Sizes shape;
  for (size_t dim = 0; dim < rank; ++dim) shape.push_back(up_to(dim == long_dim ? 150 : 5));
  return shape;
}

// The place of the same element where the dimensions `dims` run from their ends.
int64_t turned(int64_t element, const Sizes& shape, const Sizes& dims) {
  int64_t result = 0, step = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    const int64_t index = element % shape[dim];
    const bool turns = std::find(dims.begin(), dims.end(), static_cast<int64_t>(dim)) != dims.end();
    result += (turns ? shape[dim] - 1 - index : index) * step;
    step *= shape[dim];
    element /= shape[dim];
  }
  return result;
}

void expect_turned(Data from, const Sizes& dims) {
  Data out(from.dtype(), from.shape());
  run("flip", {value(from), value(dims)}, {&out});
  for (int64_t i = 0; i < out.numel(); ++i)
    ASSERT_EQ(std::memcmp(out.address(i), from.address(turned(i, from.shape(), dims)),
                          itemsize_of(from.dtype())),
              0)
        << "element " << i;
}

TEST(CpuRearranging, flips_like_elements_one_by_one) {
  for (int i = 0; i < 400; ++i) {
    const size_t rank = i % 5;
    const Sizes shape = random_shape(rank, rank == 0 ? 0 : random_numbers()() % rank);
    Sizes dims;
    for (size_t dim = 0; dim < rank; ++dim)
      if (random_numbers()() % 2 == 0) dims.push_back(static_cast<int64_t>(dim));
    SCOPED_TRACE("call " + std::to_string(i));
    for (const uint32_t dtype : one_of_each_size) expect_turned(random_data(dtype, shape), dims);
  }
}

TEST(CpuRearranging, flips_what_several_threads_share_and_what_is_broadcast) {
  for (const uint32_t dtype : one_of_each_size) {
    expect_turned(random_data(dtype, {300, 1000}), {0, 1});
    expect_turned(random_data(dtype, {301, 3, 333}), {2});
    expect_turned(Data(dtype, {40, 50}, {0, 1}), {0, 1});
    expect_turned(Data(dtype, {40, 50}, {1, 0}), {0});
  }
}

void expect_cut(Data from, int64_t diagonal, bool is_lower) {
  const Sizes& shape = from.shape();
  const int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  Data out(from.dtype(), shape);
  std::memset(out.bytes(), 77, static_cast<size_t>(out.numel()) * itemsize_of(from.dtype()));
  run(is_lower ? "tril" : "triu", {value(from), value(diagonal)}, {&out});
  const char zeros[16] = {};
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t right = i % columns - i / columns % rows;
    const bool stays = is_lower ? right <= diagonal : right >= diagonal;
    ASSERT_EQ(
        std::memcmp(out.address(i), stays ? from.address(i) : zeros, itemsize_of(from.dtype())), 0)
        << "element " << i << ", diagonal " << diagonal;
  }
}

TEST(CpuRearranging, cuts_triangles_like_elements_one_by_one) {
  for (int i = 0; i < 300; ++i) {
    const size_t rank = i % 3 + 2;
    const Sizes shape = random_shape(rank, i % 2 == 0 ? rank - 1 : rank - 2);
    const int64_t diagonals[] = {0, 1, -1, up_to(160) - 80, INT64_MAX, INT64_MIN};
    SCOPED_TRACE("call " + std::to_string(i));
    for (const uint32_t dtype : one_of_each_size)
      for (const bool is_lower : {true, false})
        expect_cut(random_data(dtype, shape), diagonals[random_numbers()() % 6], is_lower);
  }
  expect_cut(random_data(BP_F32, {300, 1000}), -5, true);
  expect_cut(random_data(BP_F32, {3, 100, 100}), 5, false);
  expect_cut(Data(BP_F32, {40, 50}, {0, 1}), 0, true);
}

}  // namespace
