#include "discovery.hpp"

namespace cuda_backend {
namespace {

constexpr int least_architecture = 75;  // the oldest that CUDA 13 compiles for

// False, with a line in the log, if the card does not answer or is too old.
bool describe(int ordinal, FoundDevice& device) {
  device.ordinal = ordinal;
  char name[256] = {};
  size_t memory = 0;
  CUresult error = driver.cuDeviceGet(&device.id, ordinal);
  if (error == CUDA_SUCCESS) error = driver.cuDeviceGetName(name, sizeof name, device.id);
  if (error == CUDA_SUCCESS) error = driver.cuDeviceTotalMem(&memory, device.id);
  if (error != CUDA_SUCCESS) {
    bp::log(bp::LogLevel::warning, "card %d is left out: asking for its properties: %s", ordinal,
            name_of(error).c_str());
    return false;
  }
  device.name = name;
  device.memory = memory;
  device.architecture = 10 * attribute_of(device.id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                        attribute_of(device.id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (device.architecture >= least_architecture) return true;
  bp::log(bp::LogLevel::warning,
          "card %d, %s, is left out: its compute capability is %d.%d, and 7.5 is needed", ordinal,
          name, device.architecture / 10, device.architecture % 10);
  return false;
}

Found look() {
  Found found;
  found.generation = process_generation();
  found.why_none = load_driver();
  if (!found.why_none.empty()) return found;
  int count = 0;
  const CUresult error = driver.cuDeviceGetCount(&count);
  if (error != CUDA_SUCCESS) {
    found.why_none = "the NVIDIA driver does not count its cards: " + name_of(error);
    return found;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    FoundDevice device;
    if (describe(ordinal, device)) found.devices.push_back(std::move(device));
  }
  if (found.devices.empty()) {
    found.why_none =
        "an NVIDIA driver is installed, but it shows no card of compute capability 7.5 or later";
  }
  return found;
}

}  // namespace

const Found& all_found() {
  return bp::found_once<look>();
}

uint32_t driver_generation() {
  return all_found().generation;
}

int attribute_of(CUdevice id, CUdevice_attribute attribute) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, attribute, id) == CUDA_SUCCESS ? value : 0;
}

}  // namespace cuda_backend
