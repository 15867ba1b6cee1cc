// What a call says whose result has no room.
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// Throws `error` again; one of memory that ran out with the name of the operator whose result had no room.
[[noreturn]] void throw_for_result_of(const Operator& op, const Error& error);

// What `make()` gives.
template <class Make> inline Tensor make_result_of(const Operator& op, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw_for_result_of(op, error);
  }
}

}  // namespace bp
