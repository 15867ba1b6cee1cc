// The device cpu:0 and the tables by which the host reaches it. Host functions that are missing here
// do not exist: the device is synchronous, so that it has neither streams nor events.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/abi.h>

namespace bp::cpu {

bp_code devices(void* self, uint32_t* count, bp_device_info* infos) noexcept;
bp_code open_device(void* self, uint32_t index, bp_device** out) noexcept;
void close_device(bp_device* device) noexcept;
bp_code describe_space(bp_device* device, uint32_t space, bp_space_info* out) noexcept;

// Its name and model, which tell processors apart that have the same name in virtual machines.
std::string processor();

extern const bp_memory memory_functions;
extern const bp_queue queue_functions;

}  // namespace bp::cpu
