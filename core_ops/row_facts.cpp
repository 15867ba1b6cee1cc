#include <backplane/core_ops/row_facts.hpp>

namespace bp {

const RowFacts* find_row_facts(std::string_view name) {
  for (const RowFacts& row : row_facts())
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace bp
