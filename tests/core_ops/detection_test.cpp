// needs: cpu
// Boxes, regions and offsets against the formulas, element by element in double.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::computed;
using test::error_of;
using test::expect_values;

using Doubles = std::vector<double>;

// Doubles from `low` to `high` that look random.
Doubles scattered(std::size_t count, double low, double high, double seed) {
  Doubles all(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double wild = std::sin(12.9898 * static_cast<double>(i) + seed) * 43758.5453;
    all[i] = low + (high - low) * (wild - std::floor(wild));
  }
  return all;
}

Doubles boxes_of(std::size_t count, double high, double longest, double seed) {
  const Doubles corners = scattered(2 * count, 0, high, seed);
  const Doubles sizes = scattered(2 * count, 1, longest, seed + 1);
  Doubles boxes;
  for (std::size_t i = 0; i < count; ++i)
    boxes.insert(boxes.end(), {corners[2 * i], corners[2 * i + 1], corners[2 * i] + sizes[2 * i],
                               corners[2 * i + 1] + sizes[2 * i + 1]});
  return boxes;
}

double overlap_of(const double* a, const double* b) {
  const double width = std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const double height = std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const double both = width * height;
  return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
}

std::vector<std::int64_t> remaining(const Doubles& boxes, const Doubles& scores, double threshold) {
  std::vector<std::int64_t> order(scores.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
  for (std::int64_t i : order)
    if (std::none_of(kept.begin(), kept.end(), [&](std::int64_t best) {
          return overlap_of(boxes.data() + 4 * best, boxes.data() + 4 * i) > threshold;
        }))
      kept.push_back(i);
  return kept;
}

TEST(Boxes, overlap_by_the_part_that_they_share) {
  const Doubles first = boxes_of(7, 10, 8, 1), second = boxes_of(5, 10, 8, 2);
  Doubles expected;
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t k = 0; k < 5; ++k)
      expected.push_back(overlap_of(first.data() + 4 * i, second.data() + 4 * k));
  expect_values(box_iou(tensor(first, {7, 4}), tensor(second, {5, 4})), expected);
}

TEST(Boxes, remain_where_no_better_one_overlaps) {
  for (const std::size_t count : {0, 1, 9, 127, 128, 129, 300})
    for (const double threshold : {0.0, 0.2, 0.5, 1.0}) {
      const Doubles boxes = boxes_of(count, 40, 20, 3), scores = scattered(count, 0, 1, 4);
      const auto size = static_cast<std::int64_t>(count);
      EXPECT_EQ(
          to_vector<std::int64_t>(nms(tensor(boxes, {size, 4}), tensor(scores, {size}), threshold)),
          remaining(boxes, scores, threshold));
    }
}

TEST(Boxes, of_equal_scores_remain_in_their_order) {
  const Tensor boxes = tensor<double>({{0, 0, 4, 4}, {0, 0, 4, 4.5}, {9, 9, 12, 12}}, {f64});
  EXPECT_EQ(to_vector<std::int64_t>(nms(boxes, ones({3}, f64), 0.5)),
            (std::vector<std::int64_t>{0, 2}));
}

TEST(Boxes, a_thousand_take_less_than_a_second) {
  const Doubles boxes = boxes_of(1000, 400, 60, 5), scores = scattered(1000, 0, 1, 6);
  const Tensor all = tensor(boxes, {1000, 4}), best = tensor(scores, {1000});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(to_vector<std::int64_t>(nms(all, best, 0.5)), remaining(boxes, scores, 0.5));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 5);  // where all cores are taken
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
}

