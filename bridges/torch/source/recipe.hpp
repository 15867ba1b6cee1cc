// Operators of PyTorch that are several rows of ours. A recipe has a schema, in the words of our rows, and a function: it sees
// values of Backplane alone, and knows nothing of PyTorch.
#pragma once

#include <vector>

#include "recipe_arguments.hpp"

namespace bp::bridge {

struct Recipe {
  // The name of the operator, and behind a dot that of the only overload that it is for.
  const char* aten;
  const char* schema;
  // Makes the results, one for each of the schema's.
  void (*run)(const Arguments& arguments, Tensor* results);
  bool last = false;  // only for calls that a row refuses
};

// Those of recipes/*.yaml, of which generated/ is made.
std::vector<Recipe> all_recipes();

}  // namespace bp::bridge
