#include "cases/axes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

using Texts = std::vector<std::string>;

constexpr Dtype main_dtypes[] = {f32, f16, bf16, f64, i64, i32, u8, boolean, complex64};
constexpr Dtype dtypes_of_views[] = {f32, i64, boolean, complex64};
constexpr Dtype other_dtypes[] = {i8, i16, u16, u32, u64, complex128, f8_e4m3fn, f8_e5m2};

Texts layouts_of(const Operator& op, const Texts& shapes, Profile profile) {
  const bool is_full = profile == Profile::full;
  const auto and_in_full = [&](Texts layouts, const Texts& more) {
    if (is_full) layouts.insert(layouts.end(), more.begin(), more.end());
    return layouts;
  };
  if (tensor_arguments(op) == 0) return {"plain"};
  if (!shapes.empty() && shapes[0].starts_with("sample:")) {
    if (op.kind == BP_KIND_VIEW) return {"own", "transpose", "step2"};
    return and_in_full({"own", "transpose", "step2", "channels_last"}, {"padded", "expand"});
  }
  if (op.kind == BP_KIND_MATMUL && !is_full)
    return {"plain", "transpose.plain", "plain.transpose", "step2"};
  if (tensor_arguments(op) == 1)
    return and_in_full({"plain", "transpose", "step2", "expand", "channels_last", "offset"},
                       {"padded", "inner", "overlap"});
  return and_in_full(
      {"plain", "transpose.plain", "step2", "plain.expand", "channels_last", "offset.padded"},
      {"inner.plain", "padded.transpose", "overlap.permute"});
}

// Where every tensor may be a number, a row of two tensors is also called with one.
constexpr const char* shape_with_number = "s3x37,#1";

Texts shapes_of(const Operator& op, const RowFacts& facts, Profile profile) {
  Texts shapes = split_text(facts.shapes, ' ');
  if (profile == Profile::full)
    for (std::string& more : split_text(facts.more_shapes, ' '))
      if (!more.empty()) shapes.push_back(std::move(more));
  if (op.kind == BP_KIND_POINTWISE && tensor_arguments(op) == 2 && (op.scalar_ok & 2u))
    shapes.push_back(shape_with_number);
  return shapes;
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
  Sizes first, other;
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

std::vector<Dtype> Axes::all_dtypes() const {
  std::vector<Dtype> all = dtypes;
  all.insert(all.end(), minor_dtypes.begin(), minor_dtypes.end());
  return all;
}

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

Case case_at(const Operator& op, const Axes& axes, const std::vector<int>& places) {
  const auto at = [&](std::size_t axis) { return static_cast<std::size_t>(places[axis]); };
  return case_of(op, axes.dtypes[at(0)], axes.shapes[at(1)], axes.layouts[at(2)],
                 axes.values[at(3)], axes.forms[at(4)]);
}

std::vector<int> sizes_of(const Axes& axes) {
  std::vector<int> sizes = {static_cast<int>(axes.dtypes.size())};
  for (const Texts* axis : {&axes.shapes, &axes.layouts, &axes.values, &axes.forms})
    sizes.push_back(static_cast<int>(axis->size()));
  return sizes;
}

bool repeats_elements(std::string_view layouts) {
  return layouts.find("expand") != layouts.npos || layouts.find("inner") != layouts.npos ||
         layouts.find("overlap") != layouts.npos;
}

int tensor_arguments(const Operator& op) {
  int count = 0;
  for (const SchemaArgument& argument : op.schema->arguments) {
    count += argument.type == ArgumentType::tensor;
    count += argument.type == ArgumentType::tensor_list ? 2 : 0;
  }
  return count;
}

bool converts(const Operator& op) {
  return op.kind == BP_KIND_COPY && op.schema->find("dtype") >= 0;
}

bool gives_the_same_again(const Operator& op) {
  return !op.mutates && op.draws != Draws::always && !has_trait(op.name(), Trait::undetermined);
}

bool takes_result_first(const Operator& op) {
  return op.promoted == 0 || (op.promoted & 1u) != 0;
}

bool writes_where_told(const Operator& op) {
  return op.infer != nullptr && !op.view && !(op.flags & BP_OP_SHAPE_DATA) &&
         !op.schema->returns.empty();
}

std::vector<Dtype> dtypes_of(const std::string& name) {
  const Operator* op = find_operator(name);
  std::vector<Dtype> dtypes;
  if (!op) return dtypes;
  const auto add_all = [&](const auto& list) {
    for (const Dtype dtype : list)
      if (contains(op->dtypes, dtype)) dtypes.push_back(dtype);
  };
  if (op->kind == BP_KIND_VIEW) {
    add_all(dtypes_of_views);
    return dtypes;
  }
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
    const bool is_main = std::ranges::find(main_dtypes, dtype) != std::end(main_dtypes);
    (is_main ? axes.dtypes : axes.minor_dtypes).push_back(dtype);
  }
  if (axes.dtypes.empty()) axes.dtypes.swap(axes.minor_dtypes);
  const RowFacts* facts = find_row_facts(op.name());
  if (!facts) return axes;
  axes.shapes = shapes_of(op, *facts, profile);
  axes.layouts = layouts_of(op, axes.shapes, profile);
  axes.values = tensor_arguments(op) == 0 ? Texts{"normal"} : split_text(facts->values, ' ');
  axes.forms = forms_of(op);
  if (profile == Profile::quick) thin_out(axes.shapes, 6);
  return axes;
}

