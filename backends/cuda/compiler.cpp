#include "compiler.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/plugin/binaries.hpp>
#include <backplane/plugin/compiler.hpp>

#include "device.hpp"
#include "module.hpp"
#include "nvrtc.hpp"

namespace cuda_backend {
namespace {

bp::LaunchLimits limits_of(CUdevice id) {
  const auto ask = [id](CUdevice_attribute attribute) {
    return static_cast<uint64_t>(attribute_of(id, attribute));
  };
  bp::LaunchLimits limits;
  limits.items[0] = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  limits.items[1] = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  limits.items[2] = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  limits.groups[0] = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  limits.groups[1] = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  limits.groups[2] = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  limits.all_items = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  // What a kernel may declare; more must be asked for at each launch.
  limits.local_memory = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  return limits;
}

}  // namespace

Compiler::Compiler(const FoundDevice& found)
    : id_(found.id), identity_("CUDA; " + found.name + "; sm_" +
                               std::to_string(found.architecture) + "; " + nvrtc::identity()),
      limits_(limits_of(found.id)) {}

bp::Status Compiler::describe(bp_compiler_info& info) const {
  bp_compiler_info made{};
  made.languages = BP_LANGUAGE_CUDA_CXX;
  made.identity = identity_.c_str();
  made.shape = BP_SHAPE_GPU;
  made.compute_dtypes = bp::dtypes_of_c(true, true);
  limits_.describe(made);
  made.compute_units =
      static_cast<uint32_t>(attribute_of(id_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  made.vector_bytes = 16;  // the widest load of one work-item
  made.subgroup_size = static_cast<uint32_t>(attribute_of(id_, CU_DEVICE_ATTRIBUTE_WARP_SIZE));

  return bp::fill_struct(info, made, "describe");
}

// ---- The extension's table -----------------------------------------------------------------------------

constexpr bp_compiler compiler_functions = bp::compiler_of<Device, Module, Function>();

}  // namespace cuda_backend
