#include "cases/axes.hpp"

#include <algorithm>

#include <backplane/core_ops/row_facts.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "inputs/draft_problem.hpp"
#include "inputs/element.hpp"
#include "inputs/layouts.hpp"

namespace bp::conform {
namespace {

using Texts = std::vector<std::string>;

constexpr Dtype main_dtypes[] = {f32, f16, bf16, f64, i64, i32, u8, boolean, complex64};
constexpr Dtype other_dtypes[] = {i8, i16, u16, u32, u64, complex128, f8_e4m3fn, f8_e5m2};

bool has_samples(const Texts& shapes) {
  return !shapes.empty() && shapes[0].starts_with("sample:");
}

bool is_one_of_rows(std::string_view name, std::initializer_list<std::string_view> rows) {
  return std::find(rows.begin(), rows.end(), name) != rows.end();
}

// How many tensors the row takes; lists count as two.
int tensor_arguments(const Operator& op) {
  int count = 0;
  for (const SchemaArgument& argument : op.schema->arguments) {
    count += argument.type == ArgumentType::tensor;
    count += argument.type == ArgumentType::tensor_list ? 2 : 0;
  }
  return count;
}

Texts layouts_of(const Operator& op, const Texts& shapes, Profile profile) {
  const bool is_full = profile == Profile::full;
  if (tensor_arguments(op) == 0) return {"plain"};
  if (has_samples(shapes)) {
    if (op.kind == BP_KIND_VIEW) return {"own", "transpose", "step2"};
    Texts layouts = {"own", "transpose", "step2", "channels_last"};
    if (is_full)
      for (const char* more : {"padded", "expand"}) layouts.push_back(more);
    return layouts;
  }
  if (op.kind == BP_KIND_MATMUL && !is_full)
    return {"plain", "transpose.plain", "plain.transpose", "step2"};
  if (tensor_arguments(op) == 1) {
    Texts layouts = {"plain", "transpose", "step2", "expand", "channels_last", "offset"};
    if (is_full)
      for (const char* more : {"padded", "inner", "overlap"}) layouts.push_back(more);
    return layouts;
  }
  Texts layouts = {"plain",        "transpose.plain", "step2",
                   "plain.expand", "channels_last",   "offset.padded"};
  if (is_full)
    for (const char* more : {"inner.plain", "padded.transpose", "overlap.permute"})
      layouts.push_back(more);
  return layouts;
}

Texts values_of_row(const Operator& op, const Texts& shapes) {
  const std::string_view name = op.name(), table = table_of(op);
  if (tensor_arguments(op) == 0) return {"normal"};
  if (is_one_of_rows(name, {"gather", "index_select", "embedding", "one_hot"}))
    return {"normal", "duplicates", "big", "specials"};
  if (is_one_of_rows(name, {"scatter", "scatter_add"}))
    return {"normal", "duplicates", "exact", "big"};
  if (has_samples(shapes)) {
    if (op.kind == BP_KIND_VIEW) return {"own", "specials"};
    if (table == "norm") return {"own", "normal", "cancel", "exact"};
    if (table == "shape") return {"own", "specials", "big"};
    if (table == "loss") return {"own", "normal", "positive"};  // small integers cancel
    if (table == "pooling") return {"own", "normal", "ties", "specials"};
    if (is_one_of_rows(table, {"convolution", "linear", "attention"}))
      return {"own", "normal", "exact", "cancel"};
    if (is_one_of_rows(table, {"draw", "random", "factory"}) || name == "index_put") return {"own"};
    return {"own", "normal", "exact"};
  }
  if (is_one_of_rows(name, {"matmul", "bmm"}))
    return {"normal", "exact", "cancel", "specials", "wide"};
  if (is_one_of_rows(name, {"sort", "topk", "argmax", "argmin", "max", "min"}))
    return {"normal", "ties", "specials", "wide", "big"};
  // Of products of many numbers it depends on the order whether they leave the range.
  if (name == "prod") return {"normal", "exact", "specials", "big"};
  if (table == "reduction" || table == "statistics")
    return {"normal", "exact", "cancel", "wide", "specials", "big"};
  if (is_one_of_rows(name, {"softmax", "log_softmax", "cumsum"}))
    return {"normal", "cancel", "specials", "wide", "exact", "big"};
  if (op.kind == BP_KIND_POINTWISE) {
    if (is_one_of_rows(name, {"log", "sqrt", "rsqrt", "log1p", "pow"}))
      return {"positive", "specials", "wide", "near", "normal", "exact"};
    return {"normal", "specials", "wide", "near", "ties", "big"};
  }
  return {"normal", "specials", "big", "wide"};
}

Texts forms_of(const Operator& op) {
  Texts forms = {"call"};
  if (op.kind == BP_KIND_VIEW) return forms;
  if (writes_where_told(op)) forms.push_back("out");
  if (op.kind == BP_KIND_POINTWISE && op.promotion != Promotion::compare)
    forms.push_back("in_place");
  if (op.kind == BP_KIND_POINTWISE || op.kind == BP_KIND_MATMUL)
    if (tensor_arguments(op) >= 2) forms.push_back("aliased");
  forms.push_back("recycled");
  forms.push_back("stream");
  return forms;
}

// The first tensor has a shape of its own that the result does not grow over.
bool keeps_first_shape(const Case& one) {
  const std::vector<std::string> tensors =
      split_text(std::string_view(one.shape).substr(0, one.shape.find(':')), ',');
  if (tensors.size() == 1) return true;
  std::vector<std::int64_t> first, other;
  if (!read_sizes(std::string_view(tensors[0]).substr(1), first)) return false;
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (!tensors[i].empty() && tensors[i][0] == '#') continue;
    if (!read_sizes(tensors[i], other) || other.size() > first.size()) return false;
    for (std::size_t d = 0; d < other.size(); ++d) {
      const std::int64_t own = first[first.size() - other.size() + d];
      if (other[d] != own && other[d] != 1) return false;
    }
  }
  return true;
}

}  // namespace

