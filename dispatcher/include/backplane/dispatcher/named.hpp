// Makes errors name the operator that was called, not one inside it.
#pragma once

#include <utility>

#include <backplane/tensor/api.hpp>

namespace bp {

// Rethrows the exception that is being handled as an error of `op`: if its text begins with an operator's name, replaces
// that name, else puts `op` in front. std::bad_alloc becomes out_of_memory. Late errors and foreign exceptions pass
// unchanged.
[[noreturn]] BP_API void rethrow_named(const char* op);

// Returns call(); costs nothing unless it throws.
template <class F> decltype(auto) named(const char* op, F&& call) {
  try {
    return std::forward<F>(call)();
  } catch (...) {
    rethrow_named(op);
  }
}

}  // namespace bp
