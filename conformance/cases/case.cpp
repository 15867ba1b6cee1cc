// Names of cases: written, read back, which arguments the text of the shape asks for, and which level and family it implies.
#include "cases/case.hpp"

#include <algorithm>
#include <map>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "cases/derive.hpp"
#include "cases/kernels.hpp"
#include "cases/special_cases.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "trials/probes.hpp"

namespace bp::conform {
namespace {

[[noreturn]] void refuse_name(std::string_view name, const std::string& why) {
  throw_error(
      ErrorClass::bad_argument,
      "'" + std::string(name) + "' is not a case: " + why +
          "; a case is lane:op[dtype]/shape/layouts/values/form@seed, or probe:name/what@seed");
}

constexpr std::string_view lane_names[] = {"direct", "core", "probe"};

// Takes what is before the separator, which must be there.
std::string take_until(std::string_view name, std::string_view& rest, char separator,
                       const char* what) {
  const std::size_t end = rest.find(separator);
  if (end == rest.npos) refuse_name(name, std::string("it has no ") + what);
  std::string part(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return part;
}

void read_probe(std::string_view rest, Case& one) {
  std::string* const parts[] = {&one.op, &one.shape, &one.layouts, &one.values, &one.form};
  for (std::string* part : parts) {
    const std::size_t end = part == &one.form ? rest.npos : rest.find('/');
    *part = rest.substr(0, end);
    if (end == rest.npos) return;
    rest.remove_prefix(end + 1);
  }
}

void read_row(std::string_view name, std::string_view rest, Case& one) {
  one.op = take_until(name, rest, '[', "dtype in brackets");
  const std::string dtype = take_until(name, rest, ']', "end of its brackets");
  if (!dtype_of_short_name(dtype, one.dtype))
    refuse_name(name, "there is no dtype '" + dtype + "'");
  if (rest.empty() || rest[0] != '/') refuse_name(name, "'/' does not follow the dtype");
  rest.remove_prefix(1);
  one.shape = take_until(name, rest, '/', "layouts");
  one.layouts = take_until(name, rest, '/', "values");
  one.values = take_until(name, rest, '/', "form");
  one.form = rest;
  if (one.op.empty() || one.layouts.empty() || one.values.empty() || one.form.empty() ||
      one.form.find('/') != std::string::npos)
    refuse_name(name, "it has not five parts");
}

}  // namespace

std::string name_of(const Case& one) {
  std::string name(lane_names[static_cast<std::size_t>(one.lane)]);
  name += ':' + one.op;
  if (one.lane == Lane::probe) {
    std::string parts = '/' + one.shape + '/' + one.layouts + '/' + one.values + '/' + one.form;
    while (!parts.empty() && parts.back() == '/') parts.pop_back();
    name += parts;
  } else {
    name += '[';
    name += short_name(one.dtype);
    name += "]/" + one.shape + '/' + one.layouts + '/' + one.values + '/' + one.form;
  }
  return name + '@' + std::to_string(one.seed);
}

Case read_case(std::string_view name) {
  Case one;
  std::string_view rest = name;
  const std::string lane = take_until(name, rest, ':', "lane");
  const auto* const found = std::ranges::find(lane_names, lane);
  if (found == std::end(lane_names))
    refuse_name(name, "there is no lane '" + lane + "' (direct, core, probe)");
  one.lane = static_cast<Lane>(found - std::begin(lane_names));
  const std::size_t at = rest.rfind('@');
  if (at == rest.npos) refuse_name(name, "it has no seed");
  const std::string_view seed = rest.substr(at + 1);
  if (!read_all_as(seed, one.seed))
    refuse_name(name, "its seed '" + std::string(seed) + "' is not a number");
  rest = rest.substr(0, at);
  if (rest.empty()) refuse_name(name, "nothing is named");
  if (one.lane == Lane::probe)
    read_probe(rest, one);
  else
    read_row(name, rest, one);
  classify(one);
  return one;
}

namespace {

using Settings = std::map<std::string, std::string>;

bp_value read_number(const Case& one, const std::string& text) {
  if (text == "true" || text == "false") return value_of(text == "true");
  std::int64_t whole = 0;
  if (read_all_as(text, whole)) return value_of(whole);
  double real = 0;
  if (!read_all_as(text, real)) refuse_case(one, "'" + text + "' is not a number");
  return value_of(real);
}

// The argument for a value of the schema's type written as text.
bp_value read_setting(const Case& one, const SchemaArgument& argument, const std::string& text,
                      Problem& problem) {
  if (text == "none") return {};
  switch (argument.type) {
    case ArgumentType::integer_list: {
      Sizes list;
      if (!read_sizes(text, list)) refuse_case(one, "'" + text + "' is not a list of integers");
      return problem.kept(value_of(IntList(list)));
    }
    case ArgumentType::string: return problem.kept(value_of(std::string_view(text)));
    case ArgumentType::dtype: {
      Dtype dtype = f32;
      if (!dtype_of_short_name(text, dtype)) refuse_case(one, "'" + text + "' is not a dtype");
      return value_of(dtype);
    }
    case ArgumentType::real: {
      const bp_value value = read_number(one, text);
      return value.tag == BP_DOUBLE ? value : value_of(static_cast<double>(value.u.i));
    }
    default: return read_number(one, text);
  }
}

// "b2x3m17k65n4" as the shapes of two factors.
bool read_product(std::string_view text, std::vector<std::string>& shapes) {
  const std::size_t m = text.find('m'), k = text.find('k'), n = text.find('n');
  if (m == text.npos || k == text.npos || n == text.npos || m > k || k > n) return false;
  std::string batch(text.substr(0, m));
  if (!batch.empty() && batch[0] != 'b') return false;
  if (!batch.empty()) batch = batch.substr(1) + "x";
  const std::string rows(text.substr(m + 1, k - m - 1)), inner(text.substr(k + 1, n - k - 1)),
      columns(text.substr(n + 1));
  shapes = {batch + rows + "x" + inner, batch + inner + "x" + columns};
  return true;
}

std::int64_t size_along(const PlannedTensor& tensor, std::int64_t dim) {
  const auto rank = static_cast<std::int64_t>(tensor.shape.size());
  if (rank == 0) return 1;
  if (dim < 0) dim += rank;
  return dim >= 0 && dim < rank ? tensor.shape[static_cast<std::size_t>(dim)] : 1;
}

bool is_index_name(std::string_view name) {
  return name == "index" || name == "indices";
}

class TextPlanner {
 public:
  TextPlanner(const Case& one, PlannedProblem& plan)
      : one_(one), plan_(plan), op_(*plan.problem.op) {
    read_text();
  }

