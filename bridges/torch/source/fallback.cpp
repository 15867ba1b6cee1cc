// Calls that go through PyTorch's CPU.
#include "fallback.hpp"

#include <ATen/native/CPUFallback.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <torch/library.h>

namespace bp::bridge {
namespace {

bool strict_at_start() {
  const char* text = std::getenv("BACKPLANE_TORCH_STRICT");
  return text && std::strcmp(text, "") != 0 && std::strcmp(text, "0") != 0;
}
std::atomic<bool> strict{strict_at_start()};

struct Counts {
  std::mutex mutex;
  std::map<std::string, std::int64_t> by_name;
};
Counts& counts() {
  static auto* const kept = new Counts;  // calls may come until the process ends
  return *kept;
}

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_on_cpu(op, stack, "Backplane has no row for it");
}

}  // namespace

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& why) {
  const std::string name = toString(op.operator_name());
  TORCH_CHECK_NOT_IMPLEMENTED(!strict.load(std::memory_order_relaxed), name, ": ", why,
                              "; backplane_torch.set_strict(False) lets PyTorch's CPU compute it");
  {
    Counts& all = counts();
    const std::lock_guard lock(all.mutex);
    ++all.by_name[name];
  }
  at::native::cpu_fallback(op, stack);
}

void set_strict(bool on) {
  strict = on;
}
bool is_strict() {
  return strict;
}

std::vector<std::pair<std::string, std::int64_t>> fallback_counts() {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  return {all.by_name.begin(), all.by_name.end()};
}
void reset_fallback_counts() {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  all.by_name.clear();
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

}  // namespace bp::bridge
