// Samples of boxes, of regions of images, and of windows that follow offsets.
#include <string_view>
#include <utility>
#include <vector>

#include <backplane/tensor/views.hpp>

#include "draft.hpp"

namespace bp {
namespace {

constexpr double threshold = 0.3141;  // of overlaps

// Rows of numbers, laid out as the recipe says.
Tensor laid_out(Draft& draft, IntList shape, const std::vector<double>& values) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  Dims larger(shape);
  if (draft.is("non_contiguous")) {
    std::vector<double> doubled;
    for (double value : values) doubled.insert(doubled.end(), {value, -1.0});
    larger[static_cast<std::size_t>(rank - 1)] *= 2;
    return views::slice(draft.numbers(larger, doubled), rank - 1, {}, {}, 2);
  }
  if (draft.is("offset")) {
    std::vector<double> longer(static_cast<std::size_t>(shape[rank - 1]), -1.0);
    longer.insert(longer.end(), values.begin(), values.end());
    ++larger[0];
    return views::narrow(draft.numbers(larger, longer), 0, 1, shape[0]);
  }
  return draft.numbers(shape, values);
}

// [count, 4] in order: two corners, the first from `low` up to `high`, the second `least` to `most` behind it.
struct BoxesDraft {
  double low = 0, high = 8, least = 1, most = 6;
};

std::vector<double> edges_of_boxes(std::int64_t count, const BoxesDraft& range,
                                   std::int64_t first) {
  std::vector<double> edges;
  for (std::int64_t i = first; i < first + count; ++i) {
    // In steps of 1/8: areas are exact in every dtype, and no overlap is the threshold.
    const auto part = [&](std::int64_t factor, std::int64_t shift, double from, double to) {
      const auto step = static_cast<double>((i * factor + shift) % 61);
      return from + static_cast<double>(static_cast<std::int64_t>((to - from) * step / 61 * 8)) / 8;
    };
    const double left = part(23, 5, range.low, range.high);
    const double top = part(37, 11, range.low, range.high);
    edges.insert(edges.end(), {left, top, left + part(13, 3, range.least, range.most),
                               top + part(29, 7, range.least, range.most)});
  }
  return edges;
}

BoxesDraft range_of_boxes(Draft& draft) {
  if (draft.is("apart")) return {0, 200, 1, 2};
  if (draft.is("touching")) return {0, 4, 3, 4};
  if (draft.is("within")) return {0, 1, 2, 9};
  return {};
}

std::int64_t count_of_boxes(Draft& draft, std::int64_t usual) {
  return draft.is("no_boxes") ? 0 : draft.is("several_tiles") ? 150 : usual;
}

void draft_overlaps(Draft& draft) {
  const BoxesDraft range = range_of_boxes(draft);
  draft.is("same");
  const std::int64_t count = draft.is("several_tiles") ? 64 : count_of_boxes(draft, 6);
  draft.add(laid_out(draft, {count, 4}, edges_of_boxes(count, range, 0)));
  draft.add(laid_out(draft, {5, 4}, edges_of_boxes(5, range, 19)));
}

void draft_nms(Draft& draft) {
  const BoxesDraft range = range_of_boxes(draft);
  draft.is("same");
  const std::int64_t count = count_of_boxes(draft, 12);
  draft.add(laid_out(draft, {count, 4}, edges_of_boxes(count, range, 0)));
  draft.add(draft.between({count}, 0, 1));
  draft.add_value(threshold);
}

void draft_suppression(Draft& draft) {
  const bool is_long = draft.is("several_tiles"), has_threshold = draft.is("over_threshold");
  const bool are_centers = draft.is("centers"), wants_none = draft.is("none_wanted");
  const bool wants_few = draft.is("few_wanted"), are_swapped = draft.is("corners");
  draft.is("same");
  const std::int64_t batch = is_long ? 1 : 2, count = count_of_boxes(draft, 7);
  std::vector<double> edges = edges_of_boxes(batch * count, {}, 0);
  for (std::size_t i = 0; are_swapped && i < edges.size(); i += 12)
    std::swap(edges[i], edges[i + 2]);
  draft.add(laid_out(draft, {batch, count, 4}, edges));
  draft.add(draft.between({batch, is_long ? 2 : 3, count}, 0, 1));
  draft.add_value(std::int64_t{wants_none ? 0 : wants_few ? 2 : 20});
  draft.add_value(threshold);
  if (!has_threshold && !are_centers) return;
  has_threshold ? draft.add_value(0.4) : draft.add_none();
  draft.add_value(are_centers);
}

// Image, left, top, right, bottom.
Tensor regions_in(Draft& draft, std::int64_t count) {
  const bool is_outside = draft.is("outside");
  const BoxesDraft range = is_outside ? BoxesDraft{-8.93, 6, 1, 9} : BoxesDraft{0.2, 3, 1, 5};
  const std::vector<double> edges = edges_of_boxes(count, range, 0);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<double>(i % 2));
    numbers.insert(numbers.end(), edges.begin() + 4 * i, edges.begin() + 4 * i + 4);
  }
  return laid_out(draft, {count, 5}, numbers);
}

