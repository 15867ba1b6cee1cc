// Memory of devices that the host cannot read, as ONNX Runtime has it: it knows memory by addresses, to which it may add, and which
// it looks up nowhere (<backplane/runtime/storage_addresses.hpp>).
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

#include "interface.hpp"

namespace bp::onnx {

// Ours among the vendors of memory: "BP". ONNX Runtime tells memories apart by vendor and number, which is our device's.
inline constexpr std::uint32_t memory_vendor = 0x4250;

// Has the device memory of its own for ONNX Runtime? Else its tensors are the host's.
bool has_own_memory(Device device);
// None: it is not ours.
std::optional<Device> device_of_memory(const OrtMemoryDevice* memory);

// A tensor over the value's memory, in which it is on `device`; a copy of it if the value is in the host's.
// Throws RuntimeFailure for memory that this library did not give out.
Tensor borrow_on_device(const OrtValue* value, Device device);
// Writes the result into the value, whichever memory that is in.
void write_to_value(const Tensor& result, OrtValue* value);

// Of memory that `info` names, which must outlive it.
OrtAllocator* make_allocator(const OrtMemoryInfo* info);
void release_allocator(OrtAllocator* allocator);

OrtDataTransferImpl* make_data_transfer();

}  // namespace bp::onnx
