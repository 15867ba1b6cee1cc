// SHA-256 of the must-run list.
#include <backplane/loading/sha256.hpp>

#include "cases/derive.hpp"

namespace bp::conform {

std::string digest_of(const std::vector<Case>& cases) {
  loading::Sha256 sum;
  for (const Case& one : cases) {
    const std::string line = name_of(one) + "\n";
    sum.add(std::as_bytes(std::span(line)));
  }
  return sum.finish();
}

}  // namespace bp::conform
