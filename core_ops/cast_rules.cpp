#include <array>
#include <unordered_map>

#include <backplane/core_ops/cast_rules.hpp>

namespace bp {

Cast cast_rule_of(const Operator& op) {
  static const auto rules = [] {
    std::unordered_map<const Operator*, Cast> found;
    for (const CastRule& rule : cast_rules()) found.emplace(rule.op, rule.how);
    return found;
  }();
  if (const auto found = rules.find(&op); found != rules.end()) return found->second;
  const bool is_seen_in_parts = op.kind == BP_KIND_COMPOSITE && op.decompose && !op.infer;
  return is_seen_in_parts ? Cast::parts : Cast::none;
}

const char* name(Cast cast) {
  static constexpr std::array names{"none", "lower", "f32", "widest", "first", "parts"};
  return names[static_cast<std::size_t>(cast)];
}

}  // namespace bp
