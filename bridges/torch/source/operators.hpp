// Which operators of PyTorch's the table serves: see generated/rows.cpp.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

namespace bp::bridge {

struct NamedRow {
  const char* row;
  const char* aten;  // as Recipe::aten
  // "theirs=ours other=ours2", of arguments whose names differ; "" mostly.
  const char* renamed;
};
std::span<const NamedRow> named_rows();

// What is registered for our device type: the operator with its overload, and the row or "recipe" that serves it.
std::vector<std::pair<std::string, std::string>> served_operators();

// Recipes, and names of the column `aten`, that serve no operator of this PyTorch: written wrongly, or of another version.
std::vector<std::string> unmatched_names();

// Those that attention.cpp serves, and their rows: their results are not only tensors, which a plan makes.
inline constexpr std::pair<const char*, const char*> attention_operators[] = {
    {"_scaled_dot_product_fused_attention_overrideable", "native_attention"},
    {"_scaled_dot_product_fused_attention_overrideable_backward", "attention_backward"},
};

}  // namespace bp::bridge
