// Samples of resampling by ONNX's rules.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

struct ResampleSample {
  std::string_view mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double a = -0.75, scale = 0, begin = 0, end = 1, outside = 0;
  bool is_inside = false, is_smooth = false;
};

ResampleSample choose_rules(Draft& draft) {
  ResampleSample sample;
  if (draft.is("prefer_ceil"))
    sample.nearest = "round_prefer_ceil", sample.coordinates = "asymmetric";
  if (draft.is("floor")) sample.nearest = "floor", sample.coordinates = "asymmetric";
  if (draft.is("ceil")) sample.nearest = "ceil";
  if (draft.is("linear", "channels_last", "several_tiles")) sample.mode = "linear";
  if (draft.is("linear_corners", "one_element"))
    sample.mode = "linear", sample.coordinates = "align_corners";
  if (draft.is("symmetric")) sample.mode = "linear", sample.coordinates = "half_pixel_symmetric";
  if (draft.is("asymmetric")) sample.mode = "linear", sample.coordinates = "asymmetric";
  if (draft.is("by_scale")) sample.mode = "linear", sample.scale = 1.625;
  if (draft.is("crop", "linear_crop")) {
    sample.coordinates = "tf_crop_and_resize";
    sample.begin = -0.25, sample.end = 0.875, sample.outside = 5;
    if (draft.is("linear_crop")) sample.mode = "linear";
  }
  if (draft.is("smooth_linear")) sample.mode = "linear", sample.is_smooth = true;
  if (draft.is("cubic")) sample.mode = "cubic";
  if (draft.is("smooth_cubic")) sample.mode = "cubic", sample.is_smooth = true;
  if (draft.is("cubic_inside")) sample.mode = "cubic", sample.is_inside = true;
  if (draft.is("cubic_coefficient"))
    sample.mode = "cubic", sample.a = -0.5, sample.coordinates = "pytorch_half_pixel";
  draft.is("same", "non_contiguous", "transposed");
  return sample;
}

}  // namespace

void draft_resample(Draft& draft) {
  const ResampleSample sample = choose_rules(draft);
  const bool is_some = draft.is("some_dims"), is_one = draft.is("one_element");
  const Dims shape = draft.is("no_batch")        ? Dims{0, 2, 4, 5}
                     : draft.is("several_tiles") ? Dims{1, 1, 37, 31}
                                                 : Dims{1, 2, 4, 5};
  draft.add(draft.tensor(shape));
  if (is_some) {
    draft.add_list({7, 3});
    draft.add_list({-1, 1});
  } else {
    const bool grows_both = sample.scale != 0;
    draft.add_list(is_one             ? IntList{1, 1}
                   : grows_both       ? IntList{6, 8}
                   : sample.is_smooth ? IntList{2, 3}
                                      : IntList{8, 3});
    draft.add_list({2, 3});
  }
  draft.add_value(sample.mode);
  draft.add_value(sample.coordinates);
  draft.add_value(sample.nearest);
  draft.add_value(sample.a);
  draft.add_value(sample.is_inside);
  draft.add_value(sample.is_smooth);
  sample.scale != 0 ? draft.add_value(sample.scale) : draft.add_none();
  draft.add_value(sample.begin);
  draft.add_value(sample.end);
  draft.add_value(sample.outside);
}

}  // namespace bp
