// needs: cpu reference
// Pools against loops in float64 over each window, and what PyTorch prints.
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

// One pool over pictures.
struct Pool {
  std::int64_t size[2], kernel[2], stride[2], padding[2], dilation[2];
  bool ceil_mode, with_padding;
  std::int64_t divisor;  // 0: none

  // As PyTorch documents it: a window must begin inside, or in the padding before.
  std::int64_t windows(int d) const {
    std::int64_t count = 0;
    for (std::int64_t begin = -padding[d]; begin < size[d] + padding[d]; begin += stride[d]) {
      const std::int64_t end = begin + dilation[d] * (kernel[d] - 1) + 1;
      const bool fits = end <= size[d] + padding[d];
      if (fits || (ceil_mode && begin < size[d] && end - stride[d] < size[d] + padding[d])) ++count;
    }
    return count;
  }
};

constexpr Pool pools[] = {
    {{6, 8}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, true, 0},
    {{7, 9}, {3, 2}, {2, 1}, {1, 1}, {1, 1}, false, true, 0},
    {{7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true, false, 0},
    {{8, 6}, {3, 3}, {2, 3}, {0, 1}, {1, 1}, true, true, 0},
    {{5, 5}, {2, 3}, {3, 2}, {1, 0}, {1, 1}, true, false, 7},
    {{9, 7}, {3, 2}, {1, 2}, {2, 1}, {2, 3}, false, true, 0},
    {{12, 12}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false, true, 0},
};
constexpr std::int64_t batch_size = 2, num_channels = 3;

std::vector<double> waves(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(1.0 + 2.3 * static_cast<double>(i));
  return values;
}

// Calls body(plane's first element, window's number, coordinates inside) for each window.
template <class Body> void for_each_window(const Pool& p, const Body& body) {
  const std::int64_t rows = p.windows(0), columns = p.windows(1);
  for (std::int64_t plane = 0; plane < batch_size * num_channels; ++plane)
    for (std::int64_t window = 0; window < rows * columns; ++window) {
      std::vector<std::int64_t> inside;
      std::int64_t with_padding = 0;
      const std::int64_t top = window / columns * p.stride[0] - p.padding[0];
      const std::int64_t left = window % columns * p.stride[1] - p.padding[1];
      for (std::int64_t i = 0; i < p.kernel[0]; ++i)
        for (std::int64_t j = 0; j < p.kernel[1]; ++j) {
          const std::int64_t row = top + i * p.dilation[0], column = left + j * p.dilation[1];
          with_padding += row < p.size[0] + p.padding[0] && column < p.size[1] + p.padding[1];
          if (row >= 0 && row < p.size[0] && column >= 0 && column < p.size[1])
            inside.push_back(row * p.size[1] + column);
        }
      body(plane, plane * rows * columns + window, inside, with_padding);
    }
}

void expect_all_near(const Tensor& actual, const std::vector<double>& expected, double room,
                     const char* what) {
  const std::vector<double> values = to_vector<double>(to(cpu(actual), f64));
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], room) << what << " element " << i;
}

struct Expected {
  std::vector<double> values, gradient;
  std::vector<std::int64_t> places;
};

Expected largest(const Pool& p, const std::vector<double>& a, const std::vector<double>& upstream) {
  Expected expected{{}, std::vector<double>(a.size()), {}};
  for_each_window(p, [&](std::int64_t plane, std::int64_t window, const auto& inside,
                         std::int64_t) {
    const auto first = static_cast<std::size_t>(plane * p.size[0] * p.size[1]);
    std::int64_t best = inside.at(0);
    for (std::int64_t place : inside)
      if (a[first + static_cast<std::size_t>(place)] > a[first + static_cast<std::size_t>(best)])
        best = place;
    expected.values.push_back(a[first + static_cast<std::size_t>(best)]);
    expected.places.push_back(best);
    expected.gradient[first + static_cast<std::size_t>(best)] +=
        upstream[static_cast<std::size_t>(window)];
  });
  return expected;
}

Expected means(const Pool& p, const std::vector<double>& a, const std::vector<double>& upstream) {
  Expected expected{{}, std::vector<double>(a.size()), {}};
  for_each_window(p, [&](std::int64_t plane, std::int64_t window, const auto& inside,
                         std::int64_t with_padding) {
    const auto first = static_cast<std::size_t>(plane * p.size[0] * p.size[1]);
    const double count = static_cast<double>(p.divisor        ? p.divisor
                                             : p.with_padding ? with_padding
                                                              : std::int64_t(inside.size()));
    double total = 0;
    for (std::int64_t place : inside) {
      total += a[first + static_cast<std::size_t>(place)] / count;
      expected.gradient[first + static_cast<std::size_t>(place)] +=
          upstream[static_cast<std::size_t>(window)] / count;
    }
    expected.values.push_back(total);
  });
  return expected;
}

