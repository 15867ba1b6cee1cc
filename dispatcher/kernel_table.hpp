// Builds the tables in which calls look up kernels, from the candidates that backends offer.
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/dispatcher/registry.hpp>

namespace bp {

// A table together with the list that it points to.
struct OwnedTable : KernelTable {
  std::vector<const Candidate*> list;
};

// Rebuilds and publishes the table of one operator and backend from `candidates`, in order of falling priority.
// If there are none, the table is empty. The caller holds the registration lock.
void publish_table(Operator& op, std::uint32_t backend, std::vector<const Candidate*> candidates);

// The published table, or null. Valid for as long as the operator: see note: retired-tables.
inline const KernelTable* table_of(const Operator& op, std::uint32_t backend) {
  return op.tables[backend].load(std::memory_order_acquire);
}

}  // namespace bp
