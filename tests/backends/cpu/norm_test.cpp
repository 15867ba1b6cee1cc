// needs: cpu
// Gradients of norms whose rows cancel to nothing; for each instruction set. tests/core_ops compares all rows with float64.
#include <gtest/gtest.h>
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

}  // namespace
}  // namespace bp_test
