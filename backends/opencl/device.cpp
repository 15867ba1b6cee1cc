#include "device.hpp"

#include <array>

#include <backplane/plugin/fills.hpp>

namespace opencl {
namespace {

const FoundDevice& found_at(uint32_t index) {
  return all_found().at(Device::identity.name, index);
}

// What a driver tells by itself, from any thread.
void CL_CALLBACK tell(const char* text, const void*, size_t, void*) {
  bp::log(bp::LogLevel::warning, "the driver says: %s", text);
}

cl_context make_context(const FoundDevice& found) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int error = CL_SUCCESS;
  cl_context context = clCreateContext(properties, 1, &found.id, tell, nullptr, &error);
  require("creating a context", error);
  return context;
}

cl_context shared_context(cl_context adopted) {
  require("adopting a context", clRetainContext(adopted));
  return adopted;
}

void set_facts(cl_device_id id, bp::DeviceInfo& info) {
  using Uuid = std::array<cl_uchar, CL_UUID_SIZE_KHR>;
  if (has_extension(id, "cl_khr_device_uuid"))
    info.set_uuid(device_value<Uuid>(id, CL_DEVICE_UUID_KHR).data());
  if (has_extension(id, "cl_khr_pci_bus_info")) {
    const auto at = device_value<cl_device_pci_bus_info_khr>(id, CL_DEVICE_PCI_BUS_INFO_KHR);
    info.set_pci(at.pci_domain, at.pci_bus, at.pci_device, at.pci_function);
  }
  info.set_driver(device_text(id, CL_DRIVER_VERSION).c_str());
  info.num_cores = device_value<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.clock_mhz = device_value<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  if (takes_priorities(id)) info.set_priorities(0, -1);
}

}  // namespace

bp::Status Device::probe() {
  return all_found().probe();
}

bp::Result<uint32_t> Device::num_devices() {
  return all_found().count();
}

bp::Status Device::describe(uint32_t index, bp::DeviceInfo& info) {
  const cl_device_id id = found_at(index).id;
  info.set_name(device_text(id, CL_DEVICE_NAME).c_str());
  info.flags = Memory::flags_of(id);
  info.total_memory = device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.max_allocation = device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  set_facts(id, info);
  return bp::ok;
}

Device::Device(uint32_t index, cl_context adopted)
    : index_(index), found_(found_at(index)),
      context_(adopted != nullptr ? shared_context(adopted) : make_context(found_)),
      memory_(Memory::make(context_.get(), found_.platform, found_.id)),
      default_queue_(std::make_unique<Queue>(context_.get(), found_.id, 0)),
      compiler_(found_.platform, found_.id), capture_(found_.platform, found_.id) {}

Device::~Device() {
  if (process_generation() == born_) return;
  (void)default_queue_.release();
  (void)context_.release();
}

bp::Result<bp::Handle> Device::allocate(uint64_t bytes, uint64_t alignment) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return memory_->allocate(bytes, alignment);
}

void Device::release(bp::Handle handle) {
  if (process_generation() == born_) memory_->release(handle);
}

bp::Status Device::copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue) {
  return memory_->copy(to, from, direction, queue_of(queue));
}

bp::Status Device::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue) {
  if (bp::Status status = bp::check_pattern(pattern_bytes); !status.is_ok()) return status;
  return memory_->fill(to, pattern, pattern_bytes, queue_of(queue));
}

void Device::destroy_stream(Queue* queue) {
  if (process_generation() == born_) delete queue;
}

bp::Result<Queue*> Device::create_stream(int32_t priority) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return new Queue(context_.get(), found_.id, priority);
}

void Device::destroy_event(Event* event) {
  if (process_generation() == born_) delete event;
}

bp::Status Device::query_event(Event* event) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return event->query();
}

bp::Status Device::synchronize_event(Event* event) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return event->synchronize();
}

}  // namespace opencl