void make_sensible(const Operator& op, Case& one) {
  const std::string first_layout = split_text(one.layouts, '.')[0];
  if (one.form == "in_place" &&
      (!keeps_first_shape(one) || is_read_only_layout(first_layout) || !takes_result_first(op)))
    one.form = "call";
  // Of a sample the layout and the values are its own, or those of the case, not a bit of both.
  if (!one.shape.starts_with("sample:")) {
    if (one.layouts == "own") one.layouts = "plain";
    if (one.values == "own") one.values = "normal";
  }
  // A whole number would make whole numbers of bools.
  const std::size_t number = one.shape.find("#1");
  if (one.dtype == boolean && number != std::string::npos) one.shape.replace(number, 2, "#true");
  if (converts(op) && one.values == "wide" && !is_floating(one.dtype)) one.values = "normal";
  keep_numbers_held(op, one);
  choose_telling_values(op, one);
}

namespace {

bool is_vector_shape(std::string_view shape) {
  return shape.find('x') == shape.npos && !shape.starts_with("sample:");
}

// Tensors of which many elements are one: their deviations are nothing but rounding.
void choose_for_repeated(const RowFacts& facts, Case& one) {
  const bool is_repeated = one.layouts.find("expand") != std::string::npos;
  const bool is_inner = one.layouts.find("inner") != std::string::npos;
  if (!is_repeated && !is_inner) return;
  const bool is_vector = is_vector_shape(one.shape);
  // Differences of one large number from itself: a step of it, by rounding, moves them by any amount.
  if (one.values == "wide" && facts.is(Trait::differences)) one.values = "normal";
  const bool takes_deviations = facts.is(Trait::deviations);
  if (takes_deviations && is_repeated && !is_vector) {
    if (const std::size_t dim = one.shape.find("dim=0"); dim != std::string::npos)
      one.shape.replace(dim, 5, "dim=1");
    if (one.values == "cancel" || one.values == "big" || one.values == "wide")
      one.values = "normal";
  }
  if (takes_deviations && (is_inner || is_vector)) one.layouts = "padded";
  // Deviations from a mean that all of them are, one number, a special one, for a whole loss, matrices of equal
  // rows, which are singular, and what is taken from its like.
  const bool is_sample = one.shape.starts_with("sample:");
  if (is_repeated &&
      (facts.is(Trait::normalizes) || one.shape == "sample:specials" ||
       (facts.is(Trait::telling_input) && (is_floating(one.dtype) || is_complex(one.dtype))) ||
       (is_sample && facts.is(Trait::differences))))
    one.layouts = "padded";
  // A few numbers for all, each of which may be where a complex function has no value.
  if (is_inner && one.values == "corners") one.values = "normal";
  // One number for all, where the function may have no value.
  if (is_vector && one.values != "normal" && one.values != "ties") one.values = "positive";
}

// Sums over thousands, and differences of what was rounded, leave what 16 bits have.
void choose_for_half(const Operator& op, const RowFacts& facts, Case& one) {
  const bool is_gradient = facts.is(Trait::gradient);
  if (one.values == "cancel" && is_gradient) one.values = "normal";
  const bool is_long = one.shape == "sample:several_tiles";
  // Products of a hundred factors, and terms of a large degree, leave nothing to tell.
  if ((is_long && facts.is(Trait::factors) && facts.is(Trait::adds_in_place)) ||
      (one.shape == "sample:large" && facts.is(Trait::powers) && facts.is(Trait::conditioned)))
    one.shape = split_text(facts.shapes, ' ')[0];
  // One number of many sizes for a whole row of results may put all of them beyond what 16 bits hold.
  if (one.values == "wide" && one.layouts.find("expand") != std::string::npos)
    one.values = "normal";
  if (one.dtype != f16) return;
  if (is_long && facts.is(Trait::open_in_half)) one.shape = "sample:same";
  if (one.values == "cancel" && (is_long || facts.is(Trait::cancels_in_half)))
    one.values = "normal";
  if (one.values == "exact" && is_long && is_gradient) one.values = "normal";
  if (one.values == "big" && facts.is(Trait::powers)) one.values = "exact";
  const bool makes_one_number = op.schema->find("reduction") >= 0;
  if (one.values == "positive" && makes_one_number) one.values = "normal";
  if (is_long && makes_one_number) one.shape = split_text(facts.shapes, ' ')[0];
}

bool holds(Dtype dtype, double number) {
  if (dtype == boolean || is_floating(dtype) || is_complex(dtype)) return true;
  const int bits = static_cast<int>(itemsize(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
  return number < std::ldexp(1.0, bits) &&
         number >= (is_signed_integer(dtype) ? -std::ldexp(1.0, bits) : 0);
}

// Are all numbers of the call such as the dtype holds? Fractions in a range of whole numbers are a matter of taste.
bool numbers_are_held(const Operator& op, const Case& one) {
  const std::vector<std::string> parts = split_text(one.shape, ':');
  const bool is_range = op.schema->find("end") >= 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const int place = op.schema->find(std::string_view(parts[i]).substr(0, equals));
    if (place < 0 || equals == std::string::npos) continue;
    const ArgumentType type = op.schema->arguments[static_cast<std::size_t>(place)].type;
    if (type != ArgumentType::scalar) continue;
    const double number = std::strtod(parts[i].c_str() + equals + 1, nullptr);
    const bool is_fraction = number != std::trunc(number) && !is_floating(one.dtype);
    const bool is_step = op.schema->arguments[static_cast<std::size_t>(place)].has_default;
    if ((is_range && is_fraction) || (!is_step && !holds(one.dtype, number))) return false;
  }
  return true;
}

}  // namespace

void choose_telling_values(const Operator& op, Case& one) {
  const RowFacts* facts = find_row_facts(op.name());
  if (!facts) return;
  if (one.dtype == f16 || one.dtype == bf16) choose_for_half(op, *facts, one);
  choose_for_repeated(*facts, one);
  // Steps that float64 can still be told by move 2^53 by more than a row of exponentials or of deviations has.
  if (one.values == "big" && (one.dtype == f64 || one.dtype == complex128) &&
      facts->is(Trait::differences))
    one.values = "exact";
  if (one.values == "big" && facts->is(Trait::factors) && !holds_whole_numbers(one.dtype))
    one.values = "exact";
  // One complex number is made of two parts, neither of which has a bound where a product overflows on the way.
  const bool is_single = one.shape == "s" || one.shape == "s1";
  if (one.values == "wide" && is_complex(one.dtype) && is_single) one.values = "normal";
  // Of nothing: two complex parts, each of which may be NaN.
  if (facts->is(Trait::divides) && is_complex(one.dtype) && one.shape.starts_with("s0x"))
    one.shape.replace(0, 3, "s1x");
}

void keep_numbers_held(const Operator& op, Case& one) {
  const RowFacts* facts = find_row_facts(op.name());
  if (!facts || numbers_are_held(op, one)) return;
  // The next one that will do.
  const Texts shapes = split_text(facts->shapes, ' ');
  const auto own = std::ranges::find(shapes, one.shape);
  const auto place = static_cast<std::size_t>(own - shapes.begin());
  for (std::size_t i = 1; i <= shapes.size(); ++i) {
    one.shape = shapes[(place + i) % shapes.size()];
    if (numbers_are_held(op, one)) return;
  }
}

// ---- Covering arrays

namespace {

// Which combinations of one group are still wanted.
class Wanted {
 public:
  Wanted(const std::vector<int>& sizes, const std::vector<int>& group)
      : sizes_(sizes), group_(group) {
    std::size_t count = 1;
    for (const int axis : group)
      count *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(axis)]);
    wanted_.assign(count, true);
    left_ = count;
  }
  std::size_t left() const { return left_; }

