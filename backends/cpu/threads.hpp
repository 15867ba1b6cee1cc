// The one pool of threads that everything in this plugin shares: OpenMP's, which is oneDNN's as well.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

namespace bp::cpu {

// How many threads one call may use now: what the application allows, at most the cores that the
// process may run on. 1 inside a parallel region, and in a child of fork, whose copy of the pool has
// lost its threads.
int num_threads();

namespace detail {

using RangeBody = void (*)(void* state, int64_t begin, int64_t end);
void run_parallel(int64_t count, int64_t grain, RangeBody body, void* state);

}  // namespace detail

// Calls body(begin, end) for disjoint ranges that cover [0, count), on as many threads as have at
// least `grain` each; the calling thread takes part. Work of no more than `grain` never enters
// OpenMP. What `body` throws on any thread is thrown here, once, after all have ended.
template <class F> void parallel_for(int64_t count, int64_t grain, F&& body) {
  if (count <= 0) return;
  if (count <= grain) {
    body(int64_t{0}, count);
    return;
  }
  using Body = std::remove_reference_t<F>;
  detail::run_parallel(
      count, grain,
      [](void* state, int64_t begin, int64_t end) { (*static_cast<Body*>(state))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

constexpr int max_threads = 1 << 16;

// While it lives, parallel regions of the calling thread that others start (oneDNN's) have
// num_threads() threads, at most `most`.
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
};

}  // namespace bp::cpu
