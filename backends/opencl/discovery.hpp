// Which devices there are: all of all platforms that the loader knows, in its order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/plugin/discovery.hpp>

#include "opencl.hpp"

namespace opencl {

struct FoundDevice {
  cl_platform_id platform;
  cl_device_id id;
};

using Found = bp::FoundDevices<FoundDevice>;

// Looked for once in a process. A platform that fails is a line in the log and missing here. Threads: any.
const Found& all_found();
inline const std::vector<FoundDevice>& found_devices() {
  return all_found().devices;
}

// A property of a device; empty or 0 if the driver does not know it.
std::string device_text(cl_device_id device, cl_device_info property);
std::string platform_text(cl_platform_id platform, cl_platform_info property);
template <class T> T device_value(cl_device_id device, cl_device_info property) {
  T value{};
  if (clGetDeviceInfo(device, property, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

bool has_extension(cl_device_id device, std::string_view name);

// 100 * major + 10 * minor of the OpenCL that the device speaks: 120, 300.
int device_version(cl_device_id device);

// Can a queue be more urgent than others?
bool takes_priorities(cl_device_id device);

}  // namespace opencl
