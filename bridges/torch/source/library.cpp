// What the Python side of the package calls: operators of the namespace `backplane`.
#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <backplane/backplane.hpp>
#include <backplane/runtime/device_registry.hpp>

#include "devices.hpp"
#include "fallback.hpp"
#include "hooks.hpp"
#include "operators.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const Device device : devices()) names.push_back(device_name(device));
  return names;
}
void set_device(std::int64_t index) {
  device_at(static_cast<c10::DeviceIndex>(index));
  if (index >= 0) set_current_index(static_cast<c10::DeviceIndex>(index));
}
void synchronize_device(std::int64_t index) {
  synchronize(device_at(static_cast<c10::DeviceIndex>(index)));
}
std::vector<std::int64_t> memory_figures(std::int64_t index) {
  const MemoryStatistics figures =
      memory_statistics(device_at(static_cast<c10::DeviceIndex>(index)));
  return {static_cast<std::int64_t>(figures.allocated_bytes),
          static_cast<std::int64_t>(figures.peak_allocated_bytes),
          static_cast<std::int64_t>(figures.reserved_bytes),
          static_cast<std::int64_t>(figures.peak_reserved_bytes)};
}
void empty_device_cache(std::int64_t index) {
  empty_cache(device_at(static_cast<c10::DeviceIndex>(index)));
}
void reset_peak(std::int64_t index) {
  reset_peak_memory_statistics(device_at(static_cast<c10::DeviceIndex>(index)));
}
std::vector<std::tuple<std::string, std::int64_t>> cpu_calls() {
  std::vector<std::tuple<std::string, std::int64_t>> rows;
  for (const auto& [name, calls] : fallback_counts()) rows.emplace_back(name, calls);
  return rows;
}
std::vector<std::tuple<std::string, std::string>> served() {
  std::vector<std::tuple<std::string, std::string>> rows;
  for (const auto& [name, target] : served_operators()) rows.emplace_back(name, target);
  return rows;
}

// Seeds and offsets have all 64 bits, which an int of PyTorch's has as well.
std::vector<std::int64_t> generator_state(std::int64_t index) {
  const PhiloxState state =
      default_generator(device_at(static_cast<c10::DeviceIndex>(index))).state();
  return {static_cast<std::int64_t>(state.seed), static_cast<std::int64_t>(state.offset)};
}
void set_generator_state(std::int64_t index, std::int64_t seed, std::int64_t offset) {
  default_generator(device_at(static_cast<c10::DeviceIndex>(index)))
      .set_state({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(offset)});
}
void seed_device(std::int64_t index, std::int64_t seed) {
  set_generator_state(index, seed, 0);
}
std::vector<std::string> host_calls() {
  std::vector<std::string> names;
  for (const CallCount& row : call_counts())
    if (row.calls[static_cast<unsigned>(Rung::host)] != 0) names.push_back(row.op);
  return names;
}
std::string calls_by_rung() {
  return format_call_counts();
}

TORCH_LIBRARY(backplane, library) {
  register_allocator();
  register_hooks();
  library.def("device_names", [] { return device_names(); });
  library.def("current_device", [] { return std::int64_t{current_index()}; });
  library.def("set_device", set_device);
  library.def("synchronize", synchronize_device);
  library.def("memory_figures", memory_figures);
  library.def("empty_cache", empty_device_cache);
  library.def("reset_peak_memory", reset_peak);
  library.def("generator_state", generator_state);
  library.def("set_generator_state", set_generator_state);
  library.def("manual_seed", seed_device);
  library.def("set_strict", set_strict);
  library.def("is_strict", is_strict);
  library.def("cpu_calls", cpu_calls);
  library.def("reset_cpu_calls", reset_fallback_counts);
  library.def("served_operators", served);
  library.def("unmatched_names", unmatched_names);
  library.def("calls_by_rung", calls_by_rung);
  library.def("host_calls", host_calls);
  library.def("reset_calls", [] { reset_call_counts(); });
}

}  // namespace
}  // namespace bp::bridge