std::string_view table_of(const Operator& op) {
  const RowFacts* facts = find_row_facts(op.name());
  return facts ? facts->table : "";
}

bool writes_where_told(const Operator& op) {
  return op.infer != nullptr && !op.view && !(op.flags & BP_OP_SHAPE_DATA);
}

std::vector<Dtype> dtypes_of(const std::string& name) {
  const Operator* op = find_operator(name);
  std::vector<Dtype> dtypes;
  if (!op) return dtypes;
  if (op->kind == BP_KIND_VIEW) return {f32, i64, boolean, complex64};
  const auto add_all = [&](const auto& list) {
    for (const Dtype dtype : list)
      if (contains(op->dtypes, dtype)) dtypes.push_back(dtype);
  };
  add_all(main_dtypes);
  add_all(other_dtypes);
  return dtypes;
}

namespace {

// At most so many, evenly spread over the list, the first one among them.
void thin_out(std::vector<std::string>& axis, std::size_t most) {
  if (axis.size() <= most) return;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(axis[i * axis.size() / most]);
  axis = std::move(kept);
}

}  // namespace

Axes axes_of(const Operator& op, Profile profile) {
  Axes axes;
  for (const Dtype dtype : dtypes_of(op.name())) {
    const bool is_main =
        std::find(std::begin(main_dtypes), std::end(main_dtypes), dtype) != std::end(main_dtypes);
    (is_main ? axes.dtypes : axes.minor_dtypes).push_back(dtype);
  }
  if (axes.dtypes.empty()) axes.dtypes.swap(axes.minor_dtypes);
  axes.shapes = shapes_of(op, profile);
  axes.layouts = layouts_of(op, axes.shapes, profile);
  axes.values = values_of_row(op, axes.shapes);
  axes.forms = forms_of(op);
  if (profile == Profile::quick) thin_out(axes.shapes, 6);
  return axes;
}

void make_sensible(const Operator& op, Case& one) {
  const std::string first_layout = split_text(one.layouts, '.')[0];
  if (one.form == "in_place" && (!keeps_first_shape(one) || is_read_only_layout(first_layout) ||
                                 std::string_view(op.name()) == "where"))
    one.form = "call";
  // Of a sample the layout and the values are its own, or those of the case, not a bit of both.
  if (!one.shape.starts_with("sample:")) {
    if (one.layouts == "own") one.layouts = "plain";
    if (one.values == "own") one.values = "normal";
  }
  // A whole number would make whole numbers of bools.
  const std::size_t number = one.shape.find("#1");
  if (one.dtype == boolean && number != std::string::npos) one.shape.replace(number, 2, "#true");
  if (std::string_view(op.name()) == "cast" && one.values == "wide" && !is_floating(one.dtype))
    one.values = "normal";
  keep_numbers_held(op, one);
  choose_telling_values(op, one);
}

