// Regions of images, as R-CNNs take them: K. He et al., "Mask R-CNN", 2017 (roi_align); R. Girshick, "Fast R-CNN", 2015
// (roi_pool).
#include <algorithm>
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/detection.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// Boxes along one dimension of the images, each [boxes].
struct Spans {
  Tensor from, to;
};

struct Regions {
  Tensor image;  // int64 [boxes]
  Spans down, across;
  std::int64_t count, rows, columns;  // of boxes, and of parts
};

void check_regions(const char* op, const Tensor& input, const Tensor& boxes, IntList output_size) {
  BP_CHECK(input.ndim() == 4 && input.size(2) > 0 && input.size(3) > 0,
           "{}: input has shape {}; pass [N, C, H, W] with elements in each image", op,
           to_string(input.shape()));
  BP_CHECK(boxes.ndim() == 2 && boxes.size(1) == 5 && boxes.dtype() == input.dtype(),
           "{}: boxes are {} of shape {} beside an input of {}; pass [n, 5] of its dtype: image, "
           "left, top, right, bottom",
           op, name(boxes.dtype()), to_string(boxes.shape()), name(input.dtype()));
  BP_CHECK((output_size.size() == 1 || output_size.size() == 2) && output_size[0] > 0 &&
               output_size[output_size.size() - 1] > 0,
           "{}: output_size is {}; pass one or two numbers from 1 on", op, to_string(output_size));
}

// What is cut out where there is nothing, of no boxes or no channels.
Tensor no_regions(const char* op, const Tensor& input, const Tensor& boxes, IntList output_size) {
  BP_CHECK(boxes.size(0) == 0 || input.size(0) > 0,
           "{}: {} boxes in an input of shape {}; pass images", op, boxes.size(0),
           to_string(input.shape()));
  return full({boxes.size(0), input.size(1), output_size[0], output_size[output_size.size() - 1]},
              0, input.dtype(), input.device());
}

// A number of no image is an index out of range.
Regions regions_of(const Tensor& boxes, IntList output_size, double spatial_scale,
                   std::int64_t num_images) {
  const Tensor wide = widened(boxes);
  const auto edge = [&](std::int64_t which) { return mul(select(wide, 1, which), spatial_scale); };
  return {
      index_select(arange(0, num_images, 1, i64, boxes.device()), 0, cast(select(wide, 1, 0), i64)),
      {edge(2), edge(4)},
      {edge(1), edge(3)},
      boxes.size(0),
      output_size[0],
      output_size[output_size.size() - 1]};
}

// Where samples are taken along one dimension: each [boxes, parts, samples]. A sample is the elements `low` and `high` times
// their weights; those of one part add up to 1, where none lies outside of the image.
struct RegionSamples {
  Tensor low, high, of_low, of_high;
};

Tensor floats_below(std::int64_t end, const Tensor& like, IntList shape) {
  return reshape(cast(arange(0, end, 1, i64, like.device()), like.dtype()), shape);
}

// With a `ratio`, that many samples in each of `parts` parts; else as many as the part has elements, rounded up. Then only
// those that may lie in the image are listed: one element or less apart, they are size + 4 at most, and one more where
// rounding moves the first.
RegionSamples samples_along(const Spans& spans, std::int64_t parts, std::int64_t ratio,
                            bool aligned, std::int64_t size) {
  const Tensor from = reshape(aligned ? sub(spans.from, 0.5) : spans.from, {-1, 1, 1});
  const Tensor difference = reshape(sub(spans.to, spans.from), {-1, 1, 1});
  const Tensor length =
      div(aligned ? difference : clamp_min(difference, 1), static_cast<double>(parts));
  const Tensor begin = add(from, mul(length, floats_below(parts, length, {1, parts, 1})));
  Tensor number, step, share, takes_part;
  if (ratio > 0) {
    number = floats_below(ratio, length, {1, 1, ratio});
    step = div(length, static_cast<double>(ratio));
    share = full({1, 1, 1}, 1.0 / static_cast<double>(ratio), length.dtype(), length.device());
    takes_part = full({1, 1, 1}, true, boolean, length.device());
  } else {
    const Tensor count = ceil(length), some = clamp_min(count, 1);
    step = where(gt(count, 0), div(length, some), 1);
    const Tensor first = sub(ceil(sub(div(sub(-1, begin), step), 0.5)), 1);
    number = add(clamp_min(first, 0), floats_below(size + 5, length, {1, 1, size + 5}));
    share = reciprocal(some);
    takes_part = lt(number, count);
  }
  const Tensor place = add(begin, mul(add(number, 0.5), step));
  const Tensor is_inside = logical_and(ge(place, -1), le(place, size));
  const Tensor counts = logical_and(is_inside, takes_part);
  const Tensor at = clamp(where(counts, place, 0), 0, size - 1);
  const Tensor low = floor(at), part = sub(at, low);
  return {cast(low, i64), cast(clamp_max(add(low, 1), size - 1), i64),
          where(counts, mul(sub(1, part), share), 0), where(counts, mul(part, share), 0)};
}

