// needs: cpu
// Rearranging elements, against loops and against what PyTorch 2 gives for the same numbers.
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

Tensor counted(IntList shape, double first = 1) {
  return reshape(arange(first, first + static_cast<double>(checked_numel("test", shape)), 1, f64),
                 shape);
}

void expect_values(const Tensor& a, IntList shape, const std::vector<double>& expected) {
  EXPECT_EQ(to_string(a.shape()), to_string(shape));
  EXPECT_EQ(to_vector<double>(a), expected);
}

TEST(Shape, stack_puts_tensors_along_a_new_dimension) {
  const Tensor a = counted({2, 3});
  expect_values(stack({a, a + 10}, 1), {2, 2, 3}, {1, 2, 3, 11, 12, 13, 4, 5, 6, 14, 15, 16});
  expect_values(stack({a, a + 10}, -1), {2, 3, 2}, {1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16});
  expect_values(stack({tensor(1.0, {f64}), tensor(2.0, {f64})}), {2}, {1, 2});
  EXPECT_EQ(stack({ones({2}, i16), ones({2}, f32)}).dtype(), f32);
}

TEST(Shape, a_constant_pad_begins_with_the_last_dimension_and_may_cut) {
  expect_values(pad(counted({1, 3, 4}), {-1, 2, 1, -2}, "constant", 9), {1, 2, 5},
                {9, 9, 9, 9, 9, 2, 3, 4, 9, 9});
  expect_values(pad(counted({2}), {1, 2}), {5}, {0, 1, 2, 0, 0});
  expect_values(pad(counted({2}), {-3, 4}, "constant", 7), {3}, {7, 7, 7});
  expect_values(pad(zeros({0}, f64), {1, 1}, "constant", 7), {2}, {7, 7});
  const Tensor flags = pad(tensor({true}), {1, 1}, "constant", true);
  EXPECT_EQ(item<std::int64_t>(sum(flags)), 3);
}

TEST(Shape, other_pads_take_elements_from_the_tensor_as_in_pytorch) {
  const Tensor a = counted({3, 4});
  expect_values(pad(a, {2, 1}, "reflect"), {3, 7},
                {3, 2, 1, 2, 3, 4, 3, 7, 6, 5, 6, 7, 8, 7, 11, 10, 9, 10, 11, 12, 11});
  expect_values(pad(a, {2, 1}, "replicate"), {3, 7},
                {1, 1, 1, 2, 3, 4, 4, 5, 5, 5, 6, 7, 8, 8, 9, 9, 9, 10, 11, 12, 12});
  const Tensor line = arange(0, 4, 1, f64);
  EXPECT_TRUE(equal(pad(line, {-1, 2}, "circular"), cast(tensor({1, 2, 3, 1, 2}), f64)));
  EXPECT_TRUE(equal(pad(line, {2, -1}, "circular"), cast(tensor({1, 2, 0, 1, 2}), f64)));
  EXPECT_THROW(pad(line, {-3, 2}, "circular"), Error);
  expect_values(pad(a, {2, 1}, "circular"), {3, 7},
                {3, 4, 1, 2, 3, 4, 1, 7, 8, 5, 6, 7, 8, 5, 11, 12, 9, 10, 11, 12, 9});
  expect_values(pad(a, {1, 2, 2, 1}, "reflect"), {6, 7},
                {10, 9, 10, 11, 12, 11, 10, 6,  5, 6,  7,  8,  7,  6,  2, 1, 2, 3, 4, 3, 2,
                 6,  5, 6,  7,  8,  7,  6,  10, 9, 10, 11, 12, 11, 10, 6, 5, 6, 7, 8, 7, 6});
  expect_values(pad(a, {1, 2, 2, 1}, "circular"), {6, 7},
                {8, 5, 6, 7, 8, 5, 6, 12, 9, 10, 11, 12, 9, 10, 4, 1, 2, 3, 4, 1, 2,
                 8, 5, 6, 7, 8, 5, 6, 12, 9, 10, 11, 12, 9, 10, 4, 1, 2, 3, 4, 1, 2});
  expect_values(pad(counted({4}), {-1, 1}, "reflect"), {4}, {2, 3, 4, 3});
  expect_values(pad(counted({1}), {2, 2}, "replicate"), {5}, {1, 1, 1, 1, 1});
}

