#include "stream_memory.hpp"

#include <backplane/plugin/stream_memory.hpp>

#include "device.hpp"
#include "discovery.hpp"

namespace cuda_backend {

StreamMemory::~StreamMemory() {
  if (pool_ == nullptr || !device_.check_process().is_ok()) return;
  const Current current(device_.context());
  driver.cuMemPoolDestroy(pool_);
}

// Under the lock. Of its ways to use memory again, it may not make a stream wait for the one that had it before: that one
// may be waiting for another process.
CUresult StreamMemory::make_pool() {
  if (pool_ != nullptr) return CUDA_SUCCESS;
  const CUdevice id = device_.found().id;
  if (attribute_of(id, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  CUmemPoolProps kind{};
  kind.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, id};
  CUmemoryPool pool = nullptr;
  CUresult error = driver.cuMemPoolCreate(&pool, &kind);
  if (error != CUDA_SUCCESS) return error;
  cuuint64_t keeps_all = UINT64_MAX;
  int ties_streams = 0;
  error = driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keeps_all);
  if (error == CUDA_SUCCESS)
    error = driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
                                         &ties_streams);
  if (error == CUDA_SUCCESS && !readers_.empty())
    error = driver.cuMemPoolSetAccess(pool, readers_.data(), readers_.size());
  if (error != CUDA_SUCCESS) {
    driver.cuMemPoolDestroy(pool);
    return error;
  }
  pool_ = pool;
  return CUDA_SUCCESS;
}

bp::Result<bp::Handle> StreamMemory::allocate(Queue& queue, uint64_t bytes, uint64_t alignment) {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  if (queue.is_recording())
    return bp::bad_argument("allocating: this stream records its work; ask for memory before");
  const Current current(device_.context());
  const OutsideCapture outside;
  const std::lock_guard lock(mutex_);
  CUresult error = make_pool();
  if (error == CUDA_ERROR_NOT_SUPPORTED)
    return bp::unsupported("allocating: this card has no pools of memory");
  CUdeviceptr at = 0;
  if (error == CUDA_SUCCESS) error = driver.cuMemAllocFromPoolAsync(&at, bytes, pool_, queue.get());
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return device_.memory().explain_exhaustion(bytes);
  if (error != CUDA_SUCCESS) return queue.explain("allocating", error);
  if (alignment > 1 && at % alignment != 0) {
    driver.cuMemFreeAsync(at, queue.get());
    return bp::unsupported("allocating: the driver's pool aligns to less than %llu bytes",
                           number(alignment));
  }
  const auto handle = static_cast<bp::Handle>(at);
  blocks_[handle] = bytes;
  held_ += bytes;
  return handle;
}

bool StreamMemory::release(Queue& queue, bp::Handle handle) {
  const Current current(device_.context());
  const OutsideCapture outside;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(handle);
  if (found == blocks_.end()) return false;
  // Fails after the card was lost, when nothing can be done about it.
  if (driver.cuMemFreeAsync(CUdeviceptr{handle}, queue.get()) == CUDA_SUCCESS)
    held_ -= found->second;
  blocks_.erase(found);
  return true;
}

void StreamMemory::trim() {
  if (!device_.check_process().is_ok()) return;
  const Current current(device_.context());
  const OutsideCapture outside;
  const std::lock_guard lock(mutex_);
  if (pool_ != nullptr) driver.cuMemPoolTrimTo(pool_, 0);
}

CUresult StreamMemory::open_to(CUdevice other) {
  const std::lock_guard lock(mutex_);
  const CUmemAccessDesc reader{{CU_MEM_LOCATION_TYPE_DEVICE, other},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (const CUmemAccessDesc& known : readers_)
    if (known.location.id == other) return CUDA_SUCCESS;
  if (pool_ != nullptr) {
    const CUresult error = driver.cuMemPoolSetAccess(pool_, &reader, 1);
    if (error != CUDA_SUCCESS) return error;
  }
  readers_.push_back(reader);
  return CUDA_SUCCESS;
}

const bp_stream_memory stream_memory_functions = bp::stream_memory_of<Device, Queue>();

}  // namespace cuda_backend
