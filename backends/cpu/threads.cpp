#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <omp.h>
#include <pthread.h>

#include "host.hpp"

namespace bp::cpu {
namespace {

// A child of fork inherits libgomp's idea of a pool whose threads do not exist: the first parallel
// region would wait for them forever. A child of a process that never used the pool is free to.
std::atomic<bool> pool_used{false};
std::atomic<bool> pool_lost{false};

void use_pool() {
  if (pool_used.load(std::memory_order_relaxed)) return;
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (pool_used.load(std::memory_order_relaxed)) pool_lost.store(true, std::memory_order_relaxed);
  });
  // Not knowing about forks is worse than being slow.
  if (registered != 0) pool_lost.store(true, std::memory_order_relaxed);
  pool_used.store(true, std::memory_order_release);
}

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

int num_threads() {
  if (pool_lost.load(std::memory_order_relaxed) || omp_in_parallel()) return 1;
  static const int cores = std::max(1, omp_get_num_procs());
  if (cores == 1) return 1;
  const bp_host* host = cpu::host();
  const int64_t allowed = host != nullptr ? host->num_threads(host) : cores;
  return static_cast<int>(std::clamp<int64_t>(allowed, 1, cores));
}

void detail::run_parallel(int64_t count, int64_t grain, RangeBody body, void* state) {
  const int64_t most = divide_up(count, std::max<int64_t>(grain, 1));
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), most));
  if (threads <= 1) return body(state, 0, count);
  use_pool();
  if (pool_lost.load(std::memory_order_relaxed)) return body(state, 0, count);

  std::exception_ptr error;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
#pragma omp parallel num_threads(threads)
  {
    const int64_t share = divide_up(count, omp_get_num_threads());
    const int64_t begin = omp_get_thread_num() * share;
    const int64_t end = std::min(count, begin + share);
    try {
      if (begin < end) body(state, begin, end);
    } catch (...) {
      if (!failed.test_and_set()) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

ThreadLimit::ThreadLimit(int most)
    : count_(most <= 1 ? 1 : std::min(num_threads(), most)), before_(omp_get_max_threads()) {
  if (count_ > 1) use_pool();
  if (count_ != before_) omp_set_num_threads(count_);
}

ThreadLimit::~ThreadLimit() {
  if (count_ != before_) omp_set_num_threads(before_);
}

}  // namespace bp::cpu
