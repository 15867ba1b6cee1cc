// needs: cpu reference
// Transforms where the pictures are, against the host's.
#include "data/all_transforms.hpp"

namespace bp::test {
namespace {

TEST(TransformsElsewhere, give_what_the_host_gives) {
  const Device elsewhere = device("reference");
  for (const Named& each : all_transforms())
    for (const Dtype dtype : {u8, f64}) {
      if (dtype != u8 && !each.takes_floats) continue;
      const Tensor batch =
          dtype == u8 ? bytes_of_shape({4, 3, 10, 12}) : floats_of_shape({4, 3, 10, 12});
      const Tensor made = applied(*each.transform, to(batch, elsewhere));
      EXPECT_EQ(made.device(), elsewhere) << each.name;
      // A byte may be off by a rounding.
      const double tolerance = dtype == u8 ? 1 : 1e-9;
      EXPECT_TRUE(
          allclose(to(cpu(made), f64), to(applied(*each.transform, batch), f64), 0, tolerance))
          << each.name << " of " << name(dtype);
    }
}

}  // namespace
}  // namespace bp::test
