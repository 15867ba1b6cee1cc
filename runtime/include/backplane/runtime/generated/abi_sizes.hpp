// Made by sdk/abi_lock.py from sdk/snapshots; do not edit. How large each struct that may grow was at each level.
#pragma once

#include <cstdint>
#include <string_view>

namespace bp {

struct AbiSize {
  uint32_t level;
  std::string_view name;
  uint32_t bytes;
};
inline constexpr AbiSize abi_sizes[] = {
    {1, "bp_call", 120},
    {1, "bp_capture", 48},
    {1, "bp_compiler", 72},
    {1, "bp_compiler_info", 96},
    {1, "bp_custom_operator", 72},
    {1, "bp_device_info", 320},
    {1, "bp_generator", 32},
    {1, "bp_host", 152},
    {1, "bp_host_calls", 24},
    {1, "bp_host_memory", 48},
    {1, "bp_inject", 24},
    {1, "bp_interop", 120},
    {1, "bp_kernel", 96},
    {1, "bp_launch", 96},
    {1, "bp_link", 32},
    {1, "bp_memory", 64},
    {1, "bp_numerics", 24},
    {1, "bp_operator", 80},
    {1, "bp_peer", 40},
    {1, "bp_plan", 40},
    {1, "bp_plugin", 160},
    {1, "bp_program", 32},
    {1, "bp_queue", 104},
    {1, "bp_semaphores", 72},
    {1, "bp_settings", 24},
    {1, "bp_source", 56},
    {1, "bp_space_info", 72},
    {1, "bp_stream_memory", 40},
    {1, "bp_tensor", 88},
    {2, "bp_call", 120},
    {2, "bp_capture", 48},
    {2, "bp_compiler", 72},
    {2, "bp_compiler_info", 96},
    {2, "bp_custom_operator", 72},
    {2, "bp_device_info", 320},
    {2, "bp_generator", 32},
    {2, "bp_host", 152},
    {2, "bp_host_calls", 24},
    {2, "bp_host_memory", 48},
    {2, "bp_inject", 24},
    {2, "bp_interop", 120},
    {2, "bp_kernel", 96},
    {2, "bp_launch", 96},
    {2, "bp_link", 32},
    {2, "bp_memory", 64},
    {2, "bp_numerics", 24},
    {2, "bp_operator", 80},
    {2, "bp_peer", 40},
    {2, "bp_plan", 40},
    {2, "bp_plugin", 160},
    {2, "bp_program", 32},
    {2, "bp_queue", 104},
    {2, "bp_semaphores", 72},
    {2, "bp_settings", 24},
    {2, "bp_source", 56},
    {2, "bp_space_info", 72},
    {2, "bp_stream_memory", 40},
    {2, "bp_tensor", 88},
    {2, "bp_tuner", 24},
    {2, "bp_tuner_question", 80},
};

// Of the struct `name` at `level`; 0 if there was none.
constexpr uint32_t abi_size(std::string_view name, uint32_t level) {
  for (const AbiSize& each : abi_sizes)
    if (each.level == level && each.name == name) return each.bytes;
  return 0;
}

}  // namespace bp
