// Lists of windows' arguments: one element holds for all dimensions.
#pragma once

#include <backplane/tensor/shape.hpp>

namespace bp {

inline std::int64_t of_dim(IntList list, std::size_t dim) {
  return list[list.size() == 1 ? 0 : dim];
}

}  // namespace bp
