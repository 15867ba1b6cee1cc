// What tensors of a call's lists share memory.
#pragma once

#include <vector>

#include "arguments.hpp"

namespace bp::rules {

// The memory of the tensor `index` in the list at `place`.
struct Touched {
  bp_handle handle;
  ByteSpan bytes;
  const TensorImpl* impl;
  std::uint32_t place, index;
};

// Of the lists at these places, a bit for each, in the order of memory; what has no elements touches none. Good until this
// thread asks again.
const std::vector<Touched>& touched_by(const Call& call, std::uint64_t places);

// Calls holds(a, b) for all pairs whose bytes meet, until it is false; was it true for all?
template <class F> bool every_meeting(const std::vector<Touched>& touched, F&& holds) {
  for (std::size_t i = 0; i < touched.size(); ++i)
    for (std::size_t k = i + 1; k < touched.size() && touched[k].handle == touched[i].handle &&
                                touched[k].bytes.begin < touched[i].bytes.end;
         ++k)
      if (!holds(touched[i], touched[k])) return false;
  return true;
}

}  // namespace bp::rules