// [C, N * H * W]
Tensor images_in_rows(const Tensor& input) {
  return reshape(permute(input, {1, 0, 2, 3}), {input.size(1), -1});
}

// Elements of each channel by their numbers, [boxes, rows, columns], as [C, boxes, rows, columns].
Tensor elements_at(const Tensor& rows, const Tensor& number) {
  Dims shape(number.shape());
  shape.insert(0, rows.size(0));
  return reshape(index_select(rows, 1, reshape(number, {-1})), shape);
}

// Sample by sample.
Tensor averages_by_samples(const Tensor& input, const Regions& regions, const RegionSamples& down,
                           const RegionSamples& across, std::int64_t ratio) {
  const Tensor images = images_in_rows(input);
  const Tensor image = mul(reshape(regions.image, {-1, 1, 1}), input.size(2));
  Tensor total;
  for (std::int64_t i = 0; i < 4 * ratio * ratio; ++i) {
    const bool is_low = i % 2 != 0, is_left = i / 2 % 2 != 0;
    const std::int64_t y = i / 4 / ratio, x = i / 4 % ratio;
    const auto row = [&](const Tensor& all) { return unsqueeze(select(all, 2, y), 2); };
    const auto column = [&](const Tensor& all) { return unsqueeze(select(all, 2, x), 1); };
    const Tensor line = add(image, row(is_low ? down.low : down.high));
    const Tensor number = add(mul(line, input.size(3)), column(is_left ? across.low : across.high));
    const Tensor weight = mul(row(is_low ? down.of_low : down.of_high),
                              column(is_left ? across.of_low : across.of_high));
    const Tensor term = mul(elements_at(images, number), weight);
    total = total.defined() ? add(total, term) : term;
  }
  return permute(total, {1, 0, 2, 3});
}

// [boxes, parts, size]: how much each element of a line counts.
Tensor weights_of_elements(const RegionSamples& samples, std::int64_t size) {
  const Tensor none = full({samples.low.size(0), samples.low.size(1), size}, 0,
                           samples.of_low.dtype(), samples.low.device());
  return scatter_add(none, 2, cat({samples.low, samples.high}, 2),
                     cat({samples.of_low, samples.of_high}, 2));
}

// As products: rows and columns of a region are averaged one after the other. A number of boxes at a time, since each
// takes a copy of its image.
Tensor averages_by_products(const Tensor& input, const Regions& regions, const RegionSamples& down,
                            const RegionSamples& across) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 24;
  const std::int64_t channels = input.size(1), height = input.size(2), width = input.size(3);
  const Tensor of_rows = weights_of_elements(down, height);
  const Tensor of_columns = transpose(weights_of_elements(across, width), 1, 2);
  const bool is_in_memory = input.device() != meta_device;
  const std::int64_t at_once =
      is_in_memory ? std::max<std::int64_t>(
                         1, most_elements / std::max<std::int64_t>(1, channels * height * width))
                   : std::max<std::int64_t>(1, regions.count);
  std::vector<Tensor> each;
  for (std::int64_t first = 0; first < regions.count; first += at_once) {
    const std::int64_t count = std::min(at_once, regions.count - first);
    const Tensor images = index_select(input, 0, narrow(regions.image, 0, first, count));
    const Tensor lines = bmm(reshape(images, {count, channels * height, width}),
                             narrow(of_columns, 0, first, count));
    const Tensor upright =
        permute(reshape(lines, {count, channels, height, regions.columns}), {0, 2, 1, 3});
    const Tensor parts = bmm(narrow(of_rows, 0, first, count),
                             reshape(upright, {count, height, channels * regions.columns}));
    each.push_back(
        permute(reshape(parts, {count, regions.rows, channels, regions.columns}), {0, 2, 1, 3}));
  }
  return each.size() == 1 ? each[0] : cat(each, 0);
}

Tensor rounded_away(const Tensor& input) {
  return trunc(add(input, where(lt(input, 0), -0.5, where(ge(input, 0), 0.5, input))));
}

// Which elements of a line, from `from` on, `length` of them, each part takes: int64 [boxes, parts].
struct Runs {
  Tensor from, length;
};

Runs runs_along(const Spans& spans, std::int64_t parts, std::int64_t size) {
  const Tensor from = reshape(rounded_away(spans.from), {-1, 1});
  const Tensor length = clamp_min(add(sub(reshape(rounded_away(spans.to), {-1, 1}), from), 1), 1);
  const Tensor number = floats_below(parts, length, {1, parts});
  // Multiplied first: a whole number of elements stays one.
  const auto edge = [&](const Tensor& which) {
    return div(mul(which, length), static_cast<double>(parts));
  };
  const auto cut = [&](const Tensor& place) { return cast(clamp(add(place, from), 0, size), i64); };
  const Tensor begin = cut(floor(edge(number)));
  return {begin, sub(cut(ceil(edge(add(number, 1)))), begin)};
}

