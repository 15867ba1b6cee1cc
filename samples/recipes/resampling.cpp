// Samples of images in other sizes and places, and of windows as columns.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

std::string_view mode_of_size(Draft& draft) {
  if (draft.is("exact")) return "nearest-exact";
  if (draft.is("linear")) return "linear";
  if (draft.is("bilinear", "corners", "smaller", "several_tiles", "channels_last"))
    return "bilinear";
  if (draft.is("trilinear")) return "trilinear";
  if (draft.is("cubic", "cubic_corners")) return "bicubic";
  return draft.is("area") ? "area" : "nearest";
}

void draft_resized(Draft& draft) {
  const std::string_view mode = mode_of_size(draft);
  draft.is("same", "non_contiguous", "transposed");
  const bool is_small = draft.is("smaller"), is_long = draft.is("several_tiles");
  const std::int64_t batch = draft.is("no_batch") ? 0 : 2;
  draft.add(draft.tensor(mode == "linear"      ? Dims{batch, 3, 5}
                         : mode == "trilinear" ? Dims{batch, 2, 3, 4, 2}
                         : is_long             ? Dims{1, 2, 17, 33}
                                               : Dims{batch, 3, 4, 5}));
  draft.add_list(mode == "linear"      ? IntList{7}
                 : mode == "trilinear" ? IntList{5, 3, 4}
                 : is_long             ? IntList{31, 40}
                 : is_small            ? IntList{3, 2}
                                       : IntList{7, 6});
  draft.add_value(mode);
  if (draft.is("corners", "cubic_corners")) draft.add_value(true);
}

void draft_mapped(Draft& draft) {
  const bool has_corners = draft.is("corners"), is_one = draft.is("one_place");
  draft.is("same", "non_contiguous", "transposed", "offset");
  const std::int64_t batch = draft.is("no_batch") ? 0 : 2;
  draft.add(draft.tensor({batch, 2, 3}));
  const bool is_long = draft.is("several_tiles");
  draft.add_list({batch, 3, is_one ? 1 : is_long ? 31 : 3, is_one ? 1 : is_long ? 40 : 5});
  if (has_corners) draft.add_value(true);
}

void draft_sampled(Draft& draft) {
  const bool is_volume =
      draft.is("volume", "volume_nearest", "volume_corners", "volume_reflection");
  const bool is_nearest = draft.is("nearest", "nearest_reflection", "volume_nearest");
  const bool is_cubic = draft.is("cubic", "cubic_border", "cubic_reflection", "cubic_corners");
  const bool has_corners =
      draft.is("corners", "reflection_corners", "cubic_corners", "volume_corners");
  const bool is_border = draft.is("border", "cubic_border"), is_long = draft.is("several_tiles");
  const bool is_reflected = draft.is("reflection", "nearest_reflection", "reflection_corners",
                                     "cubic_reflection", "volume_reflection");
  const double reach = is_reflected ? 3 : 1;  // past both borders
  draft.is("same", "non_contiguous", "offset");
  const std::int64_t batch = draft.is("no_batch") ? 0 : 2;
  draft.add(draft.tensor(is_long     ? Dims{batch, 2, 9, 33}
                         : is_volume ? Dims{batch, 2, 3, 4, 5}
                                     : Dims{batch, 3, 4, 5}));
  draft.add(draft.between(is_long     ? Dims{batch, 31, 7, 2}
                          : is_volume ? Dims{batch, 2, 1, 3, 3}
                                      : Dims{batch, 2, 3, 2},
                          -1.3 * reach, 1.2 * reach));
  draft.add_value(std::string_view(is_nearest ? "nearest" : is_cubic ? "bicubic" : "bilinear"));
  draft.add_value(std::string_view(is_border ? "border" : is_reflected ? "reflection" : "zeros"));
  if (has_corners) draft.add_value(true);
}

void draft_columns(Draft& draft, bool is_back) {
  const bool is_strided = draft.is("strided"), is_dilated = draft.is("dilated");
  const bool is_padded = draft.is("padded"), is_one = draft.is("one_window");
  draft.is("same", "non_contiguous", "channels_last");
  const std::int64_t batch = draft.is("no_batch") ? 0 : 1;
  const std::int64_t rows = draft.is("several_tiles") ? 19 : 4, columns = 5;
  const std::int64_t kernel[] = {is_one ? rows : 2, is_one ? columns : 3};
  const std::int64_t dilation[] = {is_dilated ? 2 : 1, 1};
  const std::int64_t padding = is_padded ? 1 : 0, stride = is_strided ? 2 : 1;
  const auto count = [&](std::int64_t size, int d) {
    return (size + 2 * padding - dilation[d] * (kernel[d] - 1) - 1) / stride + 1;
  };
  if (is_back)
    draft.add(draft.tensor({batch, 2 * kernel[0] * kernel[1], count(rows, 0) * count(columns, 1)}));
  else
    draft.add(draft.tensor({batch, 2, rows, columns}));
  if (is_back) draft.add_list({rows, columns});
  draft.add_list({kernel[0], kernel[1]});
  draft.add_list({dilation[0], dilation[1]});
  draft.add_list({padding});
  draft.add_list({stride});
}

}  // namespace

void draft_resampling(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "interpolate") return draft_resized(draft);
  if (name == "affine_grid") return draft_mapped(draft);
  if (name == "grid_sample") return draft_sampled(draft);
  draft_columns(draft, name == "col2im");
}

}  // namespace bp
