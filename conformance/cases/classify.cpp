#include "cases/classify.hpp"

#include <algorithm>
#include <string_view>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "cases/derive.hpp"
#include "cases/kernels.hpp"
#include "cases/special_cases.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Of what the values ask, or empty for ordinary ones.
std::string family_of_values(const Case& one) {
  if (is_one_of(one.values, {"specials", "zeros"})) return "special";
  if (is_one_of(one.values, {"wide", "near", "every16"})) return "ulp";
  if (one.values == "cancel") return "accumulation";
  if (is_one_of(one.values, {"exact", "big", "ties"})) return "exact";
  if (one.values == "duplicates") return "duplicates";
  if (is_one_of(one.values, {"too_high", "too_low"})) return "negative";
  return {};
}

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
