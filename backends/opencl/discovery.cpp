#include "discovery.hpp"

#include <cstdio>
#include <cstring>

namespace opencl {
namespace {

// What the loader's entry point answers for a text, from any driver.
template <class Ask> std::string ask_text(Ask ask) {
  size_t bytes = 0;
  if (ask(0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (ask(bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::strlen(text.c_str()));  // without the zeros at its end
  return text;
}

std::vector<cl_platform_id> platforms(std::string& why_none) {
  cl_uint count = 0;
  const cl_int error = clGetPlatformIDs(0, nullptr, &count);
  if (error != CL_SUCCESS || count == 0) {
    why_none =
        "no OpenCL driver is installed here, or none of them loads; install one, such as "
        "pocl-opencl-icd or the maker's own (the loader reads /etc/OpenCL/vendors or "
        "OCL_ICD_VENDORS)";
    return {};
  }
  std::vector<cl_platform_id> ids(count);
  if (clGetPlatformIDs(count, ids.data(), nullptr) != CL_SUCCESS) ids.clear();
  return ids;
}

// Empty with a line in the log if the platform does not work.
std::vector<cl_device_id> devices_of(cl_platform_id platform) {
  cl_uint count = 0;
  std::vector<cl_device_id> ids;
  cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (error == CL_SUCCESS && count > 0) {
    ids.resize(count);
    error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr);
  }
  if (error == CL_SUCCESS) return ids;
  if (error != CL_DEVICE_NOT_FOUND) {
    bp::log(bp::LogLevel::warning, "the platform '%s' is left out: listing its devices: %s",
            platform_text(platform, CL_PLATFORM_NAME).c_str(), name_of(error).c_str());
  }
  return {};
}

Found look() {
  Found found;
  for (cl_platform_id platform : platforms(found.why_none)) {
    for (cl_device_id id : devices_of(platform)) {
      if (device_version(id) < 120) {
        bp::log(
            bp::LogLevel::warning, "the device '%s' is left out: it speaks '%s', and 1.2 is needed",
            device_text(id, CL_DEVICE_NAME).c_str(), device_text(id, CL_DEVICE_VERSION).c_str());
      } else if (device_value<cl_bool>(id, CL_DEVICE_AVAILABLE)) {
        found.devices.push_back({platform, id});
      }
    }
  }
  if (found.devices.empty() && found.why_none.empty())
    found.why_none = "OpenCL drivers are installed, but none of them offers a device";
  return found;
}

}  // namespace

const Found& all_found() {
  return bp::found_once<look>();
}

std::string device_text(cl_device_id device, cl_device_info property) {
  return ask_text([=](size_t bytes, void* to, size_t* size) {
    return clGetDeviceInfo(device, property, bytes, to, size);
  });
}

std::string platform_text(cl_platform_id platform, cl_platform_info property) {
  return ask_text([=](size_t bytes, void* to, size_t* size) {
    return clGetPlatformInfo(platform, property, bytes, to, size);
  });
}

bool has_extension(cl_device_id device, std::string_view name) {
  const std::string all = " " + device_text(device, CL_DEVICE_EXTENSIONS) + " ";
  return all.find(" " + std::string(name) + " ") != std::string::npos;
}

int device_version(cl_device_id device) {
  int major = 0, minor = 0;
  const std::string text = device_text(device, CL_DEVICE_VERSION);
  if (std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return 0;
  return 100 * major + 10 * minor;
}

bool takes_priorities(cl_device_id device) {
  return device_version(device) >= 200 && has_extension(device, "cl_khr_priority_hints");
}

}  // namespace opencl
