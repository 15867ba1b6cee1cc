// Memory that ONNX Runtime knows by addresses that the runtime gives out, and copies from and to it.
#include "device_memory.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <backplane/backplane.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/storage_addresses.hpp>
#include <backplane/runtime/storage_tensor.hpp>
#include <backplane/runtime/stream.hpp>

#include "graph.hpp"
#include "streams.hpp"

namespace bp::onnx {
namespace {

Tensor tensor_at(const void* address, IntList shape, IntList strides, Dtype dtype) {
  const auto [block, offset] = storage_at(address);
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
    const auto size = static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1));
    return give_address(empty_tensor({size}, u8, static_cast<DeviceAllocator*>(self)->device));
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
  allocator->free = [](OrtAllocator*, void* address) { take_back_address(address); };
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
