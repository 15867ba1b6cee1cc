// needs: cpu
// Gradients of norms whose rows cancel to nothing, and norms of bf16 beside those of f32; for each instruction set. tests/core_ops compares
// all rows with float64.
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test {
namespace {

// A row of one element is its own mean, whatever it is multiplied by: no rounding may be left of it, which rstd enlarges.
TEST(Norm, one_element_has_no_gradient) {
  for_each_target([](const std::string& target) {
    for (const uint32_t dtype : {uint32_t{BP_F32}, uint32_t{BP_F64}})
      for (int i = 1; i < 200; ++i) {
        const auto filled = [&](double number) {
          Data data(dtype, {1});
          set_number(data, dtype, 0, number);
          return data;
        };
        Data grad = filled(1.0 / i), input = filled(-4.3228 * i), mean = filled(-4.3228 * i);
        Data rstd = filled(316.2), weight = filled(-8.4784 / i), out = filled(1);
        run("norm_backward",
            {value(grad), value(input), value(Sizes{1}), value(mean), value(rstd), value(weight)},
            {&out});
        EXPECT_EQ(get_number(out, dtype, 0), 0) << target << ", " << i;
      }
  });
}

Data noise(uint32_t dtype, const Sizes& shape, double shift, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(shift, 2);
  Data data(dtype, shape);
  for (int64_t i = 0; i < data.numel(); ++i) set_number(data, dtype, i, normal(random));
  return data;
}
Data in_f32(Data& narrow) {
  Data wide(BP_F32, narrow.shape());
  for (int64_t i = 0; i < wide.numel(); ++i)
    wide.at<float>(i) = static_cast<float>(get_number(narrow, BP_BF16, i));
  return wide;
}

// The same as of f32, rounded once, whatever the rows' length and whether a place is written over.
TEST(Norm, of_bf16_rounds_the_result_of_f32) {
  for_each_target([](const std::string& target) {
    for (const int64_t count : {1, 2, 7, 15, 16, 17, 33, 64, 100, 1000, 4099})
      for (const bool has_mean : {true, false}) {
        constexpr int64_t rows = 5;
        const Sizes shape = {rows, count}, normal = {count};
        Data a = noise(BP_BF16, shape, 3, 1), weight = noise(BP_BF16, normal, 1, 2),
             bias = noise(BP_BF16, normal, 0, 3);
        set_number(a, BP_BF16, 2 * count + count / 2, std::nan(""));
        set_number(a, BP_BF16, 3 * count + count / 3, INFINITY);
        Data wide = in_f32(a), wide_weight = in_f32(weight), wide_bias = in_f32(bias);
        Data out(BP_BF16, shape), wide_out(BP_F32, shape);
        Data mean(BP_F32, {rows, 1}), wide_mean(BP_F32, {rows, 1}), rstd(BP_F32, {rows, 1}),
            wide_rstd(BP_F32, {rows, 1});
        for (Data* result : {&out, &a}) {
          if (has_mean) {
            run("native_layer_norm",
                {value(a), value(normal), value(weight), value(bias), value(1e-5)},
                {result, &mean, &rstd});
            run("native_layer_norm",
                {value(wide), value(normal), value(wide_weight), value(wide_bias), value(1e-5)},
                {&wide_out, &wide_mean, &wide_rstd});
          } else {
            run("native_rms_norm", {value(a), value(normal), value(weight), value(1e-5)},
                {result, &rstd});
            run("native_rms_norm", {value(wide), value(normal), value(wide_weight), value(1e-5)},
                {&wide_out, &wide_rstd});
          }
          for (int64_t i = 0; i < rows * count; ++i) {
            const double made = get_number(*result, BP_BF16, i);
            const auto wanted = static_cast<double>(wide_bf16(nearest_bf16(wide_out.at<float>(i))));
            ASSERT_TRUE(made == wanted || (std::isnan(made) && std::isnan(wanted)))
                << target << ", " << count << " numbers, element " << i << " is " << made
                << ", not " << wanted;
          }
          for (int64_t row : {0, 1, 4}) {
            EXPECT_EQ(rstd.at<float>(row), wide_rstd.at<float>(row)) << target << count;
            if (has_mean) {
              EXPECT_EQ(mean.at<float>(row), wide_mean.at<float>(row)) << target << count;
            }
          }
        }
      }
  });
}

}  // namespace
}  // namespace bp_test