  void run() {
    for (const SchemaArgument& argument : op_.schema->arguments) {
      const auto setting = settings_.find(argument.name);
      Argument made;
      if (argument.type == ArgumentType::tensor || argument.type == ArgumentType::tensor_list) {
        made = tensor_argument(argument, setting == settings_.end() ? "" : setting->second);
      } else {
        made.value = setting == settings_.end()
                         ? usual_value(argument)
                         : read_setting(one_, argument, setting->second, plan_.problem);
      }
      if (setting != settings_.end()) settings_.erase(setting);
      plan_.problem.arguments.push_back(std::move(made));
    }
    if (!settings_.empty())
      refuse_case(one_,
                  "'" + settings_.begin()->first + "' is not an argument of " + op_.schema->text);
    find_index_ends();
  }

 private:
  void read_text() {
    std::vector<std::string> parts = split_text(one_.shape, ':');
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t sign = parts[i].find('=');
      if (sign == std::string::npos)
        refuse_case(one_, "':" + parts[i] + "' is not ':argument=value'");
      settings_[parts[i].substr(0, sign)] = parts[i].substr(sign + 1);
    }
    if (read_product(parts[0], texts_)) return;
    if (parts[0].empty() || parts[0][0] != 's')
      refuse_case(one_, "its shape '" + parts[0] + "' does not begin with s, m or sample:");
    texts_ = split_text(std::string_view(parts[0]).substr(1), ',');
  }