TEST(Shape, repeat_tiles_and_adds_dimensions_in_front) {
  const Tensor a = counted({2, 3});
  expect_values(repeat(a, {2, 1, 2}), {2, 2, 6},
                {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expect_values(repeat(transpose(a, 0, 1), {1, 2}), {3, 4}, {1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6});
  expect_values(repeat(a, {0, 1}), {0, 3}, {});
  const Tensor same = repeat(a, {1, 1});
  EXPECT_FALSE(same.shares_storage(a));
  expect_values(same, {2, 3}, {1, 2, 3, 4, 5, 6});
}

TEST(Shape, flip_and_roll_move_elements_within_their_dimensions) {
  expect_values(flip(counted({2, 2, 2}, 0), {0, 2}), {2, 2, 2}, {5, 4, 7, 6, 1, 0, 3, 2});
  const Tensor a = counted({2, 3});
  expect_values(roll(a, {2}), {2, 3}, {5, 6, 1, 2, 3, 4});
  expect_values(roll(a, {1, -1}, {0, 1}), {2, 3}, {5, 6, 4, 2, 3, 1});
  expect_values(roll(a, {-7}, {1}), {2, 3}, {2, 3, 1, 5, 6, 4});
  for (const Tensor& unmoved : {flip(a, {}), roll(a, {6}), roll(a, {3}, {1})}) {
    EXPECT_FALSE(unmoved.shares_storage(a));
    expect_values(unmoved, {2, 3}, {1, 2, 3, 4, 5, 6});
  }
  expect_values(flip(tensor(3.0, {f64}), {0}), {}, {3});
}

TEST(Shape, triangles_are_cut_at_their_diagonal) {
  const std::int64_t num_rows = 4, num_columns = 6;
  const Tensor a = counted({2, num_rows, num_columns});
  for (std::int64_t diagonal = -5; diagonal <= 7; ++diagonal) {
    std::vector<double> low = to_vector<double>(a), high = low;
    for (std::size_t i = 0; i < low.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i) % (num_rows * num_columns);
      const std::int64_t above = place % num_columns - place / num_columns;
      if (above > diagonal) low[i] = 0;
      if (above < diagonal) high[i] = 0;
    }
    expect_values(tril(a, diagonal), a.shape(), low);
    expect_values(triu(a, diagonal), a.shape(), high);
  }
  const Tensor infinite = full({2, 2}, INFINITY, f64);
  expect_values(tril(infinite), {2, 2}, {INFINITY, 0, INFINITY, INFINITY});
  EXPECT_EQ(tril(ones({2, 2}, boolean)).dtype(), boolean);
  EXPECT_EQ(triu(ones({2, 2}, u8)).dtype(), u8);
}

std::vector<std::int64_t> sizes_of(const std::vector<Tensor>& parts, std::int64_t dim) {
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : parts) sizes.push_back(part.size(dim));
  return sizes;
}

TEST(Shape, split_and_chunk_give_views_of_pytorchs_sizes) {
  using Sizes = std::vector<std::int64_t>;
  const Tensor a = counted({2, 7});
  EXPECT_EQ(sizes_of(split(a, 3, 1), 1), (Sizes{3, 3, 1}));
  EXPECT_EQ(sizes_of(split(a, {2, 0, 5}, -1), 1), (Sizes{2, 0, 5}));
  EXPECT_EQ(sizes_of(split(a, {2}), 0), (Sizes{2}));
  EXPECT_EQ(sizes_of(split(zeros({0}), 3), 0), (Sizes{0}));
  EXPECT_EQ(sizes_of(chunk(a, 3, 1), 1), (Sizes{3, 3, 1}));
  EXPECT_EQ(sizes_of(chunk(a, 5, 1), 1), (Sizes{2, 2, 2, 1}));
  EXPECT_EQ(sizes_of(chunk(zeros({0, 2}), 3), 0), (Sizes{0, 0, 0}));
  const std::vector<Tensor> parts = split(a, 3, 1);
  EXPECT_TRUE(parts[1].shares_storage(a));
  expect_values(parts[1], {2, 3}, {4, 5, 6, 11, 12, 13});
}

