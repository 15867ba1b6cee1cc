// Whole numbers of pieces.
#pragma once

#include <cstdint>

namespace bp::cpu {

inline int64_t divide_up(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}
inline int64_t round_up(int64_t count, int64_t to) {
  return divide_up(count, to) * to;
}

}  // namespace bp::cpu
