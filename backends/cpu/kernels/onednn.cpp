#include "onednn.hpp"

#include <atomic>
#include <string_view>

#include <backplane/plugin/process.hpp>

namespace bp::cpu {
namespace {

constinit std::mutex making;
[[maybe_unused]] const bool forks_wait_for_making = bp_sdk::forks_wait_for<making>();

std::atomic<const dnnl::engine*> engine{nullptr};

}  // namespace

std::unique_lock<std::mutex> while_making() {
  std::unique_lock lock(making);
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