namespace {

bool is_vector_shape(std::string_view shape) {
  return shape.find('x') == shape.npos && !shape.starts_with("sample:");
}

// Tensors of which many elements are one: their deviations are nothing but rounding.
void choose_for_repeated(std::string_view name, Case& one) {
  const bool is_repeated = one.layouts.find("expand") != std::string::npos;
  const bool is_inner = one.layouts.find("inner") != std::string::npos;
  if (!is_repeated && !is_inner) return;
  const bool is_vector = is_vector_shape(one.shape);
  const bool takes_deviations = name == "var" || name == "std";
  if (takes_deviations && is_repeated && !is_vector) {
    if (const std::size_t dim = one.shape.find("dim=0"); dim != std::string::npos)
      one.shape.replace(dim, 5, "dim=1");
    if (one.values == "cancel" || one.values == "big" || one.values == "wide")
      one.values = "normal";
  }
  if (takes_deviations && (is_inner || is_vector)) one.layouts = "padded";
  // Deviations from a mean that all of them are, and one number, a special one, for a whole loss.
  const bool is_norm = name.find("batch_norm") != std::string_view::npos ||
                       name.find("layer_norm") != std::string_view::npos;
  if (is_repeated && (is_norm || one.shape == "sample:specials")) one.layouts = "padded";
  // One number for all, where the function may have no value.
  if (is_vector && one.values != "normal" && one.values != "ties") one.values = "positive";
}

// Sums over thousands, and differences of what was rounded, leave what 16 bits have.
void choose_for_half(const Operator& op, Case& one) {
  const std::string_view name = op.name();
  const bool is_gradient = name.ends_with("_backward") || name.ends_with("_gradients");
  if (one.values == "cancel" && is_gradient) one.values = "normal";
  if (one.dtype != f16) return;
  const bool is_long = one.shape == "sample:several_tiles";
  if (one.values == "cancel" && (is_long || name == "einsum" || table_of(op) == "norm"))
    one.values = "normal";
  if (one.values == "exact" && is_long && is_gradient) one.values = "normal";
  if (one.values == "big" && name == "norm") one.values = "exact";  // its squares
  if (const RowFacts* facts = find_row_facts(name);
      facts && is_long && std::string_view(facts->table) == "loss")
    one.shape = "sample:" + split_text(facts->samples, ' ')[0];
}

}  // namespace

void choose_telling_values(const Operator& op, Case& one) {
  const std::string_view name = op.name();
  if (one.dtype == f16 || one.dtype == bf16) choose_for_half(op, one);
  choose_for_repeated(name, one);
  // Steps that float64 can still be told by move 2^53 by more than a row of exponentials or of deviations has.
  const bool takes_differences =
      name == "softmax" || name == "log_softmax" || name == "var" || name == "std";
  if (one.values == "big" && one.dtype == f64 && takes_differences) one.values = "exact";
  if (one.values == "big" && name == "prod" && !holds_whole_numbers(one.dtype))
    one.values = "exact";
  // One complex number is made of two parts, neither of which has a bound where a product overflows on the way.
  const bool is_single = one.shape == "s" || one.shape == "s1";
  if (one.values == "wide" && is_complex(one.dtype) && is_single) one.values = "normal";
  // Of nothing: two complex parts, each of which may be NaN.
  if (name == "mean" && is_complex(one.dtype) && one.shape.starts_with("s0x"))
    one.shape.replace(0, 3, "s1x");
}

void keep_numbers_held(const Operator& op, Case& one) {
  const std::string_view name = op.name();
  const bool is_unsigned = contains(set_of(u8, u16, u32, u64), one.dtype);
  if (name == "full" && is_unsigned && one.shape.ends_with("=-2"))
    one.shape.erase(one.shape.size() - 2, 1);
  if (name != "arange") return;
  const bool has_fraction = one.shape.find('.') != std::string::npos;
  if (has_fraction && !is_floating(one.dtype)) one.shape = "s:start=0:end=257";
  if (is_unsigned && one.shape == "s:start=10:end=-5:step=-4")
    one.shape = "s:start=10:end=1:step=-4";
  const bool is_long = one.shape == "s:start=0:end=257" || one.shape == "s:start=0:end=1031";
  if (is_long && one.dtype == u8) one.shape = "s:start=0:end=256";
  if (is_long && one.dtype == i8) one.shape = "s:start=-128:end=128";
}

}  // namespace bp::conform
