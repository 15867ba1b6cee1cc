#include "kernels/cufft/plans.hpp"

#include <algorithm>
#include <map>

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

std::shared_ptr<Plan> Plans::plan_for(const Lines& lines, bool is_recorded) {
  const std::lock_guard lock(mutex_);
  Entry* oldest = entries_.data();
  Entry* found = nullptr;
  for (Entry& entry : entries_) {
    if (entry.plan != nullptr && entry.lines == lines) found = &entry;
    if (entry.used < oldest->used) oldest = &entry;
  }
  if (found == nullptr) {
    if (is_recorded) return nullptr;
    *oldest = {lines, 0, std::make_shared<Plan>(library_, lines)};
    found = oldest;
  }
  found->used = ++now_;
  if (is_recorded && std::find(recorded_.begin(), recorded_.end(), found->plan) == recorded_.end())
    recorded_.push_back(found->plan);
  return found->plan;
}

Plans* plans_of(const OnCard& card) {
  const Library* found = library();
  if (found == nullptr) return nullptr;
  // As the contexts that they belong to, they stay until the process ends.
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<CUcontext, std::unique_ptr<Plans>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Plans>& made = all[card.device().context()];
  if (made == nullptr) made = std::make_unique<Plans>(*found);
  return made.get();
}

}  // namespace cuda_backend::cufft
