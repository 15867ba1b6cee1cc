// One handle for each card, and calls of the library with the memory that they ask for.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "kernels/cusolver/library.hpp"
#include "kernels/on_card.hpp"

namespace cuda_backend::cusolver {

class Solver {
 public:
  // Of the card that is current on this thread. Throws bp::Failure.
  explicit Solver(const Library& library);

  const Library& library() const { return library_; }
  cusolverDnHandle_t handle() const { return handle_; }
  cusolverDnParams_t params() const { return params_; }

  // A handle serves one thread at a time.
  std::unique_lock<std::mutex> use(const OnCard& card);

 private:
  const Library& library_;
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
  std::mutex mutex_;
};

// Null where there is no library. Throws bp::Failure.
Solver* solver_of(const OnCard& card);

// Throws bp::Failure, which names the operator.
void require(const OnCard& card, cusolverStatus_t status, const char* op);

}  // namespace cuda_backend::cusolver
