#include "kernels/cusolver/solver.hpp"

namespace cuda_backend::cusolver {

Solver::Solver(const Library& library) : library_(library) {
  const OutsideCapture outside;
  if (library_.create(&handle_) == CUSOLVER_STATUS_SUCCESS) {
    if (library_.create_params(&params_) == CUSOLVER_STATUS_SUCCESS) return;
    library_.destroy(handle_);
  }
  throw bp::Failure{bp::internal("linear algebra: cuSOLVER gave no handle")};
}

std::unique_lock<std::mutex> Solver::use(const OnCard& card) {
  std::unique_lock lock(mutex_);
  if (library_.set_stream(handle_, card.stream()) != CUSOLVER_STATUS_SUCCESS)
    throw bp::Failure{bp::internal("linear algebra: cuSOLVER refused the stream")};
  return lock;
}

Solver* solver_of(const OnCard& card) {
  return kept_for<Solver>(card, library());
}

void require(const OnCard& card, cusolverStatus_t status, const char* op) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  // What the card says is the better reason.
  if (bp::Status failed = card.check_launches(); !failed.is_ok()) throw bp::Failure{failed};
  throw bp::Failure{
      bp::internal("%s: cuSOLVER failed with status %d", op, static_cast<int>(status))};
}

}  // namespace cuda_backend::cusolver