  // The position of the row's combination; false while one of the axes is open (-1).
  bool place_of(const std::vector<int>& row, std::size_t& place) const {
    place = 0;
    for (const int axis : group_) {
      const int value = row[static_cast<std::size_t>(axis)];
      if (value < 0) return false;
      place = place * static_cast<std::size_t>(sizes_[static_cast<std::size_t>(axis)]) +
              static_cast<std::size_t>(value);
    }
    return true;
  }
  bool gains(const std::vector<int>& row) const {
    std::size_t place = 0;
    return left_ != 0 && place_of(row, place) && wanted_[place];
  }
  void take(const std::vector<int>& row) {
    std::size_t place = 0;
    if (!place_of(row, place) || !wanted_[place]) return;
    wanted_[place] = false;
    --left_;
  }
  // Puts the first combination that is still wanted into the row.
  void begin(std::vector<int>& row) {
    while (!wanted_[next_]) ++next_;
    std::size_t rest = next_;
    for (std::size_t i = group_.size(); i-- > 0;) {
      const auto axis = static_cast<std::size_t>(group_[i]);
      row[axis] = static_cast<int>(rest % static_cast<std::size_t>(sizes_[axis]));
      rest /= static_cast<std::size_t>(sizes_[axis]);
    }
  }
  bool has(int axis) const { return std::ranges::find(group_, axis) != group_.end(); }

