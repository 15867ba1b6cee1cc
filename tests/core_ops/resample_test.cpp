// needs: cpu
// Resampling against a plain loop over ONNX's definitions.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include <backplane/tensors.hpp>

#include "core_ops/peer_values.hpp"
#include "core_ops/rows.hpp"

namespace bp::resample_test {
namespace {

using Numbers = std::vector<double>;

struct Case {
  std::string mode = "linear", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double a = -0.75;
  bool excludes = false, is_smooth = false;
  double scale = 0, begin = 0, end = 1, outside = 0;
};

double place_of(const Case& rules, int x, double from, double to) {
  const double scale = rules.scale != 0 ? rules.scale : to / from;
  const double length = rules.scale != 0 ? rules.scale * from : to;
  if (rules.coordinates == "align_corners") return length == 1 ? 0 : x * (from - 1) / (length - 1);
  if (rules.coordinates == "asymmetric") return x / scale;
  if (rules.coordinates == "tf_crop_and_resize")
    return length == 1 ? 0.5 * (rules.begin + rules.end) * (from - 1)
                       : rules.begin * (from - 1) +
                             x * (rules.end - rules.begin) * (from - 1) / (length - 1);
  if (rules.coordinates == "pytorch_half_pixel" && length == 1) return 0;
  const double middle = (x + 0.5) / scale - 0.5;
  return rules.coordinates == "half_pixel_symmetric" ? middle + from / 2 * (1 - to / length)
                                                     : middle;
}

double weight_at(const Case& rules, double distance) {
  const double x = std::abs(distance), a = rules.a;
  if (rules.mode == "linear") return std::max(0.0, 1 - x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

double element_of(const Case& rules, const Numbers& line, int x, int to) {
  const int from = static_cast<int>(line.size());
  const auto at = [&](double place) {
    return line[static_cast<std::size_t>(std::clamp<double>(place, 0, from - 1))];
  };
  const double place = place_of(rules, x, from, to);
  if (rules.coordinates == "tf_crop_and_resize" && (place < 0 || place > from - 1))
    return rules.outside;
  if (rules.mode == "nearest") {
    if (rules.nearest == "floor") return at(std::floor(place));
    if (rules.nearest == "ceil") return at(std::ceil(place));
    return at(rules.nearest == "round_prefer_floor" ? std::ceil(place - 0.5)
                                                    : std::floor(place + 0.5));
  }
  const double scale = rules.scale != 0 ? rules.scale : static_cast<double>(to) / from;
  const double shrink = rules.is_smooth ? std::min(scale, 1.0) : 1;
  double total = 0, sum = 0;
  for (int i = -40; i < from + 40; ++i) {
    if (rules.excludes && (i < 0 || i >= from)) continue;
    const double weight = weight_at(rules, (i - place) * shrink);
    total += weight;
    sum += weight * at(i);
  }
  return sum / total;
}

void expect_loop(const Case& rules, int from, int to) {
  const Tensor input =
      test::computed({from}, [](int i) { return std::sin(i * 1.3) * 4 + (i % 3); });
  const Tensor made = resample(input, {to}, {}, rules.mode, rules.coordinates, rules.nearest,
                               rules.a, rules.excludes, rules.is_smooth,
                               rules.scale != 0 ? std::optional<double>(rules.scale) : std::nullopt,
                               rules.begin, rules.end, rules.outside);
  const Numbers line = to_vector<double>(input), values = to_vector<double>(made);
  ASSERT_EQ(values.size(), static_cast<std::size_t>(to));
  for (int x = 0; x < to; ++x)
    EXPECT_NEAR(values[static_cast<std::size_t>(x)], element_of(rules, line, x, to), 1e-12)
        << rules.mode << " " << rules.coordinates << " " << rules.nearest << " " << from << " to "
        << to << " at " << x;
}

TEST(Resample, follows_a_loop_in_all_coordinates) {
  for (const char* coordinates :
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"})
    for (const auto& [from, to] : {std::pair{4, 8}, {5, 7}, {8, 3}, {6, 1}, {1, 4}, {10, 6}}) {
      for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
        expect_loop({.mode = "nearest", .coordinates = coordinates, .nearest = nearest}, from, to);
      for (const char* mode : {"linear", "cubic"}) {
        const bool is_inside = std::string_view(coordinates) != "half_pixel_symmetric";
        expect_loop({.mode = mode, .coordinates = coordinates}, from, to);
        expect_loop({.mode = mode, .coordinates = coordinates, .is_smooth = true}, from, to);
        if (is_inside)
          expect_loop({.mode = mode, .coordinates = coordinates, .a = -0.5, .excludes = true}, from,
                      to);
      }
    }
}

TEST(Resample, takes_a_scale_that_sizes_do_not_say) {
  for (const char* coordinates :
       {"half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"})
    for (const char* mode : {"linear", "cubic"}) {
      expect_loop({.mode = mode, .coordinates = coordinates, .scale = 1.3}, 5, 6);
      expect_loop({.mode = mode, .coordinates = coordinates, .is_smooth = true, .scale = 0.6}, 6,
                  3);
    }
}

TEST(Resample, reads_a_part_and_has_its_own_value_outside) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Case part{
        .mode = mode, .coordinates = "tf_crop_and_resize", .begin = -0.3, .end = 0.9, .outside = 7};
    expect_loop(part, 6, 9);
    expect_loop(part, 6, 1);
  }
}

TEST(Resample, goes_as_interpolate_where_both_know_it) {
  const Tensor image = test::computed({1, 2, 5, 4}, [](int i) { return std::cos(i * 0.8); });
  const auto as_interpolate = [&](const Tensor& made, const char* mode, bool corners) {
    test::expect_values(made, to_vector<double>(interpolate(image, {8, 3}, mode, corners)));
  };
  as_interpolate(resample(image, {8, 3}, {2, 3}, "linear"), "bilinear", false);
  as_interpolate(resample(image, {8, 3}, {2, 3}, "linear", "align_corners"), "bilinear", true);
  as_interpolate(resample(image, {3, 8}, {-1, -2}, "cubic"), "bicubic", false);
  as_interpolate(resample(image, {8, 3}, {2, 3}, "nearest", "asymmetric", "floor"), "nearest",
                 false);
}

// Sizes whose products leave int64, so that there were windows of 0 elements to divide by.
TEST(Windows, refuse_sizes_whose_products_no_integer_holds) {
  const std::int64_t large = std::int64_t{1} << 32;
  const Tensor columns = zeros({1, 4, 1}, f32), image = zeros({1, 1, 4, 4}, f32);
  EXPECT_THROW(col2im(columns, {large, large}, {large, large}, {1}, {0}, {1}), Error);
  EXPECT_THROW(col2im(columns, {4, 4}, {2, 2}, {large}, {large}, {1}), Error);
  EXPECT_THROW(im2col(image, {2, 2}, {large}, {large}, {1}), Error);
  EXPECT_THROW(im2col(image, {large, large}, {1}, {large}, {1}), Error);
}

TEST(Resample, refuses_words_and_sizes_that_it_does_not_know) {
  const Tensor line = zeros({4}, f32);
  EXPECT_THROW(resample(line, {4}, {}, "bilinear"), Error);
  EXPECT_THROW(resample(line, {4}, {}, "linear", "centers"), Error);
  EXPECT_THROW(resample(line, {0}), Error);
  EXPECT_THROW(resample(line, {4, 4}), Error);
  EXPECT_THROW(resample(line, {2, 2}, {0, -1}), Error);
}

}  // namespace
}  // namespace bp::resample_test
