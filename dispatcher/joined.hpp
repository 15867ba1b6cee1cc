// A chain as an operator: what its arguments hold, and the steps' expressions as one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/chain.hpp>

namespace bp {

// What an argument or a result is. Values have the one dtype that the chain computes in.
enum class Holds : std::uint8_t { nothing, values, bools, number };

// A joined operator with all that it points to.
struct Joined : Operator {
  std::string text;                     // of the schema
  std::vector<ChainStep> steps;         // with all inputs
  std::vector<std::uint32_t> last_use;  // of each step's result: the step that reads it last
  std::vector<bp_expr_node> all_nodes;
  std::vector<const char*> used;
  std::vector<Holds> arguments;
  bool gives_bools = false;
};

// All of it but what calls do: expression, dtypes, promotion. Throws bad_argument with the step that cannot be joined.
std::unique_ptr<Joined> join_expressions(std::span<const ChainStep> steps);

// The dtypes of tensors that stay as they are beside this number.
DtypeSet dtypes_beside(const bp_value& number);

}  // namespace bp