TEST(Boxes, remain_for_each_class_of_each_image) {
  const std::int64_t batch = 2, classes = 3, count = 20;
  const Doubles boxes = boxes_of(40, 20, 12, 7), scores = scattered(120, 0, 1, 8);
  std::vector<std::int64_t> expected;
  for (std::int64_t image = 0; image < batch; ++image)
    for (std::int64_t type = 0; type < classes; ++type) {
      const Doubles part(boxes.begin() + image * 80, boxes.begin() + image * 80 + 80);
      const auto from = scores.begin() + (image * classes + type) * count;
      const Doubles each(from, from + count);
      std::int64_t found = 0;
      for (std::int64_t box : remaining(part, each, 0.3))
        if (each[static_cast<std::size_t>(box)] > 0.25 && found++ < 4)
          expected.insert(expected.end(), {image, type, box});
    }
  const Tensor best = tensor(scores, {batch, classes, count});
  EXPECT_EQ(to_vector<std::int64_t>(
                non_max_suppression(tensor(boxes, {batch, count, 4}), best, 4, 0.3, 0.25)),
            expected);
  // The same boxes by their centers, and with corners the other way round.
  Doubles centers, swapped;
  for (std::size_t i = 0; i < boxes.size(); i += 4) {
    const double *b = boxes.data() + i, width = b[2] - b[0], height = b[3] - b[1];
    centers.insert(centers.end(), {b[0] + width / 2, b[1] + height / 2, width, height});
    swapped.insert(swapped.end(), {b[2], b[1], b[0], b[3]});
  }
  EXPECT_EQ(to_vector<std::int64_t>(
                non_max_suppression(tensor(centers, {batch, count, 4}), best, 4, 0.3, 0.25, true)),
            expected);
  EXPECT_EQ(to_vector<std::int64_t>(
                non_max_suppression(tensor(swapped, {batch, count, 4}), best, 4, 0.3, 0.25)),
            expected);
  EXPECT_EQ(non_max_suppression(tensor(boxes, {batch, count, 4}), best).shape(), (Dims{0, 3}));
}

// ---- Regions ----

constexpr std::int64_t height = 9, width = 11;

Tensor two_images() {
  return computed({2, 3, height, width}, [](int i) { return std::sin(0.37 * i) + 0.01 * i; });
}

// An element of an image by what lies around, as roi_align takes it.
double read_between(const double* image, double y, double x) {
  if (y < -1 || y > height || x < -1 || x > width) return 0;
  y = std::clamp<double>(y, 0, height - 1);
  x = std::clamp<double>(x, 0, width - 1);
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  return (1 - down) *
             ((1 - across) * image[top * width + left] + across * image[top * width + right]) +
         down *
             ((1 - across) * image[bottom * width + left] + across * image[bottom * width + right]);
}

struct RegionCall {
  std::int64_t rows, columns;
  double scale;
  std::int64_t ratio;
  bool aligned;
};

Doubles expected_averages(const Doubles& boxes, const RegionCall& call) {
  const Doubles image = to_vector<double>(two_images());
  Doubles all;
  for (std::size_t box = 0; box < boxes.size() / 5; ++box)
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      const double* b = boxes.data() + 5 * box;
      const double* plane =
          image.data() + (static_cast<std::int64_t>(b[0]) * 3 + channel) * height * width;
      const double shift = call.aligned ? 0.5 : 0, least = call.aligned ? -1e9 : 1;
      const double left = b[1] * call.scale - shift, top = b[2] * call.scale - shift;
      const double down =
          std::max(b[4] * call.scale - shift - top, least) / static_cast<double>(call.rows);
      const double across =
          std::max(b[3] * call.scale - shift - left, least) / static_cast<double>(call.columns);
      const double tall = call.ratio > 0 ? static_cast<double>(call.ratio) : std::ceil(down);
      const double wide = call.ratio > 0 ? static_cast<double>(call.ratio) : std::ceil(across);
      for (std::int64_t row = 0; row < call.rows; ++row)
        for (std::int64_t column = 0; column < call.columns; ++column) {
          double total = 0;
          for (double y = 0.5; y < tall; ++y)
            for (double x = 0.5; x < wide; ++x)
              total += read_between(plane, top + (static_cast<double>(row) + y / tall) * down,
                                    left + (static_cast<double>(column) + x / wide) * across);
          all.push_back(total / std::max(tall * wide, 1.0));
        }
    }
  return all;
}