 private:
  const std::vector<int>& sizes_;
  const std::vector<int> group_;
  std::vector<bool> wanted_;
  std::size_t left_ = 0, next_ = 0;
};

// The value for the open axis that settles most; among equals a different one each time.
void settle_axis(std::vector<int>& row, int axis, int size, const std::vector<Wanted>& all,
                 std::uint64_t turn) {
  int best = 0, best_gain = -1;
  const int first = static_cast<int>(mix(turn, static_cast<std::uint64_t>(axis)) %
                                     static_cast<std::uint64_t>(size));
  for (int i = 0; i < size; ++i) {
    const int value = (first + i) % size;
    row[static_cast<std::size_t>(axis)] = value;
    int gain = 0;
    for (const Wanted& wanted : all)
      if (wanted.has(axis)) gain += wanted.gains(row);
    if (gain <= best_gain) continue;
    best = value;
    best_gain = gain;
  }
  row[static_cast<std::size_t>(axis)] = best;
}

}  // namespace

std::vector<std::vector<int>> groups_of(int axes, int strength) {
  std::vector<std::vector<int>> groups;
  for (int bits = 0; bits < 1 << axes; ++bits) {
    std::vector<int> group;
    for (int axis = 0; axis < axes; ++axis)
      if (bits >> axis & 1) group.push_back(axis);
    if (static_cast<int>(group.size()) == strength) groups.push_back(group);
  }
  return groups;
}

std::vector<std::vector<int>> cover(const std::vector<int>& sizes,
                                    const std::vector<std::vector<int>>& groups,
                                    std::uint64_t seed) {
  std::vector<Wanted> all;
  for (const std::vector<int>& group : groups) all.emplace_back(sizes, group);
  std::vector<std::vector<int>> rows;
  for (;;) {
    const auto most = std::ranges::max_element(
        all, [](const Wanted& a, const Wanted& b) { return a.left() < b.left(); });
    if (most == all.end() || most->left() == 0) return rows;
    std::vector<int> row(sizes.size(), -1);
    most->begin(row);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (row[axis] < 0)
        settle_axis(row, static_cast<int>(axis), sizes[axis], all, seed + rows.size());
    for (Wanted& wanted : all) wanted.take(row);
    rows.push_back(std::move(row));
  }
}

}  // namespace bp::conform
