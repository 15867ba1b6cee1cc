// What a zero in a kernel's declaration means.
#include "level_bounds.hpp"

#include <gtest/gtest.h>

namespace bp {
namespace {

constexpr bp_dtype_set all_of_level_1 = (1u << 17) - 1;

TEST(LevelBounds, anything_is_what_the_level_knows) {
  for (const std::uint32_t level : {1u, BP_ABI_LEVEL}) {
    const bp_arg bounded = bounded_by_level({}, level);
    EXPECT_EQ(bounded.dtypes & all_of_level_1, all_of_level_1);
    EXPECT_EQ(bounded.layouts, BP_LAYOUT_STRIDED);
    EXPECT_EQ(bounded.spaces, 1u);
  }
}

// A plugin of a level that is yet to come has been refused what this host does not know; what it says still counts.
TEST(LevelBounds, levels_that_are_none_are_the_nearest) {
  EXPECT_EQ(bounded_by_level({}, 0).dtypes, all_of_level_1);
  EXPECT_EQ(bounded_by_level({}, 99).dtypes, bounded_by_level({}, BP_ABI_LEVEL).dtypes);
}

TEST(LevelBounds, what_is_named_is_left_as_it_is) {
  bp_arg declared{};
  declared.dtypes = bp_dtype_set{1} << BP_DTYPE_OWN;
  declared.layouts = BP_LAYOUT_OWN;
  declared.spaces = 2;
  declared.max_rank = 3;
  const bp_arg bounded = bounded_by_level(declared, 1);
  EXPECT_EQ(bounded.dtypes, declared.dtypes);
  EXPECT_EQ(bounded.layouts, declared.layouts);
  EXPECT_EQ(bounded.spaces, declared.spaces);
  EXPECT_EQ(bounded.max_rank, declared.max_rank);
}

}  // namespace
}  // namespace bp
