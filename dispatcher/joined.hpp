// A chain as an operator: what its arguments hold, and the steps' expressions as one.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/registry.hpp>

namespace bp {

// What an argument or a result is. Values have the one dtype that the chain computes in.
enum class Holds : std::uint8_t { nothing, values, bools, number };

struct OwnedTable;

// A joined operator with all that it points to.
struct Joined : Operator {
  Joined();
  ~Joined();
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  std::string text;                     // of the schema
  std::vector<ChainStep> steps;         // with all inputs
  std::vector<std::uint32_t> last_use;  // of each step's result: the step that reads it last
  std::vector<bp_expr_node> all_nodes;
  std::vector<const char*> used;
  std::vector<Holds> arguments;
  bool gives_bools = false;

  // Of the registry, while it is registered.
  std::unique_ptr<const Schema> owned_schema;
  std::deque<Candidate> candidates;
  std::vector<std::unique_ptr<OwnedTable>> kernel_tables;  // the published ones, and those before

  // Of living_chains.cpp.
  std::string key;           // equal for equal chains
  std::vector<Chain> inner;  // those among the steps
  std::atomic<std::uint32_t> refs{0};
  // Guarded by the lock of what is dropped.
  Joined* next_dropped = nullptr;
  bool is_dropped = false;      // and to be looked at
  std::uint32_t num_waits = 0;  // for streams that may still be at work with it
  // Guarded by the lock of the chains.
  bool may_be_at_work = true;  // it was held since its work was last waited for
};

// All of it but what calls do: expression, dtypes, promotion. Throws bad_argument with the step that cannot be joined.
std::unique_ptr<Joined> join_expressions(std::span<const ChainStep> steps);

// The dtypes of tensors that stay as they are beside this number.
DtypeSet dtypes_beside(const bp_value& number);

}  // namespace bp
