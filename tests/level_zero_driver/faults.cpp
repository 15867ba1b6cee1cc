#include "faults.hpp"

#include <cstdlib>
#include <string>

namespace over_opencl {
namespace {

Faults current_faults;
std::atomic<uint64_t> allocations{0}, launches{0}, current_generation{0};

uint64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

const Faults& faults() {
  return current_faults;
}

void read_faults() {
  current_faults.memory_bytes = number_in("ZE_OVER_OPENCL_MEMORY_BYTES");
  current_faults.failing_allocation = number_in("ZE_OVER_OPENCL_FAILING_ALLOCATION");
  current_faults.launches = number_in("ZE_OVER_OPENCL_LOST_AFTER_LAUNCHES");
  current_faults.loses_device = std::getenv("ZE_OVER_OPENCL_LOST_AFTER_LAUNCHES") != nullptr;
  current_faults.event_delay_ms = number_in("ZE_OVER_OPENCL_EVENT_DELAY_MS");
  current_faults.loose_order = number_in("ZE_OVER_OPENCL_LOOSE_ORDER") != 0;
  allocations = 0;
  launches = 0;
  ++current_generation;
}

bool is_failing_allocation() {
  return allocations.fetch_add(1) + 1 == current_faults.failing_allocation;
}

bool is_losing_launch() {
  return current_faults.loses_device && launches.fetch_add(1) >= current_faults.launches;
}

uint64_t fault_generation() {
  return current_generation.load(std::memory_order_relaxed);
}

}  // namespace over_opencl
