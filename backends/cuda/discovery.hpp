// Which cards there are: all that the driver shows, in its order.
#pragma once

#include <string>
#include <vector>

#include "cuda.hpp"

namespace cuda_backend {

struct FoundDevice {
  CUdevice id;
  int ordinal;       // the driver's number, that of CUDA_VISIBLE_DEVICES
  int architecture;  // 10 * major + minor of the compute capability: 90
  std::string name;
  uint64_t memory;  // bytes
};

// Looked for once in a process. A card that is too old is a line in the log and missing here. Threads: any.
const std::vector<FoundDevice>& found_devices();

// Why there are none, for a person; empty if there are some.
const std::string& why_no_device();

// process_generation() when the driver was started.
uint32_t driver_generation();

int attribute_of(CUdevice id, CUdevice_attribute attribute);

}  // namespace cuda_backend
