#include "memory/spaces.hpp"

#include <cstring>

#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/spaces.hpp>
#include <backplane/tensor/check.hpp>

#include "memory/new_tensor.hpp"

namespace bp {
namespace {

// What the plugin says of a space, checked.
bp_space_info described(DeviceState& state, std::uint32_t space) {
  bp_space_info info{};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  clear_plugin_error();
  const bp_code code = state.memory->describe_space(state.handle, space, &info);
  if (code != BP_OK)
    throw_plugin_error(state, code, fmt::format("describe_space of space {}", space));
  const auto fault = [&](std::string_view what) {
    throw_error(ErrorClass::internal,
                fmt::format("describe_space: {} of space {} (plugin {}, device {})", what, space,
                            state.backend->name, state.name));
  };
  if (!std::memchr(info.name, 0, sizeof info.name)) fault("the name is not terminated");
  if (info.free_bytes > info.total_bytes)
    fault("more bytes are free than there are, which is said");
  return info;
}

MemorySpace main_memory(DeviceState& state) {
  MemorySpace space;
  space.name = "device memory";
  space.total_bytes = state.info.total_memory;
  return space;
}

MemorySpace space_of(DeviceState& state, std::uint32_t index) {
  MemorySpace space;
  if (!state.memory->describe_space) {
    space = main_memory(state);
  } else {
    const bp_space_info info = described(state, index);
    space.name = *info.name ? info.name : fmt::format("space {}", index);
    space.total_bytes = info.total_bytes;
    space.free_bytes = info.free_bytes;
    space.is_host_visible = (info.flags & BP_SPACE_HOST_VISIBLE) != 0;
    space.is_fast = (info.flags & BP_SPACE_FAST) != 0;
  }
  // What main memory is to the host, the device says itself.
  if (index == 0) space.is_host_visible = state.host_readable;
  space.index = index;
  return space;
}

std::string names_of(DeviceState& state) {
  std::string names;
  for (std::uint32_t i = 0; i < state.info.num_spaces; ++i)
    names += fmt::format("{}{} '{}'", i == 0 ? "" : ", ", i, space_of(state, i).name);
  return names;
}

DeviceState& open_state(const char* op, Device device) {
  DeviceRecord& record = device_record(device);
  BP_CHECK(record.backend, "{}: {} has no memory", op, record.name);
  return state_of(record);
}

}  // namespace

SpaceState::SpaceState() = default;
SpaceState::~SpaceState() = default;

void open_spaces(DeviceState& state) {
  for (std::uint32_t i = 1; i < state.info.num_spaces; ++i) {
    const MemorySpace space = space_of(state, i);
    auto made = std::make_unique<SpaceState>();
    made->index = i;
    made->name = space.name;
    made->host_visible = space.is_host_visible;
    made->total_bytes = space.total_bytes;
    made->allocator = std::make_unique<CachingAllocator>(state, made.get());
    state.spaces.push_back(std::move(made));
  }
}

CachingAllocator& allocator_of_space(const char* op, DeviceState& state, std::uint32_t space) {
  if (space == 0) return *state.allocator;
  if (space > state.spaces.size())
    BP_CHECK(false, "{}: {} has no memory space {}; it has {}", op, state.name, space,
             names_of(state));
  return *state.spaces[space - 1]->allocator;
}

std::vector<MemorySpace> memory_spaces(Device device) {
  DeviceState& state = open_state("memory_spaces", device);
  std::vector<MemorySpace> spaces;
  for (std::uint32_t i = 0; i < state.info.num_spaces; ++i) spaces.push_back(space_of(state, i));
  return spaces;
}

std::uint32_t find_memory_space(Device device, std::string_view name) {
  DeviceState& state = open_state("find_memory_space", device);
  for (std::uint32_t i = 0; i < state.info.num_spaces; ++i)
    if (space_of(state, i).name == name) return i;
  throw_error(ErrorClass::bad_argument, fmt::format("find_memory_space: {} has no '{}'; it has {}",
                                                    state.name, name, names_of(state)));
}

Storage* allocate_storage_in(DeviceRecord& record, std::uint32_t space, std::uint64_t bytes) {
  if (space == 0 || !record.backend) return allocate_storage(record, bytes);
  DeviceState& state = state_of(record);
  CachingAllocator& allocator = allocator_of_space("allocate", state, space);
  if (state.is_left_behind()) throw_left_behind(record);
  if (bytes == 0) return allocate_storage(record, 0);  // takes no memory, and so none of a space
  return allocator.allocate(stream_of_memory(record), bytes);
}

Tensor empty_strided_tensor_in(std::uint32_t space, IntList shape, IntList strides, Dtype dtype,
                               Device device) {
  if (space == 0) return empty_strided_tensor(shape, strides, dtype, device);
  const std::uint64_t bytes = strided_bytes("empty_strided_in", shape, strides, dtype);
  open_state("empty_strided_in", device);
  DeviceRecord& record = device_record(device);
  Storage* storage = allocate_storage_in(record, space, bytes);
  const Tensor made = make_strided(take_impl_for(storage), record, storage, shape, strides, dtype);
  made.impl()->abi.space = space;
  return made;
}

Tensor empty_tensor_in(std::uint32_t space, IntList shape, Dtype dtype, Device device) {
  if (space == 0) return empty_tensor(shape, dtype, device);
  check_rank("empty_in", shape.size());
  return empty_strided_tensor_in(space, shape, contiguous_strides(shape), dtype, device);
}

}  // namespace bp
