#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <omp.h>
#include <pthread.h>

#include "host.hpp"
#include "pool.hpp"

namespace bp::cpu {
namespace {

// A child of fork has none of its parent's threads. Ours start again there; libgomp would wait for its own forever.
std::atomic<Pool*> pool{nullptr};
std::atomic<bool> openmp_used{false};
std::atomic<bool> openmp_lost{false};

void forget_threads() {
  pool.store(nullptr, std::memory_order_relaxed);
  if (openmp_used.load(std::memory_order_relaxed))
    openmp_lost.store(true, std::memory_order_relaxed);
}

// Whether forks will be known.
bool watch_forks() {
  static const bool watched = pthread_atfork(nullptr, nullptr, forget_threads) == 0;
  return watched;
}

int num_cores() {
  static const int cores = std::max(1, omp_get_num_procs());
  return cores;
}

// Never destroyed: its threads may wait in it while the process ends.
Pool* threads_of_this_process() {
  if (Pool* known = pool.load(std::memory_order_acquire)) return known;
  if (!watch_forks()) return nullptr;
  auto made = std::make_unique<Pool>(num_cores(), [] { omp_set_num_threads(1); });
  Pool* expected = nullptr;
  return pool.compare_exchange_strong(expected, made.get()) ? made.release() : expected;
}

}  // namespace

int num_threads() {
  if (Pool::is_working() || omp_in_parallel()) return 1;
  const int cores = num_cores();
  if (cores == 1) return 1;
  const bp_host* host = cpu::host();
  const int64_t allowed = host != nullptr ? host->num_threads(host) : cores;
  return static_cast<int>(std::clamp<int64_t>(allowed, 1, cores));
}

void detail::run_parallel(int64_t count, int64_t grain, int64_t worth, RangeBody body,
                          void* state) {
  const int threads = num_threads();
  Pool* shared = threads > 1 ? threads_of_this_process() : nullptr;
  if (!shared) return body(state, 0, count);
  shared->run({count, std::max<int64_t>(grain, 1), worth, body, state}, threads);
}

ThreadLimit::ThreadLimit(int most)
    : count_(most <= 1 ? 1 : std::min(num_threads(), most)), before_(omp_get_max_threads()),
      quiet_(count_ > 1) {
  if (count_ > 1 && (openmp_lost.load(std::memory_order_relaxed) || !watch_forks())) count_ = 1;
  if (count_ > 1) openmp_used.store(true, std::memory_order_relaxed);
  if (count_ != before_) omp_set_num_threads(count_);
}

void leave_cores_to_openmp() {
  if (Pool* ours = pool.load(std::memory_order_relaxed)) ours->rest();
}

ThreadLimit::~ThreadLimit() {
  if (count_ != before_) omp_set_num_threads(before_);
}

}  // namespace bp::cpu
