// Errors of calls for whose result there is not enough memory.
#pragma once

#include <backplane/dispatcher/operator.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// Rethrows `error`; for out_of_memory, adds the name of the operator whose result could not be allocated.
[[noreturn]] void throw_for_result_of(const Operator& op, const Error& error);

// Returns make(); its errors name `op`.
template <class Make> inline Tensor make_result_of(const Operator& op, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw_for_result_of(op, error);
  }
}

}  // namespace bp