// Inside, small, across edges, far outside, the whole image, much larger than it, and the wrong way round.
Doubles some_regions() {
  return {0,    1.3, 2.1,   7.7,   6.2,  1,    3.25, 3.5, 3.5, 3.75, 1,  -2.2,
          -3.1, 4,   5.4,   0,     40,   40.3, 50,   60,  1,   0,    0,  11,
          9,    0,   -70.4, -83.3, 95.1, 71.7, 1,    6.1, 7.3, 2.2,  3.4};
}

TEST(Regions, are_averaged_as_in_torchvision) {
  const Doubles boxes = some_regions();
  const Tensor given = tensor(boxes, {static_cast<std::int64_t>(boxes.size() / 5), 5});
  for (const bool aligned : {false, true})
    for (const std::int64_t ratio : {-1, 1, 2, 5})
      for (const double scale : {1.0, 0.5})
        for (const auto& [rows, columns] :
             {std::pair<std::int64_t, std::int64_t>{2, 3}, {7, 7}, {1, 1}}) {
          SCOPED_TRACE(testing::Message()
                       << aligned << " " << ratio << " " << scale << " " << rows);
          expect_values(roi_align(two_images(), given, {rows, columns}, scale, ratio, aligned),
                        expected_averages(boxes, {rows, columns, scale, ratio, aligned}));
        }
}

TEST(Regions, hand_their_gradient_to_what_they_read) {
  const Doubles boxes = some_regions();
  const Tensor given = tensor(boxes, {static_cast<std::int64_t>(boxes.size() / 5), 5});
  for (const std::int64_t ratio : {-1, 2}) {
    const Tensor input = two_images();
    set_requires_grad(input);
    const Tensor result = roi_align(input, given, {2, 3}, 1.0, ratio);
    const Tensor factors = computed(result.shape(), [](int i) { return std::cos(1.0 * i); });
    const Tensor gradient = autograd::grad({sum(result * factors)}, {input})[0];
    // Linear in the input: its product with the gradient is the result.
    EXPECT_NEAR(item<double>(sum(gradient * detach(input))),
                item<double>(sum(detach(result) * factors)), 1e-10);
  }
}

TEST(Regions, give_their_largest_elements_as_in_torchvision) {
  const Doubles boxes = some_regions(), image = to_vector<double>(two_images());
  const Tensor given = tensor(boxes, {static_cast<std::int64_t>(boxes.size() / 5), 5});
  for (const double scale : {1.0, 0.5})
    for (const std::int64_t parts : {1, 2, 3, 7}) {
      Doubles expected;
      for (std::size_t box = 0; box < boxes.size() / 5; ++box)
        for (std::int64_t channel = 0; channel < 3; ++channel) {
          const double* b = boxes.data() + 5 * box;
          const double left = std::round(b[1] * scale), top = std::round(b[2] * scale);
          const double wide = std::max(std::round(b[3] * scale) - left + 1, 1.0);
          const double tall = std::max(std::round(b[4] * scale) - top + 1, 1.0);
          const auto edge = [&](std::int64_t number, double length, double from, std::int64_t size,
                                bool is_end) {
            const double place = static_cast<double>(number) * length / static_cast<double>(parts);
            return static_cast<std::int64_t>(
                std::clamp((is_end ? std::ceil(place) : std::floor(place)) + from, 0.0,
                           static_cast<double>(size)));
          };
          for (std::int64_t row = 0; row < parts; ++row)
            for (std::int64_t column = 0; column < parts; ++column) {
              double largest = -1e300;
              for (std::int64_t y = edge(row, tall, top, height, false);
                   y < edge(row + 1, tall, top, height, true); ++y)
                for (std::int64_t x = edge(column, wide, left, width, false);
                     x < edge(column + 1, wide, left, width, true); ++x)
                  largest = std::max(
                      largest,
                      image[static_cast<std::size_t>(
                          ((static_cast<std::int64_t>(b[0]) * 3 + channel) * height + y) * width +
                          x)]);
              expected.push_back(largest == -1e300 ? 0 : largest);
            }
        }
      expect_values(roi_pool(two_images(), given, {parts}, scale), expected);
    }
}

