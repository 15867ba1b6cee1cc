// A synchronous device with several memories, for the sake of the host: what is in the wrong one is an error.
#include <cstring>

#include <backplane/plugin.hpp>

#include "device.hpp"

bp::Status npu::Npu::describe(uint32_t, bp::DeviceInfo& info) {
  info.set_name("an npu with three memories");
  info.flags |= BP_DEVICE_CAN_SUBALLOCATE;
  info.num_spaces = num_spaces;
  info.total_memory = bytes_of_space[hbm];
  return bp::ok;
}

bp::Status npu::Npu::describe_space(uint32_t space, bp::SpaceInfo& info) {
  static constexpr const char* names[num_spaces] = {"hbm", "sram", "window"};
  static constexpr uint32_t flags[num_spaces] = {0, BP_SPACE_FAST, BP_SPACE_HOST_VISIBLE};
  if (space >= num_spaces) return bp::bad_argument("there is no memory %u; 0 to 2 are", space);
  info.set_name(names[space]);
  info.flags = flags[space];
  info.total_bytes = bytes_of_space[space];
  info.free_bytes = memories_.free_bytes(space);
  return bp::ok;
}

bp::Status npu::Npu::copy(bp::Region to, bp::Region from) {
  std::memmove(static_cast<char*>(pointer_of(to.handle)) + to.offset,
               static_cast<const char*>(pointer_of(from.handle)) + from.offset, to.bytes);
  return bp::ok;
}

bp::Status npu::Npu::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes) {
  if (pattern_bytes == 0 || pattern_bytes > 16 || (pattern_bytes & (pattern_bytes - 1)) != 0)
    return bp::bad_argument("fill: a pattern of %u bytes; 1, 2, 4, 8 or 16 are possible",
                            pattern_bytes);
  char* const start = static_cast<char*>(pointer_of(to.handle)) + to.offset;
  for (uint64_t i = 0; i < to.bytes; ++i)
    start[i] = static_cast<const char*>(pattern)[i % pattern_bytes];
  return bp::ok;
}

BP_PLUGIN(npu::Npu, npu)
