// Builds what a call looks up from the candidates that backends offered.
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/dispatcher/registry.hpp>

namespace bp {

// A table with the list that it points to.
struct OwnedTable : KernelTable {
  std::vector<const Candidate*> list;
};

// Publishes the table of one operator and backend again from `candidates` (by falling priority; none:
// the table says so). The caller holds the registration lock.
void publish_table(Operator& op, std::uint32_t backend, std::vector<const Candidate*> candidates);

// The published table or null. Stays valid for as long as the operator: see note: retired-tables.
inline const KernelTable* table_of(const Operator& op, std::uint32_t backend) {
  return op.tables[backend].load(std::memory_order_acquire);
}

}  // namespace bp
