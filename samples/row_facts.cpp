#include <backplane/samples/row_facts.hpp>

namespace bp {

const RowFacts* find_row_facts(std::string_view name) {
  for (const RowFacts& row : row_facts())
    if (row.name == name) return &row;
  return nullptr;
}

bool has_trait(std::string_view name, Trait trait) {
  const RowFacts* facts = find_row_facts(name);
  return facts && facts->is(trait);
}

}  // namespace bp
