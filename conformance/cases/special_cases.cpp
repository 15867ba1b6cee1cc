#include "cases/special_cases.hpp"

#include <algorithm>

namespace bp::conform {
namespace {

Case case_of(const Operator& op, Dtype dtype, std::string shape, std::string layouts,
             std::string values, std::string form) {
  Case one;
  one.op = op.name();
  one.dtype = dtype;
  one.shape = std::move(shape);
  one.layouts = std::move(layouts);
  one.values = std::move(values);
  one.form = std::move(form);
  return one;
}

bool is_in(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

int tensors_of_schema(const Operator& op) {
  int count = 0;
  for (const SchemaArgument& argument : op.schema->arguments)
    count += argument.type == ArgumentType::tensor || argument.type == ArgumentType::tensor_list;
  return count;
}

// ---- All inputs of 16 bits

void add_every_input(const Operator& op, std::vector<Case>& out) {
  if (op.kind != BP_KIND_POINTWISE || tensors_of_schema(op) != 1) return;
  for (const Dtype dtype : {f16, bf16})
    if (contains(op.dtypes, dtype))
      out.push_back(case_of(op, dtype, "s65536", "plain", "every16", "call"));
}

// ---- Elements 2 GiB apart

void add_far_elements(const Operator& op, std::vector<Case>& out) {
  if (!is_in(op.name(), {"add", "mul", "maximum", "eq", "where", "neg", "copy", "cast", "clamp",
                         "bitwise_and"}))
    return;
  if (contains(op.dtypes, u8)) out.push_back(case_of(op, u8, "s2", "far", "normal", "call"));
}

// ---- Derivatives

bool has_derivative(const Operator& op) {
  const std::string_view table = table_of(op), name = op.name();
  if (is_in(table, {"random", "draw", "factory", "comparison", "bitwise", "indexing_only"}))
    return false;
  if (is_in(name, {"argmax", "argmin", "any", "all", "one_hot", "nonzero", "dropout", "floor",
                   "ceil", "trunc", "round"}))
    return false;
  return op.has_gradient || op.decompose || op.view;
}

// Recipes whose call writes into an argument, or gives nothing.
bool has_no_gradient_here(const Operator& op, const std::string& shape) {
  if (is_in(op.name(), {"batch_norm", "instance_norm"}) && shape != "sample:without_running")
    return true;
  // Two numbers alone may be equal, and the derivative is anyone's.
  if (is_in(op.name(), {"maximum", "minimum"}) && shape == "s") return true;
  // Derivatives end at whole numbers.
  if (is_in(op.name(), {"cast"}) && shape.find("dtype=f") == shape.npos) return true;
  if (shape.find("+0") != shape.npos) return true;
  if (shape.find("x0") != shape.npos || shape.find("s0") != shape.npos ||
      shape.find("m0k") != shape.npos || shape.find("k0n") != shape.npos)
    return true;
  // Elements that share memory share a derivative in no one way.
  if (is_in(op.name(), {"as_strided"}) && shape == "sample:expanded") return true;
  // Products of many numbers leave the range of f16 and complex numbers; of many numbers, a step changes the order.
  if (is_in(op.name(), {"prod", "sort"}))
    return shape.find("257") != shape.npos || shape.find("1031") != shape.npos ||
           shape.find("1025") != shape.npos;
  return is_in(shape,
               {"sample:zero_size", "sample:no_keys", "sample:no_channels", "sample:no_columns",
                "sample:never", "sample:promoted", "sample:integer", "sample:boolean"});
}

// In 16 bits many elements are as large as their neighbours, and powers leave the range: in a sum over what was
// broadcast, one of them leaves the whole derivative open.
bool is_open_in_half(const Operator& op, Dtype dtype, const std::string& shape) {
  return (dtype == f16 || dtype == bf16) && shape.find(',') != shape.npos &&
         is_in(op.name(), {"minimum", "maximum", "pow"});
}

void add_gradients(const Operator& op, const Axes& axes, Profile profile, std::vector<Case>& out) {
  if (!has_derivative(op)) return;
  const bool wants_positive =
      is_in(op.name(), {"log", "sqrt", "rsqrt", "log1p", "pow", "reciprocal"});
  const std::string values = wants_positive ? "positive" : "normal";
  std::vector<std::string> shapes;
  for (const std::string& shape : axes.shapes)
    if (!has_no_gradient_here(op, shape)) shapes.push_back(shape);
  const std::size_t most = profile == Profile::quick    ? 1
                           : profile == Profile::normal ? 4
                                                        : shapes.size();
  const bool is_sample = !shapes.empty() && shapes[0].starts_with("sample:");
  const std::string usual = is_sample ? "own" : "plain";
  for (const Dtype dtype : {f32, f64, f16, bf16, complex64}) {
    if (!contains(op.dtypes, dtype) && op.kind != BP_KIND_VIEW) continue;
    if ((op.kind == BP_KIND_VIEW || profile == Profile::quick) && dtype != f32) continue;
    for (std::size_t i = 0; i < std::min(shapes.size(), dtype == f32 ? most : (most + 3) / 4); ++i)
      if (!is_open_in_half(op, dtype, shapes[i]))
        out.push_back(case_of(op, dtype, shapes[i], usual, values, "grad"));
  }
  if (profile != Profile::quick && !shapes.empty() && op.kind != BP_KIND_VIEW &&
      contains(op.dtypes, f32))
    for (const char* layout : {"transpose", "step2"})
      out.push_back(case_of(op, f32, shapes[0], layout, values, "grad"));
}

// ---- Stress

void add_stress(const Operator& op, const Axes& axes, Profile profile, std::vector<Case>& out) {
  const bool is_asked =
      profile == Profile::full || (profile == Profile::normal && is_inference_row(op.name()));
  if (!is_asked || is_in(table_of(op), {"random", "draw"}) ||
      is_in(op.name(), {"empty", "empty_like", "batch_norm", "instance_norm"}) || op.view)
    return;
  if (axes.shapes.empty() || axes.dtypes.empty()) return;
  const bool is_sample = axes.shapes[0].starts_with("sample:");
  for (const char* form : {"repeat", "threads"})
    out.push_back(case_of(op, axes.dtypes[0], axes.shapes[0], is_sample ? "own" : "plain",
                          is_sample ? "own" : "normal", form));
}

// ---- Refusals

struct Refusal {
  std::string_view row, shape;
  const char* values = "normal";
};
constexpr Refusal refusals[] = {{"matmul", "s3x4,5x6"},
                                {"matmul", "s2x3x4,3x4x5"},
                                {"bmm", "s3x4,4x5"},
                                {"bmm", "s2x3x4,3x4x5"},
                                {"bmm", "s2x3x4,2x5x6"},
                                {"sum", "s3x5:dim=5"},
                                {"sum", "s3x5:dim=0x0"},
                                {"mean", "s3x5:dim=-3"},
                                {"max", "s3x5:dim=2"},
                                {"max", "s0x5:dim=0"},
                                {"min", "s0x5:dim=0"},
                                {"argmax", "s0x5:dim=0"},
                                {"argmax", "s3x5:dim=2"},
                                {"argmin", "s0x5:dim=0"},
                                {"var", "s3x5:dim=7"},
                                {"softmax", "s3x5:dim=2"},
                                {"log_softmax", "s3x5:dim=-3"},
                                {"cumsum", "s3x5:dim=2"},
                                {"sort", "s3x5:dim=2"},
                                {"topk", "s3x5:k=6"},
                                {"topk", "s3x5:k=-1"},
                                {"gather", "s4x6,3:dim=1"},
                                {"gather", "s4x6,4x6:dim=0:index=f32"},
                                {"gather", "s4x6,4x6:dim=2"},
                                {"gather", "s4x6,5x6:dim=1"},
                                {"gather", "s0x5,3x5:dim=0"},
                                {"index_select", "s4x6,2x2:dim=0"},
                                {"index_select", "s4x6,3:dim=0:index=f32"},
                                {"index_select", "s4x6,3:dim=2"},
                                {"scatter_add", "s4x6,4x7,4x6:dim=1"},
                                {"scatter_add", "s4x6,4x6,4x6:dim=1:src=i64"},
                                {"scatter", "s4x6,4x7,4x6:dim=1"},
                                {"embedding", "s2x3x4,5"},
                                {"embedding", "s6x4,5:indices=f32"},
                                {"embedding", "s6x4,5:padding_idx=6"},
                                {"gather", "s5x33,3x33:dim=0", "too_high"},
                                {"gather", "s5x33,3x33:dim=0", "too_low"},
                                {"gather", "s4x6,4x600:dim=1", "too_high"},
                                {"index_select", "s5x33,7:dim=0", "too_high"},
                                {"index_select", "s5x33,7:dim=0", "too_low"},
                                {"scatter_add", "s4x6,4x9,4x9:dim=1", "too_high"},
                                {"scatter_add", "s4x6,4x9,4x9:dim=1", "too_low"},
                                {"scatter", "s4x6,4x9,4x9:dim=1", "too_high"},
                                {"scatter", "s4x6,4x9,4x9:dim=1", "too_low"},
                                {"embedding", "s9x33,2x3", "too_high"},
                                {"embedding", "s9x33,2x3", "too_low"},
                                {"one_hot", "s9:num_classes=5", "too_high"},
                                {"one_hot", "s9:num_classes=5", "too_low"},
                                {"one_hot", "s9:num_classes=0"},
                                {"cat", "s3x5+2x4:dim=0"},
                                {"cat", "s3x5+2:dim=0"},
                                {"cat", "s3x5+2x5:dim=2"},
                                {"full", "s:size=-1:fill_value=1"},
                                {"arange", "s:start=0:end=5:step=0"},
                                {"arange", "s:start=5:end=0:step=1"},
                                {"reshape", "s3x5:shape=4x4"},
                                {"view", "s3x5:size=16"},
                                {"transpose", "s3x5:dim0=0:dim1=2"},
                                {"permute", "s3x5:dims=0x0"},
                                {"select", "s3x5:dim=1:index=5"},
                                {"narrow", "s3x5:dim=0:start=2:length=2"},
                                {"expand", "s3x5:size=4x5"},
                                {"squeeze", "s3x5:dim=3"},
                                {"linear", "s4x5,6x4"},
                                {"conv2d", "s2x3x5x5,4x2x3x3"},
                                {"native_layer_norm", "s3x5:normalized_shape=4"},
                                {"layer_norm", "s3x5:normalized_shape=4"},
                                {"constant_pad_nd", "s3x5:pad=-3x-3"},
                                {"native_attention", "s2x2x3x4,2x2x5x3,2x2x5x4,-:scale=0.5"}};

// A dtype that the row does not compute in.
bool foreign_dtype(const Operator& op, Dtype& out) {
  const bool promotes = op.promotion == Promotion::common || op.promotion == Promotion::compare;
  if (op.kind != BP_KIND_POINTWISE || !promotes || op.dtypes == set_of(boolean)) return false;
  for (const Dtype dtype : {complex64, i64, f32}) {
    if (contains(op.dtypes, dtype)) continue;
    out = dtype;
    return true;
  }
  return false;
}

void add_refusals(const Operator& op, const Axes& axes, std::vector<Case>& out) {
  if (axes.dtypes.empty()) return;
  const bool in_place = op.kind == BP_KIND_POINTWISE && op.promotion != Promotion::compare;
  const Dtype usual = axes.dtypes[0];
  for (const Refusal& refusal : refusals)
    if (refusal.row == op.name())
      out.push_back(
          case_of(op, usual, std::string(refusal.shape), "plain", refusal.values, "error"));
  if (op.kind != BP_KIND_POINTWISE) return;
  const int tensors = tensors_of_schema(op);
  if (tensors == 2) out.push_back(case_of(op, usual, "s3x5,4", "plain", "normal", "error"));
  if (tensors == 3) out.push_back(case_of(op, usual, "s3x5,4,5", "plain", "normal", "error"));
  if (in_place && std::string_view(op.name()) != "where")
    out.push_back(case_of(op, usual, "s3x5", "expand.plain", "normal", "error"));
  Dtype foreign = f32;
  if (foreign_dtype(op, foreign))
    out.push_back(case_of(op, foreign, "s3x5", "plain", "normal", "error"));
}

}  // namespace

std::vector<Case> refusals_of(const Operator& op) {
  std::vector<Case> found;
  add_refusals(op, axes_of(op, Profile::quick), found);
  return found;
}

void add_special_cases(const Operator& op, const Axes& axes, Profile profile,
                       std::vector<Case>& out) {
  add_refusals(op, axes, out);
  if (profile != Profile::quick) {
    add_every_input(op, out);
    add_far_elements(op, out);
  }
  add_gradients(op, axes, profile, out);
  add_stress(op, axes, profile, out);
}

}  // namespace bp::conform