  Dtype tensor_dtype(const SchemaArgument& argument, const std::string& setting) const {
    Dtype dtype = one_.dtype;
    if (is_index_name(argument.name)) dtype = i64;
    if (argument.name == "condition") dtype = boolean;
    if (!setting.empty() && !dtype_of_short_name(setting, dtype))
      refuse_case(one_, "'" + setting + "' is not a dtype");
    return dtype;
  }

  int add_tensor(const std::string& text, Dtype dtype) {
    PlannedTensor& planned = plan_.tensors.emplace_back();
    planned.dtype = dtype;
    if (!read_sizes(text, planned.shape)) refuse_case(one_, "'" + text + "' is not a shape");
    return static_cast<int>(plan_.tensors.size()) - 1;
  }

  Argument tensor_argument(const SchemaArgument& argument, const std::string& setting) {
    Argument made;
    const bool has_text = next_ < texts_.size();
    if (!has_text && argument.optional) return made;
    const std::string text = has_text ? texts_[next_++] : texts_.back();
    if (text == "-") return made;
    if (!text.empty() && text[0] == '#') {
      made.value = read_number(one_, text.substr(1));
      return made;
    }
    const Dtype dtype = tensor_dtype(argument, setting);
    if (argument.type == ArgumentType::tensor) {
      made.value.tag = BP_TENSOR;
      made.tensors = {add_tensor(text, dtype)};
      return made;
    }
    made.value.tag = BP_TENSOR_LIST;
    for (const std::string& each : split_text(text, '+')) {
      const std::vector<std::string> counted = split_text(each, '^');
      std::int64_t count = 1;
      if (counted.size() > 1 && !read_all_as(counted[1], count))
        refuse_case(one_, "'" + each + "' is not SHAPE^COUNT");
      for (std::int64_t i = 0; i < count; ++i)
        made.tensors.push_back(add_tensor(counted[0], dtype));
    }
    return made;
  }

  // What is not said: the default, or something that makes sense.
  bp_value usual_value(const SchemaArgument& argument) const {
    const bool takes_tensors = !plan_.tensors.empty();
    const auto whole = [](std::int64_t number) { return value_of(number); };
    switch (argument.type) {
      case ArgumentType::device: return value_of(meta_device);
      case ArgumentType::dtype:
        if (argument.optional && takes_tensors) return {};
        return value_of(takes_tensors ? f32 : one_.dtype);
      default: break;
    }
    if (argument.has_default || argument.optional) return argument.default_value;
    if (argument.type == ArgumentType::real) return value_of(0.5);
    if (argument.type == ArgumentType::boolean) return value_of(false);
    if (argument.name == "min")
      return whole(is_signed_integer(one_.dtype) || is_floating(one_.dtype) ? -1 : 1);
    if (argument.name == "max" || argument.name == "fill_value") return whole(2);
    if (argument.type == ArgumentType::integer || argument.type == ArgumentType::scalar)
      return whole(argument.name == "k" ? 2 : 0);
    refuse_case(one_, "it does not say '" + argument.name + "'");
  }

  std::int64_t whole_argument(std::string_view name, std::int64_t otherwise) const {
    const int place = op_.schema->find(name);
    if (place < 0) return otherwise;
    const bp_value& value = plan_.problem.arguments[static_cast<std::size_t>(place)].value;
    return value.tag == BP_INT ? value.u.i : otherwise;
  }

  void find_index_ends() {
    for (std::size_t i = 0; i < plan_.problem.arguments.size(); ++i) {
      const Argument& argument = plan_.problem.arguments[i];
      const bool is_class = i == 0 && op_.schema->find("num_classes") >= 0;
      if (!is_class && !is_index_name(op_.schema->arguments[i].name)) continue;
      for (const int tensor : argument.tensors) {
        PlannedTensor& planned = plan_.tensors[static_cast<std::size_t>(tensor)];
        const std::int64_t classes = whole_argument("num_classes", -1);
        planned.index_end = is_class ? (classes > 0 ? classes : 5)
                                     : size_along(plan_.tensors[0], whole_argument("dim", 0));
      }
    }
  }

