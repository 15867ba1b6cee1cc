#include "compiler.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <backplane/plugin/binaries.hpp>
#include <backplane/plugin/compiler.hpp>

#include "device.hpp"
#include "module.hpp"

// Not in every version of the headers.
#define BP_DEVICE_WARP_SIZE_NV 0x4003
#define BP_DEVICE_WAVEFRONT_WIDTH_AMD 0x4043

namespace opencl {
namespace {

bool takes_spirv(cl_device_id device, int version) {
  if (version < 210 && !has_extension(device, "cl_khr_il_program")) return false;
  return device_text(device, CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos;
}

bp_dtype_set compute_dtypes(cl_device_id device) {
  // In 1.2 doubles are an optional part of the core: devices name the extension or the configuration.
  const bool has_f64 = has_extension(device, "cl_khr_fp64") ||
                       device_value<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  return bp::dtypes_of_c(has_extension(device, "cl_khr_fp16"), has_f64);
}

// Only makers' extensions say it without a kernel.
uint32_t subgroup_size(cl_device_id device) {
  if (has_extension(device, "cl_nv_device_attribute_query"))
    return device_value<cl_uint>(device, BP_DEVICE_WARP_SIZE_NV);
  if (has_extension(device, "cl_amd_device_attribute_query"))
    return device_value<cl_uint>(device, BP_DEVICE_WAVEFRONT_WIDTH_AMD);
  return 0;
}

uint32_t shape_of(cl_device_id device) {
  const auto type = device_value<cl_device_type>(device, CL_DEVICE_TYPE);
  return bp::shape_asked_for("BACKPLANE_OPENCL_SHAPE",
                             (type & CL_DEVICE_TYPE_CPU) != 0 ? BP_SHAPE_CPU : BP_SHAPE_GPU);
}

// BACKPLANE_OPENCL_LANGUAGE=spirv keeps the host from giving it others, so that a driver's way with it can be tried.
bool may_speak(const char* language) {
  const char* asked = std::getenv("BACKPLANE_OPENCL_LANGUAGE");
  return asked == nullptr || *asked == '\0' || std::strcmp(asked, language) == 0;
}

bp::LaunchLimits limits_of(cl_device_id device) {
  bp::LaunchLimits limits;
  size_t items[16] = {};
  if (clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, nullptr) !=
      CL_SUCCESS)
    items[0] = items[1] = items[2] = 1;
  std::copy_n(items, 3, limits.items);
  limits.all_items = device_value<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  limits.local_memory = device_value<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
  return limits;
}

}  // namespace

Compiler::Compiler(cl_platform_id platform, cl_device_id device)
    : device_(device), limits_(limits_of(device)) {
  const int version = device_version(device);
  if (takes_spirv(device, version)) {
    make_from_il_ = version >= 210
                        ? clCreateProgramWithIL
                        : reinterpret_cast<MakeFromIl>(clGetExtensionFunctionAddressForPlatform(
                              platform, "clCreateProgramWithILKHR"));
  }
  if (device_value<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) &&
      may_speak(BP_LANGUAGE_OPENCL_C))
    languages_ = BP_LANGUAGE_OPENCL_C;
  if (make_from_il_ != nullptr && may_speak(BP_LANGUAGE_SPIRV))
    languages_ += (languages_.empty() ? "" : " ") + std::string(BP_LANGUAGE_SPIRV);
  // Division otherwise has 2.5 ULP, and the operators' rows promise less.
  if (device_value<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG) &
      CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
    options_ = "-cl-fp32-correctly-rounded-divide-sqrt";
  identity_ = platform_text(platform, CL_PLATFORM_VERSION) + "; " +
              device_text(device, CL_DEVICE_VENDOR) + "; " + device_text(device, CL_DEVICE_NAME) +
              "; " + device_text(device, CL_DEVICE_VERSION) + "; " +
              device_text(device, CL_DRIVER_VERSION) + "; " + options_;
}

bp::Status Compiler::describe(bp_compiler_info& info) const {
  bp_compiler_info made{};
  made.languages = languages_.c_str();
  made.identity = identity_.c_str();
  made.shape = shape_of(device_);
  made.compute_dtypes = compute_dtypes(device_);
  limits_.describe(made);
  made.compute_units = device_value<cl_uint>(device_, CL_DEVICE_MAX_COMPUTE_UNITS);
  // Drivers that make vectors of work-items by themselves prefer 1, and still have wide registers.
  const auto width =
      std::max(device_value<cl_uint>(device_, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT),
               device_value<cl_uint>(device_, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  made.vector_bytes = width > 1 ? width * static_cast<uint32_t>(sizeof(float)) : 0;
  made.subgroup_size = subgroup_size(device_);

  return bp::fill_struct(info, made, "describe");
}

bool Compiler::takes(const char* language) const {
  return (" " + languages_ + " ").find(" " + std::string(language) + " ") != std::string::npos;
}

cl_program Compiler::make_from_il(cl_context context, const void* code, size_t bytes,
                                  cl_int* error) const {
  return make_from_il_(context, code, bytes, error);
}

// ---- The extension's table -----------------------------------------------------------------------------

constexpr bp_compiler compiler_functions = bp::compiler_of<Device, Module, Function>();

}  // namespace opencl
