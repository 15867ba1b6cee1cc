#include "host_memory.hpp"

#include <backplane/plugin/host_memory.hpp>

#include "device.hpp"

namespace cuda_backend {

// Pages, whatever alignment is asked for.
bp::Result<void*> Device::pin(uint64_t bytes, uint64_t alignment) {
  constexpr uint64_t page = 4096;
  if (alignment > page)
    return bp::unsupported("pinned memory is aligned to %llu bytes, not to %llu", number(page),
                           number(alignment));
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  const Current current(context_);
  const OutsideCapture outside;
  void* pinned = nullptr;
  bp::Status status =
      check("pinning host memory", driver.cuMemHostAlloc(&pinned, bytes, CU_MEMHOSTALLOC_PORTABLE));
  if (!status.is_ok()) return status;
  return pinned;
}

void Device::unpin(void* memory) {
  const Current current(context_);
  const OutsideCapture outside;
  driver.cuMemFreeHost(memory);
}

bp::Status Device::adopt_host(void* memory, uint64_t bytes) {
  if (bp::Status status = check_process(); !status.is_ok()) return status;
  const Current current(context_);
  const OutsideCapture outside;
  const CUresult error = driver.cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
  switch (error) {
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
      return bp::bad_argument("of these %llu bytes some are registered already", number(bytes));
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
      return bp::unsupported("the driver registers no such memory: %s", name_of(error).c_str());
    default: return check("registering host memory", error);
  }
}

void Device::forget_host(void* memory) {
  const Current current(context_);
  const OutsideCapture outside;
  driver.cuMemHostUnregister(memory);
}

constexpr bp_host_memory host_memory_functions = bp::host_memory_of<Device>();

}  // namespace cuda_backend
