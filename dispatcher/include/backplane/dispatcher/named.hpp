// Errors name the operator that was called, not one inside of it.
#pragma once

#include <utility>

#include <backplane/tensor/api.hpp>

namespace bp {

// Throws the exception that is being handled, as one of `op`: an operator's name in front of the sentence
// gives way to it, anything else follows it. Memory of the host that ran out becomes out_of_memory. Late
// errors, and exceptions that are not ours, stay as they are.
[[noreturn]] BP_API void rethrow_named(const char* op);

// What `call` returns; costs nothing unless it throws.
template <class F> decltype(auto) named(const char* op, F&& call) {
  try {
    return std::forward<F>(call)();
  } catch (...) {
    rethrow_named(op);
  }
}

}  // namespace bp
