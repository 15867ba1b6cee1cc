#include "device.hpp"

namespace cuda_backend {
namespace {

constexpr int32_t dlpack_cuda = 2;  // kDLCUDA
constexpr int32_t greatest_priority = -5;

const FoundDevice& found_at(uint32_t index) {
  return all_found().at(Device::identity.name, index);
}

// Never released: a thread that has it as its current context may outlive the device, and the runtime library of the
// kernels keeps it as well.
CUcontext context_of(const FoundDevice& found, uint32_t born) {
  if (bp::Status status = check_process(born); !status.is_ok()) throw bp::Failure{status};
  CUcontext context = nullptr;
  require("starting the card", driver.cuDevicePrimaryCtxRetain(&context, found.id));
  return context;
}

CUcontext adopt_context(const FoundDevice& found, uint32_t born, CUcontext context) {
  if (bp::Status status = check_process(born); !status.is_ok()) throw bp::Failure{status};
  const Current current(context);
  CUdevice id = -1;
  const CUresult error = driver.cuCtxGetDevice(&id);
  if (error != CUDA_SUCCESS) {
    throw bp::Failure{
        bp::bad_argument("interop: this is not a context: %s", name_of(error).c_str())};
  }
  if (id == found.id) return context;
  throw bp::Failure{
      bp::bad_argument("interop: the context is of card %d, not of card %d", id, found.id)};
}

// Without a context, which would cost hundreds of megabytes for each card that is only listed.
void set_facts(CUdevice id, bp::DeviceInfo& info) {
  const auto attribute = [id](CUdevice_attribute which) {
    return static_cast<uint32_t>(attribute_of(id, which));
  };
  CUuuid uuid{};
  if (driver.cuDeviceGetUuid(&uuid, id) == CUDA_SUCCESS) info.set_uuid(uuid.bytes);
  info.set_pci(attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
               attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
               attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID), 0);
  int version = 0;
  if (driver.cuDriverGetVersion(&version) == CUDA_SUCCESS)
    info.set_driver(("CUDA " + version_text(version)).c_str());
  info.num_cores = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  // cuCtxGetStreamPriorityRange needs a context; its answer is the same for all cards that know priorities.
  if (attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) != 0)
    info.set_priorities(0, greatest_priority);
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
  info.set_name(found.name.c_str());
  info.dl_device_type = dlpack_cuda;
  info.dl_device_id = found.ordinal;
  info.flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE;
  // Not the whole promise: the driver loads and unloads modules when the card is idle.
  if (maps_memory(found.id)) info.flags |= BP_DEVICE_NO_MEMORY_WAITS;
  info.total_memory = found.memory;
  info.max_allocation = found.memory;
  // As cudaMalloc's own: libraries choose slower algorithms for less.
  info.offset_alignment = 256;
  set_facts(found.id, info);
  return bp::ok;
}

Device::Device(uint32_t index, CUcontext adopted)
    : found_(found_at(index)), context_(adopted != nullptr ? adopt_context(found_, born_, adopted)
                                                           : context_of(found_, born_)),
      compiler_(found_), default_queue_(std::make_unique<Queue>(*this, 0)) {}

bp::Result<bp::Handle> Device::allocate(uint64_t bytes, uint64_t alignment) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return memory_.allocate(bytes, alignment);
}

// All work on it is done: any stream's order will do for what came in one.
void Device::release(bp::Handle handle) {
  if (!check_process().is_ok()) return;
  if (!stream_memory_.release(*default_queue_, handle)) memory_.release(handle);
}

void Device::release_on(Queue* queue, bp::Handle handle) {
  if (check_process().is_ok()) stream_memory_.release(queue_of(queue), handle);
}

bp::Status Device::copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return memory_.copy(to, from, direction, queue_of(queue));
}

bp::Status Device::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return memory_.fill(to, pattern, pattern_bytes, queue_of(queue));
}

bp::Status Device::describe_space(uint32_t space, bp::SpaceInfo& info) {
  if (space != 0) return bp::bad_argument("there is one memory, space 0; %u was asked for", space);
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  const Current current(context_);
  size_t free = 0, total = 0;
  if (bp::Status status = check("asking for free memory", driver.cuMemGetInfo(&free, &total));
      !status.is_ok())
    return status;
  info.set_name("card");
  info.total_bytes = total;
  info.free_bytes = free;
  return bp::ok;
}

bp::Result<Queue*> Device::create_stream(int32_t priority) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return new Queue(*this, priority);
}

bp::Result<Event*> Device::create_event() {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  return new Event(*this);
}

}  // namespace cuda_backend
