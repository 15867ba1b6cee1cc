// A chain as an operator: what its arguments hold, and the steps' expressions joined into one.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/registry.hpp>

namespace bp {

// What an argument or a result holds. Values have the dtype that the chain computes in.
enum class Holds : std::uint8_t { nothing, values, bools, number };

struct OwnedTable;

// A joined operator, with everything that it points to.
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

  // Owned by the registry while registered.
  std::unique_ptr<const Schema> owned_schema;
  std::deque<Candidate> candidates;
  std::vector<std::unique_ptr<OwnedTable>> kernel_tables;  // the published ones and older ones

  // For living_chains.cpp.
  std::string key;           // equal for equal chains
  std::vector<Chain> inner;  // chains among the steps
  std::atomic<std::uint32_t> refs{0};
  // Guarded by the lock of the dropped chains.
  Joined* next_dropped = nullptr;
  bool is_dropped = false;      // and not yet dealt with
  std::uint32_t num_waits = 0;  // for streams that may still be working with it
  // Guarded by the lock of the chains.
  bool may_be_at_work = true;  // somebody has held it since its work was last waited for
};

// Everything except how calls run: expression, dtypes, promotion. Throws bad_argument naming the step that cannot be
// joined.
std::unique_ptr<Joined> join_expressions(std::span<const ChainStep> steps);

// The dtypes that a tensor keeps when it is combined with this number.
DtypeSet dtypes_beside(const bp_value& number);

}  // namespace bp
