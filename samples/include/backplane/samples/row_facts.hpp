// Facts of the operator table about a row that its calls do not need: how it is tested, for tests, tools and the
// conformance suite. core_ops/suite.yaml says what the words mean.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <backplane/samples/generated/traits.hpp>
#include <backplane/tensor/dtype.hpp>

namespace bp {

class Draft;

struct RowFacts {
  const char* name;
  const char* since;      // the version that brought it
  const char* samples;    // names of recipes, separated by spaces
  void (*draft)(Draft&);  // fills in the arguments of one of them
  // Of the suite's cases, again separated by spaces: see conformance/cases/case.hpp.
  std::uint8_t level;       // 2: inference is made of the row; else 3
  std::uint64_t traits;     // bits of Trait
  const char* shapes;       // "sample:RECIPE" among them
  const char* more_shapes;  // in the full profile
  const char* values;
  // Shapes whose size N becomes what is past the places where kernels change their way; and their values.
  const char *large, *large_values;
  const char*
      decides;  // "shape/values", always there in each dtype; ".../floating" in floating ones
  const char*
      refused;  // shapes of calls that must be refused; "!too_high" behind one says with which values

  bool is(Trait trait) const { return (traits >> static_cast<unsigned>(trait) & 1u) != 0; }
};

// The rows of the table, in its order.
std::span<const RowFacts> row_facts();
// Null for an operator that is not of the table.
inline const RowFacts* find_row_facts(std::string_view name) {
  for (const RowFacts& row : row_facts())
    if (row.name == name) return &row;
  return nullptr;
}
// False for an operator that is not of the table.
inline bool has_trait(std::string_view name, Trait trait) {
  const RowFacts* facts = find_row_facts(name);
  return facts && facts->is(trait);
}

// Calls after which something is as it was, or as another way makes it: conformance/cases/round_trips.hpp.
struct RoundTrip {
  const char *row, *shape, *values, *program;
  DtypeSet holds_in;  // of the dtypes that all its rows have
};
std::span<const RoundTrip> round_trips();

// The rows that widespread models are made of, separated by spaces.
struct ModelRows {
  const char *name, *inference, *training;
};
std::span<const ModelRows> model_rows();

}  // namespace bp