  const Case& one_;
  PlannedProblem& plan_;
  Operator& op_;
  std::vector<std::string> texts_;
  Settings settings_;
  std::size_t next_ = 0;
};

}  // namespace

void refuse_case(const Case& one, const std::string& why) {
  refuse("case '{}': {}", name_of(one), why);
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool read_sizes(std::string_view text, Sizes& out) {
  out.clear();
  if (text.empty()) return true;
  for (const std::string& part : split_text(text, 'x')) {
    std::int64_t size = 0;
    if (!read_all_as(part, size)) return false;
    out.push_back(size);
  }
  return true;
}

void plan_from_text(const Case& one, PlannedProblem& plan) {
  TextPlanner(one, plan).run();
}

// ---- Level and family

namespace {

// Of what the values ask, or empty for ordinary ones.
std::string family_of_values(const Case& one) {
  if (is_one_of(one.values, {"specials", "zeros", "fading", "in_turn", "last_nan", "nans", "lowest",
                             "highest", "sparse", "swings", "corners"}))
    return "special";
  if (is_one_of(one.values, {"wide", "near", "every16", "powers"})) return "ulp";
  if (one.values == "cancel") return "accumulation";
  if (is_one_of(one.values, {"exact", "big", "ties", "midpoints", "edges", "quotients"}))
    return "exact";
  if (one.values == "duplicates") return "duplicates";
  if (holds_bad_index(one.values)) return "negative";
  return {};
}

constexpr std::int64_t last_usual_size = 1031;

bool is_plain_layout(std::string_view layouts) {
  return layouts == "plain" || layouts == "own";
}

std::string family_of(const Case& one) {
  if (one.form == "error") return "negative";
  if (one.form == "grad") return "gradient";
  if (is_relation(one.form)) return "relation";
  if (one.form.starts_with(form_of_kernel)) return "shadowed";
  if (is_one_of(one.form, {"repeat", "threads"})) return "stress";
  if (is_one_of(one.form, {"in_place", "aliased"})) return "alias";
  std::string of_values = family_of_values(one);
  if (of_values == "special") return of_values;
  if (is_large(one)) return "large";
  if (!is_plain_layout(one.layouts)) return "layout";
  if (!of_values.empty()) return of_values;
  if (is_one_of(one.form, {"stream", "recycled"})) return one.form;
  if (one.shape.find(',') != std::string::npos) return "broadcast";
  return "shape";
}

int level_of(const Case& one) {
  if (one.form == "grad") return 4;
  if (is_one_of(one.form, {"repeat", "threads"})) return 5;
  return one.dtype == f32 && is_inference_row(one.op) ? 2 : 3;
}

}  // namespace

bool is_large(const Case& one) {
  if (one.lane == Lane::probe || one.values == "every16") return false;
  const std::vector<std::string> parts = split_text(one.shape, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0 && !parts[i].starts_with("size=") && !parts[i].starts_with("end=")) continue;
    std::int64_t size = 0;
    for (const char each : parts[i]) {
      size = each >= '0' && each <= '9' ? size * 10 + (each - '0') : 0;
      if (size > last_usual_size) return true;
    }
  }
  return false;
}

bool is_inference_row(const std::string& op) {
  const RowFacts* facts = find_row_facts(op);
  return facts && facts->level == 2;
}

bool is_excused_row(const std::string& op) {
  ensure_operators();
  const Operator* const row = find_operator(op);
  return row != nullptr && (row->flags & BP_OP_SHAPE_DATA) != 0;
}

void classify(Case& one) {
  if (one.lane != Lane::probe) {
    one.family = family_of(one);
    one.level = level_of(one);
    return;
  }
  one.family = one.op.substr(0, one.op.find('.'));
  for (const ProbeFamily& family : probe_families())
    if (one.family == family.name) one.level = family.level;
}

}  // namespace bp::conform