// Largest elements of 1, 2, 4 ... neighbours along `dim` from each place on: any run is two of those that overlap.
std::vector<Tensor> largest_of_doubled(const Tensor& input, std::int64_t dim) {
  std::vector<Tensor> all{input};
  const std::int64_t size = input.size(dim);
  for (std::int64_t step = 1; 2 * step <= size; step *= 2) {
    const Tensor& last = all.back();
    const Tensor joined =
        maximum(narrow(last, dim, 0, size - step), narrow(last, dim, step, size - step));
    all.push_back(cat({joined, narrow(last, dim, size - step, step)}, dim));
  }
  return all;
}

// Of a run, which of the doubled ones covers it, and where the first and the second begin. An empty one begins anywhere.
struct Covers {
  Tensor level, first, second;
};

Covers covers_of(const Runs& runs, std::size_t levels, std::int64_t size) {
  Tensor level = mul(runs.from, 0), reach = add(level, 1);
  for (std::size_t i = 1; i < levels; ++i) {
    const auto wide = static_cast<std::int64_t>(1) << i;
    const Tensor fits = ge(runs.length, wide);
    level = where(fits, static_cast<std::int64_t>(i), level);
    reach = where(fits, wide, reach);
  }
  const Tensor second = sub(add(runs.from, runs.length), reach);
  return {level, clamp(runs.from, 0, size - 1), clamp(second, 0, size - 1)};
}

}  // namespace

Tensor averaged_regions(const Tensor& input, const Tensor& boxes, IntList output_size,
                        double spatial_scale, std::int64_t sampling_ratio, bool aligned) {
  constexpr std::int64_t most_samples = 4;  // beyond which products are less work
  check_regions("roi_align", input, boxes, output_size);
  if (boxes.size(0) == 0 || input.numel() == 0)
    return no_regions("roi_align", input, boxes, output_size);
  const Regions regions = regions_of(boxes, output_size, spatial_scale, input.size(0));
  const Tensor wide = widened(input);
  const RegionSamples down =
      samples_along(regions.down, regions.rows, sampling_ratio, aligned, input.size(2));
  const RegionSamples across =
      samples_along(regions.across, regions.columns, sampling_ratio, aligned, input.size(3));
  const bool are_few = sampling_ratio > 0 && sampling_ratio <= most_samples;
  const Tensor result = are_few ? averages_by_samples(wide, regions, down, across, sampling_ratio)
                                : averages_by_products(wide, regions, down, across);
  return in_dtype(contiguous(result), input.dtype());
}

Tensor largest_of_regions(const Tensor& input, const Tensor& boxes, IntList output_size,
                          double spatial_scale) {
  check_regions("roi_pool", input, boxes, output_size);
  if (boxes.size(0) == 0 || input.numel() == 0)
    return no_regions("roi_pool", input, boxes, output_size);
  const std::int64_t images = input.size(0), height = input.size(2), width = input.size(3);
  const Regions regions = regions_of(boxes, output_size, spatial_scale, images);
  std::vector<Tensor> tables;
  const std::vector<Tensor> lines = largest_of_doubled(input, 2);
  for (const Tensor& line : lines)
    for (const Tensor& both : largest_of_doubled(line, 3)) tables.push_back(both);
  const std::size_t levels = tables.size() / lines.size();
  const Tensor all = images_in_rows(cat(tables, 0));
  const Runs down = runs_along(regions.down, regions.rows, height);
  const Runs across = runs_along(regions.across, regions.columns, width);
  const Covers rows = covers_of(down, lines.size(), height);
  const Covers columns = covers_of(across, levels, width);
  const auto upright = [](const Tensor& of_rows) { return unsqueeze(of_rows, 2); };
  const auto flat = [](const Tensor& of_columns) { return unsqueeze(of_columns, 1); };
  const Tensor table =
      add(mul(upright(rows.level), static_cast<std::int64_t>(levels)), flat(columns.level));
  const Tensor image = add(mul(table, images), reshape(regions.image, {-1, 1, 1}));
  Tensor largest;
  for (const Tensor& row : {rows.first, rows.second})
    for (const Tensor& column : {columns.first, columns.second}) {
      const Tensor line = add(mul(image, height), upright(row));
      const Tensor found = elements_at(all, add(mul(line, width), flat(column)));
      largest = largest.defined() ? maximum(largest, found) : found;
    }
  const Tensor has_any =
      gt(mul(upright(clamp_min(down.length, 0)), flat(clamp_min(across.length, 0))), 0);
  return contiguous(permute(where(has_any, largest, 0), {1, 0, 2, 3}));
}

}  // namespace bp
