// How this plugin's kernels share out their work: on one pool of threads of our own (pool.hpp), but for oneDNN, whose
// threads are OpenMP's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

#include "no_signals.hpp"

namespace bp::cpu {

// How many threads one call may use now: what the application allows, at most the cores that the
// process may run on. 1 inside a parallel region.
int num_threads();

namespace detail {

using RangeBody = void (*)(void* state, int64_t begin, int64_t end);
void run_parallel(int64_t count, int64_t grain, int64_t worth, RangeBody body, void* state);

}  // namespace detail

// Calls body(begin, end) for disjoint ranges that cover [0, count), on as many threads as have at least `grain` each; the
// calling thread takes part. There are at most count / grain ranges, rounded up; a thread may get several. Work of no more
// than `grain` stays with the caller. What `body` throws on any thread is thrown here, once, after all have ended.
template <class F> void parallel_for(int64_t count, int64_t grain, F&& body) {
  if (count <= 0) return;
  if (count <= grain) {
    body(int64_t{0}, count);
    return;
  }
  using Body = std::remove_reference_t<F>;
  detail::run_parallel(
      count, grain, count / std::max<int64_t>(grain, 1),
      [](void* state, int64_t begin, int64_t end) { (*static_cast<Body*>(state))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

// Calls body(part) for each of [0, count), which together are worth as many threads as `worth` says.
template <class F> void parallel_parts(int64_t count, int64_t worth, F&& body) {
  const auto each = [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(part);
  };
  using Each = decltype(each);
  if (count <= 1 || worth <= 1) return each(0, count);
  detail::run_parallel(
      count, 1, worth,
      [](void* state, int64_t begin, int64_t end) { (*static_cast<Each*>(state))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(each))));
}

constexpr int max_threads = 1 << 16;

// While it lives, parallel regions of the calling thread that others start (oneDNN's) have num_threads() threads, at most
// `most`; where there are several, they and the caller get no signals.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most = max_threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  int count() const { return count_; }

 private:
  int count_;
  int before_;
  const NoSignals quiet_;
};

// Before a call whose work is on OpenMP's threads: ours stop looking for work.
void leave_cores_to_openmp();

}  // namespace bp::cpu
