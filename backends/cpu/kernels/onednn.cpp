#include "onednn.hpp"

#include <atomic>
#include <pthread.h>
#include <string_view>

namespace bp::cpu {
namespace {

// Never destroyed: threads may end after our statics.
std::mutex& making() {
  static auto& one = *new std::mutex;
  return one;
}

std::atomic<const dnnl::engine*> engine{nullptr};

}  // namespace

std::unique_lock<std::mutex> while_making() {
  [[maybe_unused]] static const int watched =
      pthread_atfork([] { making().lock(); }, [] { making().unlock(); }, [] { making().unlock(); });
  std::unique_lock lock(making());
  if (!engine.load(std::memory_order_relaxed))
    engine.store(new dnnl::engine(dnnl::engine::kind::cpu, 0), std::memory_order_release);
  return lock;
}

bool runs_older_kernels(const char* implementation) {
  const std::string_view name(implementation);
  return name.find("gemm") != name.npos && name.find("brg") == name.npos;
}

const dnnl::engine& onednn_engine() {
  if (!engine.load(std::memory_order_acquire)) while_making();
  return *engine.load(std::memory_order_acquire);
}

}  // namespace bp::cpu
