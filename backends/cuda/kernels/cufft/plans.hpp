// The plans of the transforms used last, which the library makes in milliseconds and which hold memory of the card.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/plugin.hpp>

#include "constants.hpp"
#include "kernels/cufft/library.hpp"
#include "kernels/on_card.hpp"

namespace cuda_backend::cufft {

// Lines without gaps: `batch` of `n` elements, of which a half of a spectrum has n / 2 + 1.
struct Lines {
  cufftType type;
  int64_t n, batch;

  bool operator==(const Lines& other) const {
    return type == other.type && n == other.n && batch == other.batch;
  }
};

// Threads: any.
class Plan {
 public:
  // Of the card that is current on this thread. A failure is told by status().
  Plan(const Library& library, const Lines& lines);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  cufftResult status() const { return status_; }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  // Asynchronous. The input of a transform to real numbers is overwritten.
  cufftResult run(cudaStream_t stream, const void* from, void* to, bool forward, void* workspace);

 private:
  const Library& library_;
  std::mutex mutex_;  // the stream and the workspace are the plan's
  cufftHandle handle_ = 0;
  cufftResult status_;
  size_t workspace_bytes_ = 0;
};

// One for each card. Threads: any.
class Plans {
 public:
  explicit Plans(const Library& library) : library_(library) {}

  // Null where the library makes none, which is said once in the log. A recording needs what it uses for good, and cannot
  // hold what making a plan takes: null also of a plan that is not there, and where recordings keep too many.
  std::shared_ptr<Plan> plan_for(const Lines& lines, bool is_recorded);

 private:
  static constexpr size_t capacity = constants::fourier_plans,
                          most_recorded = constants::recorded_fourier_plans;

  struct Entry {
    Lines lines{};
    uint64_t used = 0;
    std::shared_ptr<Plan> plan;
  };

  // Null where the library fails.
  std::shared_ptr<Plan> make(const Lines& lines);

  const Library& library_;
  std::mutex mutex_;  // of what follows
  uint64_t now_ = 0;
  std::array<Entry, capacity> entries_;
  std::vector<Entry> recorded_;
  bool has_said_ = false;
};

// Those of the card, made when first asked for; null where cuFFT is not installed.
Plans* plans_of(const OnCard& card);

}  // namespace cuda_backend::cufft