void draft_regions(Draft& draft, bool is_align) {
  const bool is_long = draft.is("several_tiles"), is_scaled = draft.is("scaled");
  const bool is_one = !is_align && draft.is("one_part");
  const bool is_adaptive = is_align && draft.is("adaptive", "adaptive_aligned");
  const bool is_aligned = is_align && draft.is("aligned", "adaptive_aligned");
  const bool has_many = is_align && draft.is("many_samples");
  draft.is("same", "non_contiguous", "channels_last");
  draft.add(draft.tensor(is_long ? Dims{2, 3, 19, 33} : Dims{2, 2, 5, 6}));
  draft.add(regions_in(draft, draft.is("no_boxes") ? 0 : is_long ? 7 : 3));
  draft.add_list(is_one ? IntList{1} : is_long ? IntList{7} : IntList{2, 3});
  draft.add_value(is_scaled ? 0.5 : 1.0);
  if (!is_align) return;
  draft.add_value(std::int64_t{is_adaptive ? -1 : has_many ? 5 : 2});
  draft.add_value(is_aligned);
}

void draft_deformed(Draft& draft) {
  const bool is_strided = draft.is("strided"), is_dilated = draft.is("dilated");
  const bool is_padded = draft.is("padded"), has_groups = draft.is("groups");
  const bool is_masked = draft.is("masked"), is_plain = draft.is("plain");
  draft.is("same", "non_contiguous", "channels_last");
  const std::int64_t batch = draft.is("no_batch") ? 0 : 1, channels = has_groups ? 4 : 2;
  const std::int64_t rows = draft.is("several_tiles") ? 19 : 4, columns = 5;
  const std::int64_t stride = is_strided ? 2 : 1, dilation = is_dilated ? 2 : 1;
  const std::int64_t padding = is_padded ? 1 : 0, groups = has_groups ? 2 : 1;
  const auto count = [&](std::int64_t size, std::int64_t kernel) {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  const std::int64_t down = count(rows, 2), across = count(columns, 3);
  draft.add(draft.tensor({batch, channels, rows, columns}));
  draft.add(draft.between({batch, 2 * groups * 6, down, across}, -1.4, 1.3));
  draft.add(draft.tensor({2, channels / groups, 2, 3}));
  is_plain ? draft.add_none() : draft.add(draft.tensor({2}));
  draft.add_list({stride});
  draft.add_list({padding});
  draft.add_list({dilation});
  if (is_masked) draft.add(draft.between({batch, groups * 6, down, across}, 0, 1));
}

}  // namespace

void draft_detection(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "box_iou") return draft_overlaps(draft);
  if (name == "nms") return draft_nms(draft);
  if (name == "non_max_suppression") return draft_suppression(draft);
  if (name == "deform_conv2d") return draft_deformed(draft);
  draft_regions(draft, name == "roi_align");
}

}  // namespace bp
