#include <backplane/core_ops/row_facts.hpp>
#include <backplane/core_ops/samples.hpp>
#include <backplane/tensor/check.hpp>

#include "samples/draft.hpp"

namespace bp {
namespace {

using Build = void (*)(Draft& draft);

// The tables whose rows are all drafted by one function.
struct BuildOfTable {
  std::string_view table;
  Build build;
};
constexpr BuildOfTable builds_of_tables[] = {
    {"convolution", draft_convolution},
    {"pooling", draft_pooling},
    {"norm", draft_norm},
    {"loss", draft_loss},
    {"attention", draft_attention},
    {"shape", draft_shape},
    {"statistics", draft_statistics},
    {"bitwise", draft_pointwise},
    {"linear", draft_linear},
    {"selection", draft_selection},
    {"draw", draft_draw},
};

Build build_for(const Operator& op, const RowFacts& facts) {
  const std::string_view name = op.name();
  for (const auto& [table, build] : builds_of_tables)
    if (facts.table == table) return build;
  if (op.view) return draft_view;
  if (name == "softmax" || name == "log_softmax" || name == "cumsum" || name == "sort")
    return draft_along;
  if (name == "copy" || name == "cast" || name == "cat" || name == "nonzero") return draft_movement;
  if (name == "rand" || name == "randn" || name == "randint" || name == "randperm" ||
      name == "dropout")
    return draft_random;
  switch (op.kind) {
    case BP_KIND_POINTWISE: return draft_pointwise;
    case BP_KIND_REDUCTION: return draft_reduction;
    case BP_KIND_MATMUL: return draft_matmul;
    case BP_KIND_GATHER:
    case BP_KIND_SCATTER: return draft_indexing;
    case BP_KIND_RANDOM: return draft_random;
    default: return draft_factory;
  }
}

}  // namespace

std::vector<Sample> samples_of(const Operator& op, Dtype dtype, Device device,
                               std::uint32_t variant) {
  std::vector<Sample> samples;
  const RowFacts* facts = find_row_facts(op.name());
  if (!facts) return samples;
  std::string_view names = facts->samples;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    Draft draft(op, std::string(names.substr(0, end)), dtype, device, variant);
    build_for(op, *facts)(draft);
    BP_CHECK(draft.was_recognized(), "{}: no recipe '{}' for its samples; see core_ops/samples",
             op.name(), names.substr(0, end));
    samples.push_back(draft.finish());
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return samples;
}

}  // namespace bp
