#include "device.hpp"

#include <backplane/plugin/fills.hpp>

namespace level_zero {
namespace {

const FoundDevice& found_at(uint32_t index) {
  return all_found().at(Device::identity.name, index);
}

}  // namespace

bp::Status Device::probe() {
  return all_found().probe();
}

bp::Result<uint32_t> Device::num_devices() {
  return all_found().count();
}

bp::Status Device::describe(uint32_t index, bp::DeviceInfo& info) {
  const FoundDevice& found = found_at(index);
  info.set_name(found.properties.name);
  info.flags = Memory::flags();
  info.total_memory = found.memory;
  info.max_allocation = found.properties.maxMemAllocSize;
  info.set_uuid(found.properties.uuid.id);
  if (found.has_address)
    info.set_pci(found.address.domain, found.address.bus, found.address.device,
                 found.address.function);
  info.set_driver(found.driver_text.c_str());
  info.num_cores = found.properties.numSlices * found.properties.numSubslicesPerSlice *
                   found.properties.numEUsPerSubslice;
  info.clock_mhz = found.properties.coreClockRate;
  info.set_priorities(1, -1);  // see describe_queue
  return bp::ok;
}

Device::Device(uint32_t index)
    : found_(found_at(index)), context_(context_of(found_.driver)), compiler_(found_),
      default_queue_(std::make_unique<Queue>(*this, 0)) {}

bp::Result<bp::Handle> Device::allocate(uint64_t bytes, uint64_t alignment) {
  if (bp::Status status = check(); !status.is_ok()) return status;
  return memory_.allocate(bytes, alignment);
}

void Device::release(bp::Handle handle) {
  if (is_of_this_process()) memory_.release(handle);
}

bp::Status Device::copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue) {
  return memory_.copy(to, from, direction, queue_of(queue));
}

bp::Status Device::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue) {
  if (bp::Status status = bp::check_pattern(pattern_bytes); !status.is_ok()) return status;
  return memory_.fill(to, pattern, pattern_bytes, queue_of(queue));
}

bp::Result<Queue*> Device::create_stream(int32_t priority) {
  if (bp::Status status = check(); !status.is_ok()) return status;
  return new Queue(*this, priority);
}

}  // namespace level_zero
