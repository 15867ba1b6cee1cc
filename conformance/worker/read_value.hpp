// Arguments of a call, as a step has them.
#pragma once

#include <deque>
#include <functional>

#include <backplane/dispatcher/operator.hpp>

#include "protocol/script.hpp"

namespace bp::conform {

// What arguments point to; it stays where it is.
struct ArgumentLists {
  std::deque<std::vector<const bp_tensor*>> tensors;
  std::deque<std::vector<std::int64_t>> ints;
  std::deque<std::vector<double>> doubles;
  std::deque<std::string> strings;
};

// A VALUE (protocol/script.hpp) with the lane's own tensors, and its device for {"device": 1}. Throws bad_argument.
bp_value read_value(const Json& json, ArgumentLists& lists, const bp_value& device,
                    const std::function<const bp_tensor*(const Json&)>& tensor_of);

}  // namespace bp::conform