TEST(Regions, of_no_image_are_out_of_range) {
  const Tensor boxes = tensor<double>({{2, 1, 1, 3, 3}}, {f64});
  EXPECT_NE(error_of([&] { to_vector<double>(roi_align(two_images(), boxes, {2})); }), "no error");
  EXPECT_NE(error_of([&] { to_vector<double>(roi_pool(two_images(), boxes, {2})); }), "no error");
  EXPECT_EQ(roi_align(two_images(), zeros({0, 5}, f64), {2}).shape(), (Dims{0, 3, 2, 2}));
}

// ---- Offsets ----

TEST(Offsets, of_nothing_are_a_convolution) {
  const Tensor input = two_images(),
               weight = computed({4, 3, 3, 2}, [](int i) { return std::cos(0.9 * i); });
  const Tensor bias = computed({4}, [](int i) { return 0.5 * i; });
  const Tensor expected = conv2d(input, weight, bias, {2, 1}, {1, 2}, {1, 2});
  const Tensor offset = zeros({2, 12, expected.size(2), expected.size(3)}, f64);
  expect_values(deform_conv2d(input, offset, weight, bias, {2, 1}, {1, 2}, {1, 2}),
                to_vector<double>(expected));
}

TEST(Offsets, move_each_element_of_each_window) {
  const std::int64_t groups = 2, kernel = 6;
  const Tensor input =
      computed({2, 4, height, width}, [](int i) { return std::sin(0.37 * i) + 0.01 * i; });
  const Tensor weight = computed({4, 2, 2, 3}, [](int i) { return std::cos(0.9 * i); });
  const std::int64_t down = 5, across = 11;  // strides 2 and 1, padding 1
  const std::int64_t places = down * across;
  const Tensor offset =
      computed({2, groups * 2 * kernel, down, across}, [](int i) { return 3 * std::sin(2.3 * i); });
  const Tensor mask = computed({2, groups * kernel, down, across},
                               [](int i) { return 0.5 + 0.4 * std::cos(1.0 * i); });
  const Doubles image = to_vector<double>(input), factor = to_vector<double>(weight);
  const Doubles moved = to_vector<double>(offset), part = to_vector<double>(mask);
  const auto at = [](const Doubles& all, std::int64_t number) {
    return all[static_cast<std::size_t>(number)];
  };
  const auto element = [&](std::int64_t plane, double y, double x) {
    double total = 0;
    for (std::int64_t row = 0; row < height; ++row)
      for (std::int64_t column = 0; column < width; ++column)
        total += std::max(0.0, 1 - std::abs(y - static_cast<double>(row))) *
                 std::max(0.0, 1 - std::abs(x - static_cast<double>(column))) *
                 at(image, (plane * height + row) * width + column);
    return total;
  };
  Doubles expected;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t out = 0; out < 4; ++out)
      for (std::int64_t place = 0; place < places; ++place) {
        double total = 0;
        for (std::int64_t in = 0; in < 2; ++in)
          for (std::int64_t k = 0; k < kernel; ++k) {
            const std::int64_t channel = out / 2 * 2 + in, group = channel / 2;
            const std::int64_t line = (n * groups + group) * kernel + k;
            const double y = static_cast<double>(place / across * 2 - 1 + k / 3) +
                             at(moved, 2 * line * places + place);
            const double x = static_cast<double>(place % across - 1 + k % 3) +
                             at(moved, (2 * line + 1) * places + place);
            total += element(n * 4 + channel, y, x) * at(part, line * places + place) *
                     at(factor, (out * 2 + in) * kernel + k);
          }
        expected.push_back(total);
      }
  expect_values(deform_conv2d(input, offset, weight, {}, {2, 1}, {1}, {1}, mask), expected);
  EXPECT_EQ(
      error_of([&] { deform_conv2d(input, narrow(offset, 1, 0, 12), weight, {}, {1}, {1}); }),
      "deform_conv2d: offset has shape [2, 12, 5, 11]; windows of 6 elements at 10 by 11 places "
      "need [2, 2 * groups * 6, 10, 11], with groups that divide 4 channels");
}

}  // namespace
}  // namespace bp
