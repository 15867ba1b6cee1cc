// What the operator table says about a row besides what its call needs: for tests and tools.
#pragma once

#include <span>
#include <string_view>

#include <backplane/tensor/api.hpp>

namespace bp {

struct RowFacts {
  const char* name;
  const char* table;      // the file of core_ops/table that has it
  const char* samples;    // names of recipes, separated by spaces
  const char* tolerance;  // "3 ulp", "exact", "accumulation", "shape"
  const char* since;      // the version that brought it
};

BP_API std::span<const RowFacts> row_facts();
// Null for an operator that is not of the table.
BP_API const RowFacts* find_row_facts(std::string_view name);

}  // namespace bp
