// Indices that the oracle follows only where they lead to something.
#pragma once

#include "elements.hpp"

namespace oracle {

// Reads of an index outside of what it points into are reported, not done.
class Checked {
 public:
  Checked(const bp::Call& call, bp::In index, Index size)
      : fault_(call.abi().fault), size_(size), values_(read<Word>(index)) {}

  std::size_t count() const { return values_.size(); }
  // False for a bad one.
  bool at(std::size_t i, Index& out) const {
    out = static_cast<Index>(values_[i]);
    if (out >= 0 && out < size_) return true;
    if (fault_ != nullptr) *bp::address_of<std::uint64_t>(fault_->handle, fault_->offset) = 1;
    return false;
  }

 private:
  const bp_region* fault_;
  Index size_;
  std::vector<Word> values_;
};

}  // namespace oracle