TEST(Shape, gradients_of_parts_meet_in_the_whole) {
  const Tensor a = counted({6});
  set_requires_grad(a);
  const std::vector<Tensor> parts = chunk(a, 2);
  backward(sum(parts[0] * 2.0) + sum(parts[1] * parts[1]));
  expect_values(grad(a), {6}, {2, 2, 2, 8, 10, 12});
}

TEST(Shape, gradients_of_composites_add_up_over_repetitions) {
  const Tensor a = counted({2});
  set_requires_grad(a);
  const Tensor all = stack({a, a * 3.0});
  backward(sum(repeat(all, {2, 1})) + sum(pad(a, {1, 1}, "replicate")));
  expect_values(grad(a), {2}, {10, 10});
}

std::string problem(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::bad_argument) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Shape, wrong_calls_are_told_both_values) {
  const Tensor a = test::meta({2, 3});
  EXPECT_EQ(problem([&] {
              stack({a, test::meta({3, 2})});
            }),
            "stack: tensor 0 has shape [2, 3] and tensor 1 has shape [3, 2]; all need the same");
  EXPECT_EQ(problem([&] { pad(a, {1}); }),
            "pad: 1 numbers for rank 2; pass two for each padded dimension");
  EXPECT_EQ(problem([&] {
              pad(a, {-2, -2});
            }),
            "pad: -2 and -2 at dimension 1 leave -1 of 3 elements; cut away fewer");
  EXPECT_EQ(problem([&] {
              pad(a, {std::int64_t{1} << 62, std::int64_t{1} << 62});
            }),
            "pad: 4611686018427387904 and 4611686018427387904 beside the 3 elements at dimension 1 "
            "are too many; add fewer");
  EXPECT_EQ(problem([&] {
              pad(a, {3, 0}, "reflect");
            }),
            "pad: 3 elements at dimension 1, of size 3; at most 2 can be had from there");
  EXPECT_EQ(problem([&] {
              pad(a, {3, 0}, "mirror");
            }),
            "pad: the mode is 'mirror'; choose 'constant', 'reflect', 'replicate' or 'circular'");
  EXPECT_EQ(problem([&] {
              pad(a, {1, 0}, "reflect", 2);
            }),
            "pad: mode 'reflect' takes no value, and one was given; leave it out");
  EXPECT_EQ(problem([&] { repeat(a, {2}); }),
            "repeat: 1 numbers for shape [2, 3]; pass at least one for each dimension");
  EXPECT_EQ(problem([&] {
              flip(a, {1, -1});
            }),
            "flip: dimension 1 is twice in [1, -1]; list each once");
  EXPECT_EQ(problem([&] {
              roll(a, {1, 2}, {0});
            }),
            "roll: 2 shifts and 1 dimensions; pass a dimension for each shift");
  EXPECT_EQ(problem([&] { tril(test::meta({3})); }),
            "tril: the shape is [3]; pass a matrix or a batch of them");
  EXPECT_EQ(problem([&] {
              split(a, {1, 1}, 1);
            }),
            "split: the sizes [1, 1] add up to 2 and dimension 1 has 3; make them equal");
  EXPECT_EQ(problem([&] { split(a, 0); }),
            "split: parts of 0 elements of dimension 0, which has 2; pass a positive number");
  EXPECT_EQ(problem([&] { chunk(a, 0); }), "chunk: 0 chunks; pass a positive number");
}

}  // namespace
}  // namespace bp
