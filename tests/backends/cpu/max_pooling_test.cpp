// needs: cpu
// max_pool_with_indices against a loop over each window, with each instruction set: rows shorter and longer than vectors, windows
// that hang over edges, any layout, ties, infinities and NaN.
#include <cmath>
#include <limits>
#include <random>

#include "targets.hpp"

namespace {

using namespace bp_test;

struct Pool {
  Sizes shape;  // batch, channels, height, width
  int64_t kernel[2], stride[2], padding[2], dilation[2];

  int64_t count(int dim) const {
    return (shape[2 + static_cast<size_t>(dim)] + 2 * padding[dim] -
            dilation[dim] * (kernel[dim] - 1) - 1) /
               stride[dim] +
           1;
  }
};

struct Best {
  double value = -std::numeric_limits<double>::infinity();
  int64_t place = 0;
};

// Of one window.
template <class T> Best best_of(const Pool& p, Data& a, int64_t plane, int64_t y, int64_t x) {
  Best best;
  bool is_first = true;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      const int64_t row = y * p.stride[0] - p.padding[0] + i * p.dilation[0];
      const int64_t column = x * p.stride[1] - p.padding[1] + j * p.dilation[1];
      if (row < 0 || row >= p.shape[2] || column < 0 || column >= p.shape[3]) continue;
      const int64_t place = row * p.shape[3] + column;
      const double value = static_cast<double>(a.at<T>(plane * p.shape[2] * p.shape[3] + place));
      const bool taken = is_first || (!std::isnan(best.value) && !(value <= best.value));
      if (taken) best = {value, place};
      is_first = false;
    }
  return best;
}

template <class T> void expect_right(const Pool& p, Data& a, Data values, Data places) {
  run("max_pool_with_indices",
      {value(a), value(Sizes(p.kernel, p.kernel + 2)), value(Sizes(p.stride, p.stride + 2)),
       value(Sizes(p.padding, p.padding + 2)), value(Sizes(p.dilation, p.dilation + 2)),
       value(false)},
      {&values, &places});
  int64_t at = 0;
  for (int64_t plane = 0; plane < p.shape[0] * p.shape[1]; ++plane)
    for (int64_t y = 0; y < p.count(0); ++y)
      for (int64_t x = 0; x < p.count(1); ++x, ++at) {
        const Best best = best_of<T>(p, a, plane, y, x);
        const auto found = static_cast<double>(values.at<T>(at));
        ASSERT_TRUE(found == best.value || (std::isnan(found) && std::isnan(best.value)))
            << "element " << at << ": " << found << " is not " << best.value;
        ASSERT_EQ(places.at<int64_t>(at), best.place) << "element " << at;
      }
}

// Few values, so that many are equal; some windows have infinities or NaN alone.
template <class T> void fill(Data& a, std::mt19937& random) {
  const T special[] = {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::infinity(), T(-0.0)};
  for (int64_t i = 0; i < a.numel(); ++i)
    a.at<T>(i) = random() % 16 == 0 ? special[random() % 4] : static_cast<T>(random() % 9) - 4;
}

template <class T> void expect_all_layouts(const Pool& p, uint32_t dtype, std::mt19937& random) {
  const Sizes out{p.shape[0], p.shape[1], p.count(0), p.count(1)};
  const auto by_channels = [](uint32_t type, const Sizes& of) {
    return Data(type, {of[0], of[2], of[3], of[1]}).permuted({0, 3, 1, 2});
  };
  Data rows(dtype, p.shape), channels = by_channels(dtype, p.shape);
  Data turned =
      Data(dtype, {p.shape[0], p.shape[1], p.shape[3], p.shape[2]}).permuted({0, 1, 3, 2});
  for (Data* a : {&rows, &channels, &turned}) {
    fill<T>(*a, random);
    expect_right<T>(p, *a, Data(dtype, out), Data(BP_I64, out));
    expect_right<T>(p, *a, by_channels(dtype, out), by_channels(BP_I64, out));
  }
}

TEST(CpuMaxPooling, matches_a_loop_over_each_window_with_each_instruction_set) {
  for_each_target([](const std::string& name) {
    std::mt19937 random(7);
    const auto upto = [&](int64_t most) { return static_cast<int64_t>(random()) % most + 1; };
    for (int i = 0; i < 80; ++i) {
      // Rows of up to 400 windows are longer than what is taken at once, and 300 channels as well.
      const bool is_long = i % 10 == 0, is_deep = i % 10 == 1;
      Pool p{{upto(2), is_deep ? 300 : upto(20), upto(is_deep ? 4 : 12), is_long ? 400 : upto(40)},
             {upto(4), upto(4)},
             {upto(3), upto(3)},
             {0, 0},
             {upto(2), upto(3)}};
      for (int dim = 0; dim < 2; ++dim) p.padding[dim] = random() % (p.kernel[dim] / 2 + 1);
      if (p.count(0) < 1 || p.count(1) < 1) continue;
      SCOPED_TRACE(name + ", pool " + std::to_string(i));
      expect_all_layouts<float>(p, BP_F32, random);
      expect_all_layouts<double>(p, BP_F64, random);
    }
  });
}

}  // namespace
