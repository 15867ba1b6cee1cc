#include <unordered_map>

#include <backplane/core_ops/batch.hpp>

namespace bp {

const BatchRule* find_batch_rule(const Operator& op) {
  static const auto rules = [] {
    std::unordered_map<const Operator*, const BatchRule*> found;
    for (const BatchRule& rule : batch_rules()) found.emplace(rule.op, &rule);
    return found;
  }();
  const auto found = rules.find(&op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace bp
