// needs: cpu
// Forms that no row describes: what is made of numbers, told as bool, or takes lists.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numbers>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor numbers(const std::vector<double>& values) {
  return tensor(values);
}

std::vector<double> doubles(const Tensor& input) {
  return to_vector<double>(to(input, f64));
}

TEST(Forms, eye_has_ones_where_both_indices_are_equal) {
  for (const auto& [n, m] : {std::pair{3, 5}, {5, 3}, {4, 4}, {0, 2}}) {
    const Tensor made = eye(n, m, i32);
    EXPECT_EQ(made.shape(), (Dims{n, m}));
    const std::vector<std::int32_t> values = to_vector<std::int32_t>(made);
    for (int row = 0; row < n; ++row)
      for (int column = 0; column < m; ++column)
        EXPECT_EQ(values[static_cast<std::size_t>(row * m + column)], row == column);
  }
  EXPECT_EQ(eye(3).shape(), (Dims{3, 3}));
  EXPECT_EQ(error_of([] { eye(-1); }), "eye: -1 rows and -1 columns; pass 0 or more");
}

TEST(Forms, arange_of_one_number_counts_from_0) {
  EXPECT_EQ(to_vector<std::int64_t>(arange(3)), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(doubles(arange(2.5, {.dtype = f64})), (std::vector<double>{0, 1, 2}));
}

TEST(Forms, random_numbers_are_like_the_input_unless_told_otherwise) {
  const Tensor like = zeros({2, 3}, {.dtype = f64});
  Generator first(7), second(7);
  EXPECT_EQ(doubles(rand_like(like, {}, &first)), doubles(rand({2, 3}, f64, {}, &second)));
  EXPECT_EQ(doubles(randn_like(like, {}, &first)), doubles(randn({2, 3}, f64, {}, &second)));
  EXPECT_EQ(rand_like(like).dtype(), f64);
  EXPECT_EQ(randn_like(like, {.dtype = f32}).dtype(), f32);
  EXPECT_EQ(error_of([] { rand_like(zeros({2}, {.dtype = i32})); }).substr(0, 10), "rand_like:");
}

TEST(Forms, linspace_begins_and_ends_where_it_is_told) {
  for (const std::int64_t steps : {2, 3, 7, 100}) {
    const std::vector<double> values = doubles(linspace(0.1, 0.7, steps, f64));
    ASSERT_EQ(values.size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(values.front(), 0.1);
    EXPECT_EQ(values.back(), 0.7);
    for (std::size_t i = 1; i < values.size(); ++i)
      EXPECT_NEAR(values[i] - values[i - 1], 0.6 / static_cast<double>(steps - 1), 1e-15);
  }
  EXPECT_EQ(doubles(linspace(3, 9, 1, f64)), std::vector<double>{3});
  EXPECT_EQ(linspace(0, 1, 0).numel(), 0);
  EXPECT_EQ(to_vector<std::int64_t>(linspace(4.3, 8.9, 5, i64)),
            (std::vector<std::int64_t>{4, 5, 6, 7, 8}));
  EXPECT_EQ(to_vector<std::int64_t>(linspace(0, 10, 4, i64)),
            (std::vector<std::int64_t>{0, 3, 6, 10}));
}

TEST(Forms, windows_are_sums_of_cosines) {
  for (const bool periodic : {true, false}) {
    const std::int64_t length = 9;
    const double steps = periodic ? 9 : 8;
    const std::vector<double> hann = doubles(hann_window(length, periodic, f64));
    const std::vector<double> hamming = doubles(hamming_window(length, periodic, 0.6, 0.4, f64));
    const std::vector<double> blackman = doubles(blackman_window(length, periodic, f64));
    for (std::size_t i = 0; i < hann.size(); ++i) {
      const double half = std::sin(std::numbers::pi * static_cast<double>(i) / steps);
      EXPECT_NEAR(hann[i], half * half, 1e-15);
      EXPECT_NEAR(hamming[i], 0.2 + 0.8 * half * half, 1e-15);
      // cos(2x) = 1 - 2 sin(x)^2, and cos(4x) in the same way from sin(2x).
      const double whole = std::sin(2 * std::numbers::pi * static_cast<double>(i) / steps);
      EXPECT_NEAR(blackman[i], half * half - 0.16 * whole * whole, 1e-15);
    }
  }
  EXPECT_EQ(doubles(hann_window(1)), std::vector<double>{1});
  EXPECT_EQ(hann_window(0).numel(), 0);
}

// The values of kaiser are SciPy's, scipy.signal.windows.kaiser(5, 12, sym=...).
TEST(Forms, windows_are_functions_of_their_place) {
  EXPECT_EQ(doubles(bartlett_window(5, false, {.dtype = f64})),
            (std::vector<double>{0, 0.5, 1, 0.5, 0}));
  EXPECT_EQ(doubles(bartlett_window(4, {.dtype = f64})), (std::vector<double>{0, 0.5, 1, 0.5}));
  test::expect_values(
      kaiser_window(5, false, 12, {.dtype = f64}),
      {5.2773441320097665e-05, 0.2156727447589671, 1, 0.2156727447589671, 5.2773441320097665e-05});
  test::expect_values(kaiser_window(5, {.dtype = f64}),
                      {5.2773441320097665e-05, 0.10171968770956323, 0.7929398341014605,
                       0.7929398341014605, 0.10171968770956323});
  EXPECT_EQ(doubles(kaiser_window(1)), std::vector<double>{1});
  EXPECT_EQ(bartlett_window(0).numel(), 0);
  EXPECT_EQ(doubles(logspace(0, 2, 3, {.dtype = f64})), (std::vector<double>{1, 10, 100}));
  EXPECT_EQ(to_vector<std::int64_t>(logspace(0, 4, 5, 2, {.dtype = i64})),
            (std::vector<std::int64_t>{1, 2, 4, 8, 16}));
  const Tensor drawn = randint_like(zeros({64}, {.dtype = i32}), 3, 5);
  EXPECT_EQ(drawn.dtype(), i32);
  EXPECT_TRUE(equal(clamp(drawn, 3, 4), drawn));
  EXPECT_TRUE(equal(randint_like(zeros({64}), 1), zeros({64})));
}

TEST(Forms, equal_and_allclose_say_it_of_all) {
  const Tensor some = numbers({1, 2, nan});
  EXPECT_TRUE(equal(numbers({1, 2}), numbers({1, 2})));
  EXPECT_FALSE(equal(numbers({1, 2}), numbers({1, 3})));
  EXPECT_FALSE(equal(numbers({1, 2}), reshape(numbers({1, 2}), {2, 1})));
  EXPECT_TRUE(equal(numbers({1, 2}), to(numbers({1, 2}), i64)));
  EXPECT_FALSE(equal(some, some));
  EXPECT_TRUE(allclose(numbers({1, 100}), numbers({1 + 1e-9, 100.0005})));
  EXPECT_FALSE(allclose(numbers({1, 100}), numbers({1, 100.01})));
  EXPECT_FALSE(allclose(some, some));
  EXPECT_TRUE(allclose(some, some, 1e-5, 1e-8, true));
  EXPECT_TRUE(equal(numbers({}), numbers({})));
}

TEST(Forms, fill_with_a_number_on_the_device_and_its_derivative) {
  const Tensor input = tensor({{1.0, 2.0}, {3.0, 4.0}}), value = tensor(7.0);
  const Tensor mask = tensor({{true, false}, {true, true}});
  set_requires_grad(value);
  EXPECT_TRUE(equal(masked_fill(input, mask, value), tensor({{7.0, 2.0}, {7.0, 7.0}})));
  EXPECT_TRUE(equal(index_fill(input, 1, tensor({-1}), value), tensor({{1.0, 7.0}, {3.0, 7.0}})));
  EXPECT_EQ(item<double>(autograd::grad({sum(masked_fill(input, mask, value))}, {value})[0]), 3);
  EXPECT_EQ(
      item<double>(autograd::grad({sum(index_fill(input, 1, tensor({0}), value))}, {value})[0]), 2);
  EXPECT_EQ(error_of([&] {
              masked_fill(input, mask, numbers({1, 2}));
            }),
            "masked_fill: the value has shape [2]; pass a number or a 0-dim tensor");
}

TEST(Forms, running_products_leave_the_range_where_they_do_alone) {
  const Tensor ends_small = tensor(std::vector<double>{1e-200, 1e200, 1e200});
  EXPECT_EQ(doubles(cumprod(ends_small, 0)), (std::vector<double>{1e-200, 1, 1e200}));
  EXPECT_TRUE(std::isnan(doubles(cumprod(numbers({2, 1e200, 1e200, 0}), 0))[3]));
}

TEST(Forms, grid_sample_takes_a_place_that_is_none) {
  const Tensor image = ones({1, 1, 2, 2}, f64), grid = full({1, 1, 1, 2}, nan, f64);
  EXPECT_TRUE(std::isnan(doubles(grid_sample(image, grid))[0]));
  EXPECT_EQ(doubles(grid_sample(image, grid, "nearest"))[0], 0);
  EXPECT_EQ(doubles(grid_sample(image, grid, "bilinear", "border"))[0], 1);
}

// One row of four elements, read at numbers of elements.
std::vector<double> sampled(const std::vector<double>& elements, const char* mode,
                            const char* padding, bool align_corners) {
  std::vector<double> grid;
  for (const double element : elements) {
    grid.push_back(align_corners ? element / 1.5 - 1 : (2 * element + 1) / 4 - 1);
    grid.push_back(align_corners ? -1 : 0);
  }
  const Tensor image = reshape(numbers({10, 20, 30, 40}), {1, 1, 1, 4});
  const auto count = static_cast<std::int64_t>(elements.size());
  const Tensor places = reshape(numbers(grid), {1, 1, count, 2});
  std::vector<double> values = doubles(grid_sample(image, places, mode, padding, align_corners));
  for (double& value : values) value = std::round(value * 1e9) / 1e9;
  return values;
}

TEST(Forms, grid_sample_reflects_at_centers_or_at_edges) {
  using Values = std::vector<double>;
  const Values elements{-0.25, -1, -2, 4, 5, 7};
  EXPECT_EQ(sampled(elements, "bilinear", "reflection", true), (Values{12.5, 20, 30, 30, 20, 20}));
  EXPECT_EQ(sampled(elements, "bilinear", "reflection", false), (Values{10, 10, 20, 40, 30, 10}));
  EXPECT_EQ(sampled({-0.8, 3.9, 6.2}, "nearest", "reflection", true), (Values{20, 30, 10}));
  EXPECT_EQ(sampled({-0.8, 3.9, 6.2}, "nearest", "reflection", false), (Values{10, 40, 20}));
}

TEST(Forms, grid_sample_takes_cubics_of_sixteen_elements) {
  using Values = std::vector<double>;
  EXPECT_EQ(sampled({1.5, 0.5}, "bicubic", "zeros", true), (Values{25, 15}));
  EXPECT_EQ(sampled({1.5, 0.5}, "bicubic", "border", true), (Values{25, 14.0625}));
  EXPECT_EQ(sampled({1.5, 0.5}, "bicubic", "reflection", true), (Values{25, 13.125}));
  EXPECT_EQ(error_of([] {
              grid_sample(ones({1, 1, 2, 2}), zeros({1, 1, 1, 2}), "cubic");
            }),
            "grid_sample: the mode is 'cubic'; choose 'bilinear', 'nearest' or 'bicubic'");
  EXPECT_EQ(error_of([] {
              grid_sample(ones({1, 1, 2, 2}), zeros({1, 1, 1, 2}), "nearest", "wrap");
            }),
            "grid_sample: the padding is 'wrap'; choose 'zeros', 'border' or 'reflection'");
}

TEST(Forms, grid_sample_takes_volumes) {
  using Values = std::vector<double>;
  const Tensor volume = reshape(arange(0, 8, 1, {.dtype = f64}), {1, 1, 2, 2, 2});
  const auto at = [&](double x, double y, double z, std::string_view mode = "bilinear") {
    return doubles(
        grid_sample(volume, reshape(numbers({x, y, z}), {1, 1, 1, 1, 3}), mode, "zeros", true));
  };
  EXPECT_EQ(at(0, 0, 0), Values{3.5});
  EXPECT_EQ(at(1, -1, -1), Values{1});
  EXPECT_EQ(at(-1, 1, -1), Values{2});
  EXPECT_EQ(at(-1, -1, 1), Values{4});
  EXPECT_EQ(at(-1, -1, 2), Values{2});  // halfway out
  EXPECT_EQ(at(0.9, 0.8, -0.7, "nearest"), Values{3});
  EXPECT_EQ(error_of([&] { at(0, 0, 0, "bicubic"); }),
            "grid_sample: the mode 'bicubic' is for images, and input has shape [1, 1, 2, 2, 2]; "
            "choose 'bilinear' or 'nearest'");
}

TEST(Forms, nothing_to_do_is_done_as_pytorch_does_it) {
  EXPECT_TRUE(equal(diff(numbers({1, 2}), 0, -1, numbers({0})), numbers({1, 2})));
  EXPECT_TRUE(equal(histc(numbers({1, 2, 3, 5}), 2, 5, 5), numbers({2, 2})));
  EXPECT_TRUE(equal(histc(numbers({4, 4}), 2), numbers({0, 2})));
  EXPECT_EQ(test::error_of([] {
              histc(numbers({-1e308, 1e308}), 4);
            }),
            "histc: from -1e+308 to 1e+308 is further than float64 reaches; pass closer bounds");
  const Tensor none = zeros({3}, boolean);
  EXPECT_TRUE(equal(masked_scatter(numbers({1, 2, 3}), none, numbers({})), numbers({1, 2, 3})));
  EXPECT_THROW(masked_scatter(numbers({1, 2, 3}), logical_not(none), numbers({})), Error);
  EXPECT_EQ(bincount(tensor({0, 1}), ones({2}, f16)).dtype(), f64);
  EXPECT_EQ(bincount(zeros({0}, i64), zeros({0}, f32)).dtype(), i64);
}

TEST(Forms, argsort_is_the_order_of_sort) {
  const Tensor input = tensor({{3.0, 1.0, 2.0}, {-1.0, 5.0, 0.0}});
  for (const bool falls : {false, true})
    EXPECT_TRUE(equal(gather(input, 1, argsort(input, 1, falls)), sort(input, 1, falls).values));
}

TEST(Forms, unique_names_each_element_once) {
  std::vector<std::int64_t> values;
  std::map<std::int64_t, std::int64_t> counts;
  for (std::int64_t i = 0; i < 40; ++i) ++counts[values.emplace_back(i * i % 7 - 2)];
  const Tensor input = reshape(tensor(values), {5, 8});
  std::vector<std::int64_t> different, times;
  for (const auto& [value, count] : counts) {
    different.push_back(value);
    times.push_back(count);
  }
  EXPECT_EQ(to_vector<std::int64_t>(unique_values(input)), different);
  EXPECT_EQ(to_vector<std::int64_t>(unique_counts(input).counts), times);
  const UniqueInverseResult inverse = unique_inverse(input);
  EXPECT_EQ(inverse.inverse_indices.shape(), input.shape());
  EXPECT_TRUE(equal(index(inverse.values, {inverse.inverse_indices}), input));
  const UniqueAllResult all = unique_all(input);
  EXPECT_TRUE(equal(index_select(reshape(input, {40}), 0, all.indices), all.values));
}

TEST(Forms, median_of_all_is_the_lower_middle) {
  EXPECT_EQ(item<double>(median(numbers({4, 1, 3, 2}))), 2);
  EXPECT_EQ(item<double>(median(reshape(numbers({4, 1, 3, 2, 9, 0}), {2, 3}))), 2);
  EXPECT_TRUE(std::isnan(item<double>(median(numbers({4, nan, 3})))));
  EXPECT_TRUE(std::isnan(item<double>(median(numbers({})))));
  EXPECT_EQ(item<double>(nanmedian(numbers({4, nan, 3}), 0).values), 3);
}

TEST(Forms, quantiles_of_several_parts_stand_along_a_first_dimension) {
  const Tensor input = tensor({{0.0, 10.0, 20.0}, {1.0, 3.0, 5.0}});
  const Tensor found = quantile(input, numbers({0, 0.25, 1}), 1);
  EXPECT_EQ(found.shape(), (Dims{3, 2}));
  EXPECT_EQ(doubles(found), (std::vector<double>{0, 1, 5, 2, 20, 5}));
  EXPECT_EQ(quantile(input, numbers({0.5}), 1, true).shape(), (Dims{1, 2, 1}));
  EXPECT_EQ(error_of([&] { quantile(input, numbers({1.5}), 1); }),
            "quantile: q is 1.5; pass a part from 0 to 1");
}

TEST(Forms, repeats_of_each_slice_are_counted_apart) {
  const Tensor input = tensor({{1, 2}, {3, 4}});
  EXPECT_TRUE(equal(repeat_interleave(input, tensor({0, 2}), 0), tensor({{3, 4}, {3, 4}})));
  EXPECT_TRUE(equal(repeat_interleave(input, tensor({1, 0, 2, 1})), tensor({1, 3, 3, 4})));
  EXPECT_EQ(error_of([&] {
              repeat_interleave(input, tensor({1, -1}), 0);
            }),
            "repeat_interleave: a number of repeats is below 0; pass 0 or more");
  const std::int64_t many = std::int64_t{1} << 62;
  EXPECT_EQ(error_of([&] {
              repeat_interleave(input, tensor({many, many}), 0);
            }),
            "repeat_interleave: 9.22337e+18 slices in all; there is no room for so many");
}

TEST(Forms, tensordot_of_a_number_takes_the_last_dimensions) {
  const Tensor left = reshape(arange(0, 24, 1, f64), {2, 3, 4}),
               right = reshape(arange(0, 60, 1, f64), {3, 4, 5});
  EXPECT_TRUE(
      equal(tensordot(left, right), matmul(reshape(left, {2, 12}), reshape(right, {12, 5}))));
  EXPECT_EQ(tensordot(left, right, 0).shape(), (Dims{2, 3, 4, 3, 4, 5}));
}

TEST(Forms, tensordot_broadcasts_a_size_of_one) {
  const Tensor left = reshape(arange(0, 2, 1, f64), {1, 1, 2}),
               right = reshape(arange(0, 12, 1, f64), {2, 2, 3});
  const Tensor wide = expand(left, {2, 1, 2});
  EXPECT_TRUE(equal(tensordot(left, right, {0}, {1}), tensordot(wide, right, {0}, {1})));
  EXPECT_TRUE(equal(tensordot(right, left, {0, 2}, {1, 0}),
                    matmul(reshape(sum(right, {0, 2}), {2, 1}), reshape(left, {1, 2}))));
}

TEST(Forms, stacks_raise_the_rank_first) {
  const Tensor number = numbers({}), row = numbers({1, 2, 3});
  EXPECT_EQ(atleast_1d(tensor(3.0)).shape(), (Dims{1}));
  EXPECT_EQ(atleast_2d(row).shape(), (Dims{1, 3}));
  EXPECT_EQ(atleast_3d(row).shape(), (Dims{1, 3, 1}));
  EXPECT_TRUE(atleast_1d(row).is_same(row));
  EXPECT_EQ(vstack({row, row}).shape(), (Dims{2, 3}));
  EXPECT_EQ(hstack({row, row}).shape(), (Dims{6}));
  EXPECT_EQ(hstack({atleast_2d(row), atleast_2d(row)}).shape(), (Dims{1, 6}));
  EXPECT_EQ(dstack({row, row}).shape(), (Dims{1, 3, 2}));
  EXPECT_EQ(number.numel(), 0);
}

TEST(Forms, frequencies_are_turns_by_length) {
  for (const std::int64_t n : {1, 4, 5}) {
    const std::vector<double> all = doubles(fftfreq(n, 0.5, f64)),
                              real = doubles(rfftfreq(n, 0.5, f64));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t turns = 2 * i < n ? i : i - n;
      EXPECT_EQ(all[static_cast<std::size_t>(i)],
                static_cast<double>(turns) / (static_cast<double>(n) * 0.5));
    }
    ASSERT_EQ(real.size(), static_cast<std::size_t>(n / 2 + 1));
    for (std::size_t i = 0; i < real.size(); ++i)
      EXPECT_EQ(real[i], static_cast<double>(i) / (static_cast<double>(n) * 0.5));
    // In order, and back.
    const Tensor frequencies = fftfreq(n, 1, f64);
    EXPECT_TRUE(equal(fftshift(frequencies), sort(frequencies).values));
    EXPECT_TRUE(equal(ifftshift(fftshift(frequencies)), frequencies));
  }
  const Tensor matrix = reshape(arange(0, 15, 1, f64), {3, 5});
  EXPECT_TRUE(equal(ifftshift(fftshift(matrix, {1}), {-1}), matrix));
  EXPECT_TRUE(equal(fftshift(matrix), roll(matrix, {1, 2}, {0, 1})));
}

}  // namespace
}  // namespace bp
