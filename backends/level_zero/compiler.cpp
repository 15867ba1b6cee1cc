#include "compiler.hpp"

#include <algorithm>

#include <backplane/plugin/binaries.hpp>
#include <backplane/plugin/compiler.hpp>

#include "device.hpp"
#include "module.hpp"

namespace level_zero {
namespace {

bp_dtype_set compute_dtypes(const ze_device_module_properties_t& module) {
  return bp::dtypes_of_c((module.flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0,
                         (module.flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0);
}

uint32_t shape_of(const ze_device_properties_t& properties) {
  return bp::shape_asked_for("BACKPLANE_LEVEL_ZERO_SHAPE",
                             properties.type == ZE_DEVICE_TYPE_CPU ? BP_SHAPE_CPU : BP_SHAPE_GPU);
}

bp::LaunchLimits limits_of(const ze_device_compute_properties_t& compute) {
  bp::LaunchLimits limits;
  const uint32_t items[] = {compute.maxGroupSizeX, compute.maxGroupSizeY, compute.maxGroupSizeZ};
  const uint32_t groups[] = {compute.maxGroupCountX, compute.maxGroupCountY,
                             compute.maxGroupCountZ};
  std::copy_n(items, 3, limits.items);
  std::copy_n(groups, 3, limits.groups);
  limits.all_items = compute.maxTotalGroupSize;
  limits.local_memory = compute.maxSharedLocalMemory;
  return limits;
}

}  // namespace

Compiler::Compiler(const FoundDevice& found) : found_(found), limits_(limits_of(found.compute)) {
  // Division otherwise has 2.5 ULP, and the operators' rows promise less. Level Zero has no name of
  // its own for it; Intel's driver takes that of OpenCL.
  if ((found.module.fp32flags & ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT) != 0)
    options_ = "-cl-fp32-correctly-rounded-divide-sqrt";
  identity_ = found.driver_text + "; " + found.properties.name + "; device " +
              std::to_string(found.properties.vendorId) + ":" +
              std::to_string(found.properties.deviceId) + "; " + options_;
}

bp::Status Compiler::describe(bp_compiler_info& info) const {
  const ze_device_properties_t& device = found_.properties;
  bp_compiler_info made{};
  made.languages = BP_LANGUAGE_SPIRV;
  made.identity = identity_.c_str();
  made.shape = shape_of(device);
  made.compute_dtypes = compute_dtypes(found_.module);
  limits_.describe(made);
  made.compute_units = device.numEUsPerSubslice * device.numSubslicesPerSlice * device.numSlices;
  made.vector_bytes = device.physicalEUSimdWidth > 1
                          ? device.physicalEUSimdWidth * static_cast<uint32_t>(sizeof(float))
                          : 0;
  // The narrowest: kernels that need more neighbours ask for them through local memory.
  const auto* sizes = found_.compute.subGroupSizes;
  const uint32_t* end =
      sizes + std::min<uint32_t>(found_.compute.numSubGroupSizes, ZE_SUBGROUPSIZE_COUNT);
  const uint32_t narrowest = sizes == end ? 0 : *std::min_element(sizes, end);
  made.subgroup_size = narrowest > 1 ? narrowest : 0;
  return bp::fill_struct(info, made, "describe");
}

// ---- The extension's table -----------------------------------------------------------------------------

constexpr bp_compiler compiler_functions = bp::compiler_of<Device, Module, Function>();

}  // namespace level_zero
