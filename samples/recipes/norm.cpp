// Samples of normalizations.
#include <backplane/core_ops/generated/factory.hpp>

#include "draft.hpp"

namespace bp {
namespace {

Dtype dtype_of_moments(Dtype dtype) {
  return dtype == f16 || dtype == bf16 ? f32 : dtype;
}

// ---- Over the last dimensions

struct Rows {
  Dims shape;
  std::uint32_t num_normalized = 1;

  IntList normalized() const {
    return {shape.data() + (shape.size() - num_normalized), num_normalized};
  }
  Dims statistics() const {
    Dims found(shape);
    for (std::size_t i = shape.size() - num_normalized; i < shape.size(); ++i) found[i] = 1;
    return found;
  }
};

Rows rows_for(Draft& draft) {
  if (draft.is("two_dims")) return {{2, 3, 4}, 2};
  if (draft.is("all_dims")) return {{3, 4}, 2};
  if (draft.is("one_dim", "plain", "weight_alone", "without_mean")) return {{3, 5}};
  return {draft.shape()};
}

void add_unless(bool absent, Draft& draft, IntList shape) {
  if (absent)
    draft.add_none();
  else
    draft.add(draft.tensor(shape));
}

void draft_over_last(Draft& draft, std::string_view name) {
  const Rows rows = rows_for(draft);
  const bool is_plain = draft.is("plain"), is_alone = draft.is("weight_alone");
  draft.add(draft.tensor(rows.shape));
  draft.add_list(rows.normalized());
  add_unless(is_plain, draft, rows.normalized());
  if (name.ends_with("layer_norm"))
    add_unless(is_plain || is_alone, draft, rows.normalized());
  else
    draft.add_value(1e-5);
}

void draft_norm_backward(Draft& draft, bool has_weight) {
  const Rows rows = rows_for(draft);
  const Dtype moments = dtype_of_moments(draft.dtype());
  draft.add(draft.tensor(rows.shape));
  draft.add(draft.tensor(rows.shape));
  draft.add_list(rows.normalized());
  if (draft.is("without_mean"))
    draft.add_none();
  else
    draft.add(draft.tensor(rows.statistics(), moments));
  draft.add(draft.tensor(rows.statistics(), moments));
  if (has_weight) add_unless(draft.is("plain"), draft, rows.normalized());
}

// ---- By channels

Dims shape_by_channel(Draft& draft, bool is_image) {
  if (draft.is("images")) return {2, 3, 2, 4};
  if (draft.is("several_tiles")) return {3, 4, 1031};
  if (draft.is("channels_last")) return draft.shape();
  draft.is("vectors", "plain", "weight_alone", "non_contiguous", "transposed", "evaluation",
           "without_running");
  const std::int64_t images = draft.is("zero_size") ? 0 : 5;
  return is_image ? Dims{images, 4, 3} : Dims{images, 4};
}

// running_mean and running_var; the numbers of other samples would not be variances.
void add_running(Draft& draft, std::int64_t channels) {
  draft.add(draft.tensor({channels}));
  draft.add(full({channels}, 1.5, draft.dtype(), draft.device()));
}

void draft_by_channel(Draft& draft, std::string_view name) {
  const Dims shape = shape_by_channel(draft, name == "instance_norm");
  const bool is_plain = draft.is("plain"), is_alone = draft.is("weight_alone");
  draft.add(draft.tensor(shape));
  if (name == "group_norm") draft.add_value(shape[1] % 2 == 0 ? std::int64_t{2} : shape[1]);
  add_unless(is_plain, draft, {shape[1]});
  add_unless(is_plain || is_alone, draft, {shape[1]});
  if (name == "native_batch_norm") return draft.add_value(1e-5);
  if (name == "group_norm") return;
  if (draft.is("without_running") || (name == "instance_norm" && is_plain)) {
    draft.add_none();
    draft.add_none();
  } else {
    add_running(draft, shape[1]);
  }
  draft.add_value(!draft.is("evaluation"));
  draft.add_value(0.1);
  draft.add_value(1e-5);
}

void draft_batch_norm_backward(Draft& draft) {
  const Dims shape = shape_by_channel(draft, false);
  const Dtype moments = dtype_of_moments(draft.dtype());
  draft.add(draft.tensor(shape));
  draft.add(draft.tensor(shape));
  add_unless(draft.is("plain"), draft, {shape[1]});
  draft.add(draft.tensor({shape[1]}, moments));
  draft.add(full({shape[1]}, 0.75, moments, draft.device()));
  draft.add_value(1e-5);
}

}  // namespace

void draft_norm(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "norm_backward" || name == "norm_gradients") return draft_norm_backward(draft, true);
  if (name == "norm_weight_backward") return draft_norm_backward(draft, false);
  if (name == "batch_norm_backward") return draft_batch_norm_backward(draft);
  if (name.ends_with("layer_norm") || name.ends_with("rms_norm"))
    return draft_over_last(draft, name);
  draft_by_channel(draft, name);
}

}  // namespace bp
