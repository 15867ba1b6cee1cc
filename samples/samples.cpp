#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensor/check.hpp>

#include "draft.hpp"

namespace bp {

std::vector<Sample> samples_of(const Operator& op, Dtype dtype, Device device,
                               std::uint32_t variant) {
  std::vector<Sample> samples;
  const RowFacts* facts = find_row_facts(op.name());
  if (!facts) return samples;
  std::string_view names = facts->samples;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    Draft draft(op, std::string(names.substr(0, end)), dtype, device, variant);
    facts->draft(draft);
    BP_CHECK(draft.was_recognized(), "{}: no recipe '{}' for its samples; see samples/recipes",
             op.name(), names.substr(0, end));
    samples.push_back(draft.finish());
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return samples;
}

Dtype usual_dtype_of(const Operator& op) {
  for (const Dtype dtype : {f32, i64, u8, complex64})
    if (contains(op.dtypes, dtype)) return dtype;
  return f32;
}

}  // namespace bp
