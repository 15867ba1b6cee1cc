#include <gtest/gtest.h>
#include <vector>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/shape.hpp>

namespace bp {
namespace {

constexpr std::int64_t too_long = std::int64_t{1} << 62;

TEST(shape, multiplies_its_sizes) {
  EXPECT_EQ(checked_numel("op", {}), 1);
  EXPECT_EQ(checked_numel("op", {2, 3}), 6);
  EXPECT_EQ(checked_numel("op", {2, 0}), 0);
  EXPECT_EQ(checked_numel("op", {too_long, 4, 0}), 0);
  EXPECT_EQ(checked_numel("op", {0, 4, too_long}), 0);
  EXPECT_THROW(checked_numel("op", {too_long, 2}), Error);
  EXPECT_THROW(checked_numel("op", {0, -1}), Error);
}

TEST(shape, has_row_major_strides) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), Dims({12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Dims());
  EXPECT_EQ(contiguous_strides({2, 0, 3}), Dims({3, 3, 1}));
}

TEST(shape, broadcasts_like_pytorch) {
  EXPECT_EQ(broadcast_shapes("op", {2, 1, 4}, {3, 1}), Dims({2, 3, 4}));
  EXPECT_EQ(broadcast_shapes("op", {}, {5}), Dims({5}));
  EXPECT_EQ(broadcast_shapes("op", {1}, {0}), Dims({0}));
  EXPECT_EQ(broadcast_shapes("op", {3, 1}, {2, 1, 4}), Dims({2, 3, 4}));
  EXPECT_THROW(broadcast_shapes("op", {2}, {0}), Error);
}

TEST(shape, says_which_dimension_does_not_broadcast) {
  try {
    broadcast_shapes("add", {2, 3}, {4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "add: shapes [2, 3] and [4] do not broadcast (dimension 1: 3 against 4); make the "
                 "sizes equal, or one of them 1");
  }
}

TEST(shape, wraps_dimensions_from_the_end) {
  EXPECT_EQ(wrap_dim("op", -1, 3), 2);
  EXPECT_EQ(wrap_dim("op", 2, 3), 2);
  EXPECT_EQ(wrap_dim("op", 0, 0), 0);
  EXPECT_EQ(wrap_dim("op", -1, 0), 0);
  EXPECT_THROW(wrap_dim("op", 3, 3), Error);
  EXPECT_THROW(wrap_dim("op", -4, 3), Error);
  EXPECT_THROW(wrap_dim("op", 1, 0), Error);
}

TEST(shape, list_inserts_and_erases) {
  Dims dims{1, 2, 3};
  dims.insert(1, 9);
  EXPECT_EQ(dims, Dims({1, 9, 2, 3}));
  dims.erase(0);
  EXPECT_EQ(dims, Dims({9, 2, 3}));
  dims.push_back(4);
  EXPECT_EQ(dims.back(), 4);
}

TEST(shape, list_throws_rather_than_overflow) {
  const std::vector<std::int64_t> long_list(max_rank + 1, 1);
  EXPECT_THROW(Dims{IntList(long_list)}, Error);
  EXPECT_THROW(check_rank("op", max_rank + 1), Error);
  Dims full(max_rank, 1);
  EXPECT_THROW(full.push_back(1), Error);
  EXPECT_THROW(full.insert(0, 1), Error);
  EXPECT_EQ(full.size(), static_cast<std::size_t>(max_rank));
}

TEST(shape, is_written_as_in_python) {
  EXPECT_EQ(to_string({2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(IntList{}), "[]");
}

}  // namespace
}  // namespace bp
