// Which cards there are: all that the driver shows, in its order.
#pragma once

#include <string>
#include <vector>

#include <backplane/plugin/discovery.hpp>

#include "cuda.hpp"

namespace cuda_backend {

struct FoundDevice {
  CUdevice id;
  int ordinal;       // the driver's number, that of CUDA_VISIBLE_DEVICES
  int architecture;  // 10 * major + minor of the compute capability: 90
  std::string name;
  uint64_t memory;  // bytes
};

struct Found : bp::FoundDevices<FoundDevice> {
  uint32_t generation = 0;  // see driver_generation()
};

// Looked for once in a process. A card that is too old is a line in the log and missing here. Threads: any.
const Found& all_found();
inline const std::vector<FoundDevice>& found_devices() {
  return all_found().devices;
}

// process_generation() when the driver was started.
uint32_t driver_generation();

int attribute_of(CUdevice id, CUdevice_attribute attribute);

}  // namespace cuda_backend