Tensor pictures(const Pool& p, Device where, Dtype dtype) {
  std::vector<double> values =
      waves(static_cast<std::size_t>(batch_size * num_channels * p.size[0] * p.size[1]));
  return to(clone(from_blob(values.data(), {batch_size, num_channels, p.size[0], p.size[1]}, f64)),
            where, dtype);
}

void expect_pools_right(Device where, Dtype dtype, MemoryFormat format, double room) {
  for (const Pool& p : pools) {
    const Tensor a = contiguous(pictures(p, where, dtype), format);
    const std::vector<double> values =
        waves(static_cast<std::size_t>(batch_size * num_channels * p.size[0] * p.size[1]));
    const Dims shape{batch_size, num_channels, p.windows(0), p.windows(1)};
    std::vector<double> upstream =
        waves(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
    const Tensor weights = to(clone(from_blob(upstream.data(), shape, f64)), where, dtype);
    set_requires_grad(a);

    const auto max = max_pool_with_indices(a, {p.kernel, 2}, {p.stride, 2}, {p.padding, 2},
                                           {p.dilation, 2}, p.ceil_mode);
    const Expected best = largest(p, values, upstream);
    ASSERT_EQ(to_string(max.values.shape()), to_string(shape));
    expect_all_near(max.values, best.values, room, "maxima");
    EXPECT_EQ(to_vector<std::int64_t>(cpu(max.indices)), best.places);
    expect_all_near(autograd::grad({max.values}, {a}, {weights})[0], best.gradient, room,
                    "gradient of maxima");
    if (p.dilation[0] != 1) continue;
    const std::optional<std::int64_t> divisor = p.divisor ? std::optional(p.divisor) : std::nullopt;
    const Tensor mean = avg_pool2d(a, {p.kernel, 2}, {p.stride, 2}, {p.padding, 2}, p.ceil_mode,
                                   p.with_padding, divisor);
    const Expected average = means(p, values, upstream);
    ASSERT_EQ(to_string(mean.shape()), to_string(shape));
    expect_all_near(mean, average.values, room, "means");
    expect_all_near(autograd::grad({mean}, {a}, {weights})[0], average.gradient, room,
                    "gradient of means");
  }
}

TEST(Pooling, matches_loops_on_the_cpu) {
  expect_pools_right(device("cpu"), f64, MemoryFormat::contiguous, 1e-12);
  expect_pools_right(device("cpu"), f32, MemoryFormat::contiguous, 1e-5);
  expect_pools_right(device("cpu"), f32, MemoryFormat::channels_last, 1e-5);
}

TEST(Pooling, matches_loops_on_the_reference_device) {
  expect_pools_right(device("reference:0"), f64, MemoryFormat::contiguous, 1e-12);
}

// begin = floor(i * size / n), end = ceil((i + 1) * size / n).
TEST(Pooling, adapts_windows_that_cover_unequal_parts) {
  std::vector<double> values = waves(2 * 3 * 7 * 10);
  const Tensor a = set_requires_grad(clone(from_blob(values.data(), {2, 3, 7, 10}, f64)));
  for (const auto& [rows, columns] : {std::pair{3, 4}, {7, 5}, {1, 1}, {9, 3}}) {
    std::vector<double> best, average;
    std::vector<std::int64_t> places;
    for (int plane = 0; plane < 6; ++plane)
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
          double total = 0, most = -2;
          int count = 0, where = 0;
          for (int y = r * 7 / rows; y < ((r + 1) * 7 + rows - 1) / rows; ++y)
            for (int x = c * 10 / columns; x < ((c + 1) * 10 + columns - 1) / columns; ++x) {
              const double value = values[static_cast<std::size_t>(plane * 70 + y * 10 + x)];
              total += value;
              ++count;
              if (value > most) most = value, where = y * 10 + x;
            }
          best.push_back(most);
          places.push_back(where);
          average.push_back(total / count);
        }
    const auto max = adaptive_max_pool_with_indices(a, {rows, columns});
    expect_all_near(max.values, best, 0, "adaptive maxima");
    EXPECT_EQ(to_vector<std::int64_t>(max.indices), places);
    const Tensor mean = adaptive_avg_pool2d(a, {rows, columns});
    expect_all_near(mean, average, 1e-12, "adaptive means");
    // Each mean gives its windows 1 in all.
    EXPECT_NEAR(item<double>(sum(autograd::grad({sum(mean)}, {a})[0])), 6.0 * rows * columns, 1e-9);
  }
}

