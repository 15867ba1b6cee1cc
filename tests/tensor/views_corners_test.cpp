// PyTorch's answers where a rule alone does not give them.
#include <gtest/gtest.h>
#include <limits>

#include <backplane/tensor/views.hpp>

#include "test_storage.hpp"

namespace bp {
namespace {

using test::make_meta_tensor;
using test::make_range;

constexpr auto last_index = std::numeric_limits<std::int64_t>::max();
constexpr auto first_index = std::numeric_limits<std::int64_t>::min();

TEST(views_corners, a_number_has_views) {
  const Tensor number = make_range({});
  EXPECT_EQ(views::view(number, {1, 1}).strides(), Dims({1, 1}));
  EXPECT_EQ(views::view(number, {-1}).shape(), Dims({1}));
  EXPECT_EQ(views::permute(number, {}).ndim(), 0);
  EXPECT_EQ(views::transpose(number, 0, -1).ndim(), 0);
  EXPECT_EQ(views::flatten(number)->shape(), Dims({1}));
  EXPECT_EQ(views::unsqueeze(number, -1).shape(), Dims({1}));
  EXPECT_EQ(views::squeeze(number, {0}).ndim(), 0);
  EXPECT_EQ(views::expand(number, {2, 3}).strides(), Dims({0, 0}));
  EXPECT_EQ(views::unfold(number, 0, 1, 1).shape(), Dims({1}));
  EXPECT_EQ(views::unfold(number, 0, 0, 1).shape(), Dims({0}));
  EXPECT_EQ(views::view(make_range({1, 1}), {}).ndim(), 0);
}

TEST(views_corners, nothing_has_views_of_any_shape_without_elements) {
  const Tensor nothing = make_range({0, 3});
  EXPECT_EQ(views::view(nothing, {5, 0, 2}).shape(), Dims({5, 0, 2}));
  EXPECT_EQ(views::view(nothing, {-1, 3}).shape(), Dims({0, 3}));
  EXPECT_EQ(views::view(nothing, {-1}).shape(), Dims({0}));
  EXPECT_EQ(views::view(views::transpose(nothing, 0, 1), {3, 0}).strides(), Dims({1, 3}));
  EXPECT_EQ(views::flatten(nothing)->shape(), Dims({0}));
}

TEST(views_corners, slices_clamp_any_bounds) {
  const Tensor tensor = make_range({6});
  EXPECT_EQ(views::slice(tensor, 0, first_index, last_index).numel(), 6);
  EXPECT_EQ(views::slice(tensor, 0, 4, 2).numel(), 0);
  EXPECT_EQ(views::slice(tensor, 0, -2).storage_offset(), 4);
  EXPECT_EQ(views::slice(tensor, 0, 1, {}, last_index).numel(), 1);
  EXPECT_EQ(views::slice(tensor, 0, 1, {}, 4).strides(), Dims({4}));
  EXPECT_EQ(views::slice(make_range({0}), 0, 0, 5).numel(), 0);
}

TEST(views_corners, narrow_takes_the_end_of_a_dimension) {
  const Tensor tensor = make_range({3});
  EXPECT_EQ(views::narrow(tensor, 0, 3, 0).numel(), 0);
  EXPECT_EQ(views::narrow(tensor, 0, -1, 1).storage_offset(), 2);
  EXPECT_EQ(views::narrow(make_range({0}), 0, 0, 0).numel(), 0);
}

TEST(views_corners, expand_keeps_strides_where_it_repeats_nothing) {
  const Tensor tensor = make_range({3});
  EXPECT_EQ(views::expand(tensor, {1, 3}).strides(), Dims({3, 1}));
  EXPECT_EQ(views::expand(tensor, {0, 3}).strides(), Dims({0, 1}));
  EXPECT_EQ(views::expand(tensor, {4, -1}).strides(), Dims({0, 1}));
  EXPECT_EQ(views::expand(make_range({1}), {0}).numel(), 0);
}

TEST(views_corners, diagonals_outside_of_the_matrix_are_empty) {
  const Tensor matrix = make_range({3, 4});
  EXPECT_EQ(views::diagonal(matrix, 10).shape(), Dims({0}));
  EXPECT_EQ(views::diagonal(matrix, 10).storage_offset(), 0);
  EXPECT_EQ(views::diagonal(matrix, last_index).numel(), 0);
  EXPECT_EQ(views::diagonal(matrix, first_index).numel(), 0);
  EXPECT_EQ(views::diagonal(matrix, -1).storage_offset(), 4);
}

TEST(views_corners, channels_last_tensors_show_their_pixels_as_rows) {
  const Tensor image = views::permute(make_range({2, 4, 5, 3}), {0, 3, 1, 2});
  EXPECT_TRUE(image.is_contiguous(MemoryFormat::channels_last));
  EXPECT_FALSE(views::reshape(image, {2, 60}).has_value());
  EXPECT_EQ(views::view(image, {2, 3, 20}).strides(), Dims({60, 1, 3}));
  EXPECT_TRUE(views::view(views::permute(image, {0, 2, 3, 1}), {40, 3}).is_contiguous());
}

TEST(views_corners, as_strided_reaches_the_last_element_and_no_further) {
  const Tensor tensor = make_range({2, 3});
  EXPECT_EQ(views::as_strided(tensor, {2, 2}, {3, 2}).data<std::int64_t>()[5], 5);
  EXPECT_EQ(views::as_strided(tensor, {}, {}, 5).data<std::int64_t>()[0], 5);
  EXPECT_EQ(views::as_strided(tensor, {0}, {1}, 100).numel(), 0);
  EXPECT_EQ(views::as_strided(tensor, {1}, {last_index}).numel(), 1);
  EXPECT_EQ(views::as_strided(views::select(tensor, 0, 1), {1}, {1}).storage_offset(), 3);
}

TEST(views_corners, meta_tensors_have_views_with_offsets) {
  const Tensor tensor = make_meta_tensor({4, 5}, f16);
  const Tensor part = views::slice(views::select(tensor, 0, 2), 0, 1, 4);
  EXPECT_EQ(part.storage_offset(), 11);
  EXPECT_EQ(part.shape(), Dims({3}));
  EXPECT_EQ(views::as_strided(tensor, {100}, {7}).numel(), 100);
}

TEST(views_corners, writes_through_a_view_are_seen_by_its_base) {
  const Tensor base = make_range({2, 3});
  views::select(views::transpose(base, 0, 1), 0, 2).data<std::int64_t>()[3] = 42;
  EXPECT_EQ(base.data<std::int64_t>()[5], 42);
}

}  // namespace
}  // namespace bp
