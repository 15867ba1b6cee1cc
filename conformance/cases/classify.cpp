#include "cases/classify.hpp"

#include <string_view>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/samples/row_facts.hpp>

#include "cases/axes.hpp"
#include "cases/derive.hpp"
#include "cases/kernels.hpp"
#include "cases/special_cases.hpp"
#include "inputs/draft_problem.hpp"
#include "inputs/values.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
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
