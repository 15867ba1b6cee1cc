#include "kernels/cufft/plans.hpp"

#include <utility>

namespace cuda_backend::cufft {

Plan::Plan(const Library& library, const Lines& lines)
    : library_(library), status_(library.create(&handle_)) {
  if (status_ != CUFFT_SUCCESS) return;
  long long n = lines.n;
  status_ = library_.set_auto_allocation(handle_, 0);
  if (status_ == CUFFT_SUCCESS)
    status_ = library_.make_plan_many(handle_, 1, &n, nullptr, 1, 0, nullptr, 1, 0, lines.type,
                                      lines.batch, &workspace_bytes_);
}

Plan::~Plan() {
  if (handle_ != 0) library_.destroy(handle_);
}

cufftResult Plan::run(cudaStream_t stream, const void* from, void* to, bool forward,
                      void* workspace) {
  const std::lock_guard lock(mutex_);
  cufftResult status = library_.set_stream(handle_, stream);
  if (status == CUFFT_SUCCESS && workspace_bytes_ != 0)
    status = library_.set_work_area(handle_, workspace);
  if (status != CUFFT_SUCCESS) return status;
  return library_.exec(handle_, const_cast<void*>(from), to,
                       forward ? CUFFT_FORWARD : CUFFT_INVERSE);
}

std::shared_ptr<Plan> Plans::make(const Lines& lines) {
  auto plan = std::make_shared<Plan>(library_, lines);
  if (plan->status() == CUFFT_SUCCESS) return plan;
  if (!std::exchange(has_said_, true))
    bp::log(
        bp::LogLevel::warning,
        "fft_c2c, fft_r2c, fft_c2r: cuFFT plans no %lld lines of %lld elements (error %d); such "
        "transforms are computed by products of matrices, which is slower",
        static_cast<long long>(lines.batch), static_cast<long long>(lines.n),
        static_cast<int>(plan->status()));
  return nullptr;
}

std::shared_ptr<Plan> Plans::plan_for(const Lines& lines, bool is_recorded) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : recorded_)
    if (entry.lines == lines) return entry.plan;
  Entry* oldest = entries_.data();
  Entry* found = nullptr;
  for (Entry& entry : entries_) {
    if (entry.plan != nullptr && entry.lines == lines) found = &entry;
    if (entry.used < oldest->used) oldest = &entry;
  }
  if (is_recorded) {
    if (found == nullptr || recorded_.size() == most_recorded) return nullptr;
    return recorded_.emplace_back(*found).plan;
  }
  if (found == nullptr) {
    std::shared_ptr<Plan> made = make(lines);
    if (made == nullptr) return nullptr;
    *oldest = {lines, 0, std::move(made)};
    found = oldest;
  }
  found->used = ++now_;
  return found->plan;
}

Plans* plans_of(const OnCard& card) {
  return kept_for<Plans>(card, library());
}

}  // namespace cuda_backend::cufft