TEST(Pooling, means_of_whole_numbers_are_cut_off_towards_0) {
  const Tensor line = reshape(tensor({7, 2, -7, -2, 5, 5}), {1, 6});
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(to_vector<std::int64_t>(avg_pool1d(line, {2})), (Numbers{4, -4, 5}));
  EXPECT_EQ(to_vector<std::int64_t>(avg_pool1d(line, {3}, {3}, {1}, false, false)),
            (Numbers{4, -1}));
  const Tensor volume = reshape(line, {1, 1, 1, 6});
  EXPECT_EQ(to_vector<std::int64_t>(
                avg_pool3d(reshape(line, {1, 1, 1, 1, 6}), {1, 1, 2}, {}, {0}, false, true, 4)),
            (Numbers{2, -2, 2}));
  EXPECT_EQ(to_vector<std::int64_t>(avg_pool2d(volume, {1, 6})), (Numbers{1}));
}

TEST(Pooling, takes_lines_and_volumes_and_no_batch) {
  const Tensor line = reshape(arange(0, 10, 1, f32), {1, 10});
  EXPECT_EQ(to_vector<float>(max_pool1d(line, {3})), (std::vector<float>{2, 5, 8}));
  EXPECT_EQ(to_vector<float>(avg_pool1d(line, {4}, {3}, {1})),
            (std::vector<float>{0.75f, 3.5f, 6.5f}));
  EXPECT_EQ(to_vector<float>(adaptive_avg_pool1d(line, {3})),
            (std::vector<float>{1.5f, 4.5f, 7.5f}));
  EXPECT_EQ(to_vector<float>(adaptive_max_pool1d(line, {3})), (std::vector<float>{3, 6, 9}));
  const Tensor volume = reshape(arange(0, 64, 1, f32), {1, 1, 4, 4, 4});
  EXPECT_EQ(to_vector<float>(max_pool3d(volume, {2})),
            (std::vector<float>{21, 23, 29, 31, 53, 55, 61, 63}));
  EXPECT_EQ(to_vector<float>(avg_pool3d(volume, {4})), (std::vector<float>{31.5f}));
  EXPECT_EQ(max_pool2d(zeros({0, 3, 4, 4}), {2}).shape(), (IntList{0, 3, 2, 2}));
}

TEST(Pooling, spreads_nan_and_finds_minus_infinity_inside) {
  const float nan = std::nanf(""), low = -INFINITY;
  const auto result = max_pool_with_indices(
      reshape(tensor({1.0f, nan, 3.0f, low, low, low}), {1, 1, 6}), {2}, {2}, {1});
  const std::vector<float> values = to_vector<float>(result.values);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], low);
  EXPECT_EQ(to_vector<std::int64_t>(result.indices), (std::vector<std::int64_t>{0, 1, 3, 5}));
}

// A dilation that steps over all that there is.
TEST(Pooling, gives_the_lowest_number_where_a_window_has_padding_alone) {
  for (const char* name :
       {"cpu", "reference:0", "reference_primitives:0", "reference_compiler:0"}) {
    const Device where = device(name);
    for (const Dtype dtype : {f32, f64, i32, u8}) {
      const Tensor a = reshape(arange(1, 9, 1, dtype), {1, 2, 4, 1});
      const auto alone = max_pool_with_indices(to(a, where), {3, 2}, {3, 1}, {0, 1}, {1, 2});
      const double low = dtype == i32 ? -2147483648.0 : dtype == u8 ? 0.0 : -INFINITY;
      EXPECT_EQ(to_vector<double>(to(cpu(alone.values), f64)), (std::vector<double>{low, low}));
      EXPECT_EQ(to_vector<std::int64_t>(cpu(alone.indices)), (std::vector<std::int64_t>{0, 0}));
    }
  }
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Pooling, says_what_does_not_fit) {
  const Tensor a = zeros({1, 2, 5, 5});
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(refusal_of([&] { max_pool2d(a, {2}, {1}, {2}); }), "padding is 2 in dimension 0");
  says(refusal_of([&] { max_pool2d(a, {6}); }),
       "reaches over 6 elements and the padded input has 5");
  says(refusal_of([&] { avg_pool2d(a, {2}, {0}); }), "stride [0]");
  says(refusal_of([&] { avg_pool2d(a, {2, 2, 2}); }), "3 elements for 2");
  says(refusal_of([&] { avg_pool2d(a, {2}, {}, {0}, false, true, 0); }), "divisor_override is 0");
  says(refusal_of([&] { max_pool1d(a, {2}); }), "rank 4");
  says(refusal_of([&] { adaptive_avg_pool2d(a, {-1}); }), "output_size [-1]");
  says(refusal_of([&] { max_pool2d(zeros({1, 2, 5, 5}, complex64), {2}); }), "complex64");
}

}  // namespace
}  // namespace bp
