// Addresses for memory that has none, and copies from and to it.
#include "device_memory.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/mman.h>

#include <backplane/backplane.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/storage_tensor.hpp>
#include <backplane/runtime/stream.hpp>

#include "graph.hpp"
#include "streams.hpp"

namespace bp::onnx {
namespace {

// All blocks that ONNX Runtime holds. Threads: any.
class Blocks {
 public:
  void* add(Device device, std::size_t bytes) {
    bytes = std::max<std::size_t>(bytes, 1);
    Tensor memory = empty_tensor({static_cast<std::int64_t>(bytes)}, u8, device);
    void* const address =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw RuntimeFailure("backplane: no addresses are left");
    const std::lock_guard lock(mutex_);
    blocks_.emplace(reinterpret_cast<std::uintptr_t>(address), std::move(memory));
    return address;
  }

  void remove(void* address) {
    Tensor memory;  // goes after the lock
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == blocks_.end()) return;
    munmap(address, static_cast<std::size_t>(found->second.numel()));
    memory = std::move(found->second);
    blocks_.erase(found);
  }

  // The block that the address lies in and the bytes in front of it there; undefined if there is none.
  std::pair<Tensor, std::int64_t> find(const void* address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    const std::lock_guard lock(mutex_);
    auto found = blocks_.upper_bound(number);
    if (found == blocks_.begin()) return {};
    --found;
    const auto offset = static_cast<std::int64_t>(number - found->first);
    if (offset >= found->second.numel()) return {};
    return {found->second, offset};
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, Tensor> blocks_;
};

Blocks& blocks() {
  static auto* const kept = new Blocks;  // outlives the devices, which end with the process
  return *kept;
}

// A tensor in the block of this address.
Tensor tensor_at(const void* address, IntList shape, IntList strides, Dtype dtype) {
  const auto [block, offset] = blocks().find(address);
  const auto size = static_cast<std::int64_t>(itemsize(dtype));
  if (!block.defined() || offset % size != 0)
    throw RuntimeFailure(
        "backplane: a tensor lies in device memory that Backplane did not allocate");
  return tensor_over_storage(block.impl()->storage, shape, strides, dtype, offset / size);
}

bool is_on_host(const OrtValue* value) {
  const OrtMemoryDevice* memory = ort::memory_of_value(value);
  return !memory || ort::memory_device_type(memory) == cpu_memory;
}

struct DeviceAllocator : OrtAllocator {
  const OrtMemoryInfo* memory = nullptr;
  Device device;
};

void* allocate(OrtAllocator* self, std::size_t bytes) noexcept {
  try {
    return blocks().add(static_cast<DeviceAllocator*>(self)->device, bytes);
  } catch (...) {
    return nullptr;  // ONNX Runtime says how much it asked for
  }
}

bool can_copy(const OrtDataTransferImpl*, const OrtMemoryDevice* from, const OrtMemoryDevice* to) {
  const bool reads = device_of_memory(from).has_value(), writes = device_of_memory(to).has_value();
  return (reads || writes) && (reads || ort::memory_device_type(from) == cpu_memory) &&
         (writes || ort::memory_device_type(to) == cpu_memory);
}

// All of a value as bytes.
Tensor bytes_at(void* data, std::size_t bytes) {
  return tensor_at(data, {static_cast<std::int64_t>(bytes)}, {1}, u8);
}

void copy_one(const OrtValue* from, OrtValue* to, const OrtSyncStream* stream) {
  std::size_t bytes = 0;
  check(ort::tensor_bytes(from, &bytes));
  void *source = nullptr, *target = nullptr;
  check(ort::mutable_data(const_cast<OrtValue*>(from), &source));
  check(ort::mutable_data(to, &target));
  if (bytes == 0) return;
  const bool reads = !is_on_host(from), writes = !is_on_host(to);
  Tensor read = reads ? bytes_at(source, bytes) : Tensor();
  const Tensor written = writes ? bytes_at(target, bytes) : Tensor();
  const Stream* ours = stream_of(stream);
  if (!ours && reads) synchronize(read.device());  // whoever wrote it
  std::optional<StreamGuard> guard;
  if (ours) guard.emplace(*ours);
  if (!reads) return copy_from_host_memory(written, source);
  if (!writes) return copy_to_host_memory(read, target);
  if (read.device() != written.device()) {
    if (ours) ours->synchronize();  // which orders one device alone
    read = to_device(read, written.device());
  }
  copy_into(written, read);
  if (!ours || ours->device() != written.device()) synchronize(written.device());
}

OrtStatus* copy_all(OrtDataTransferImpl*, const OrtValue** from, OrtValue** to,
                    OrtSyncStream** streams, std::size_t count) {
  return guarded([&] {
    for (std::size_t i = 0; i < count; ++i)
      copy_one(from[i], to[i], streams ? streams[i] : nullptr);
  });
}

}  // namespace

bool has_own_memory(Device device) {
  return !device_record(device).host_readable;
}

std::optional<Device> device_of_memory(const OrtMemoryDevice* memory) {
  if (ort::memory_device_type(memory) == cpu_memory || ort::memory_vendor(memory) != memory_vendor)
    return std::nullopt;
  return Device{ort::memory_device_id(memory)};
}

Tensor borrow_on_device(const OrtValue* value, Device device) {
  if (is_on_host(value)) return to_device(borrow(value, host_device()), device);
  const TensorFacts facts = tensor_facts(value);
  if (facts.is_empty) return empty_tensor(facts.shape, facts.dtype, device);
  return tensor_at(facts.data, facts.shape, facts.strides, facts.dtype);
}

void write_to_value(const Tensor& result, OrtValue* value) {
  if (result.numel() == 0) return;
  const TensorFacts facts = tensor_facts(value);
  if (is_on_host(value)) return copy_to_host_memory(result, facts.data);
  copy_into(tensor_at(facts.data, facts.shape, facts.strides, facts.dtype), result);
}

OrtAllocator* make_allocator(const OrtMemoryInfo* info) {
  int number = 0;
  check(ort::memory_info_id(info, &number));
  auto allocator = std::make_unique<DeviceAllocator>();
  allocator->memory = info;
  allocator->device = Device{static_cast<std::uint32_t>(number)};
  allocator->allocate = allocate;
  allocator->reserve = allocate;
  allocator->free = [](OrtAllocator*, void* address) { blocks().remove(address); };
  allocator->info = [](const OrtAllocator* self) {
    return static_cast<const DeviceAllocator*>(self)->memory;
  };
  return allocator.release();
}

void release_allocator(OrtAllocator* allocator) {
  delete static_cast<DeviceAllocator*>(allocator);
}

OrtDataTransferImpl* make_data_transfer() {
  auto transfer = std::make_unique<OrtDataTransferImpl>();
  transfer->release = [](OrtDataTransferImpl* self) { delete self; };
  transfer->can_copy = can_copy;
  transfer->copy = copy_all;
  return transfer.release();
}

}  // namespace bp::onnx
