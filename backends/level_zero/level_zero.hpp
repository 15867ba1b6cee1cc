// Level Zero's own C interface as this plugin uses it: the loader's functions, opened at run time, and its results as
// statuses of ours.
#pragma once

#include <level_zero/ze_api.h>
#include <string>

#include <backplane/plugin.hpp>
#include <backplane/plugin/process.hpp>

namespace level_zero {

#define BP_LEVEL_ZERO_FUNCTIONS(X)          \
  X(zeInit)                                 \
  X(zeDriverGet)                            \
  X(zeDriverGetApiVersion)                  \
  X(zeDriverGetProperties)                  \
  X(zeDeviceGet)                            \
  X(zeDeviceGetProperties)                  \
  X(zeDeviceGetComputeProperties)           \
  X(zeDeviceGetModuleProperties)            \
  X(zeDeviceGetCommandQueueGroupProperties) \
  X(zeDeviceGetMemoryProperties)            \
  X(zeDeviceCanAccessPeer)                  \
  X(zeDeviceGetStatus)                      \
  X(zeContextCreate)                        \
  X(zeMemAllocDevice)                       \
  X(zeMemAllocHost)                         \
  X(zeMemAllocShared)                       \
  X(zeMemFree)                              \
  X(zeMemGetAllocProperties)                \
  X(zeCommandQueueCreate)                   \
  X(zeCommandQueueDestroy)                  \
  X(zeCommandQueueExecuteCommandLists)      \
  X(zeCommandQueueSynchronize)              \
  X(zeCommandListCreate)                    \
  X(zeCommandListCreateImmediate)           \
  X(zeCommandListDestroy)                   \
  X(zeCommandListClose)                     \
  X(zeCommandListReset)                     \
  X(zeCommandListAppendBarrier)             \
  X(zeCommandListAppendWaitOnEvents)        \
  X(zeCommandListAppendEventReset)          \
  X(zeCommandListAppendMemoryCopy)          \
  X(zeCommandListAppendMemoryFill)          \
  X(zeCommandListAppendLaunchKernel)        \
  X(zeFenceCreate)                          \
  X(zeFenceDestroy)                         \
  X(zeFenceQueryStatus)                     \
  X(zeFenceReset)                           \
  X(zeFenceHostSynchronize)                 \
  X(zeEventPoolCreate)                      \
  X(zeEventPoolDestroy)                     \
  X(zeEventCreate)                          \
  X(zeEventDestroy)                         \
  X(zeEventHostSynchronize)                 \
  X(zeEventQueryStatus)                     \
  X(zeEventHostReset)                       \
  X(zeEventHostSignal)                      \
  X(zeEventQueryKernelTimestamp)            \
  X(zeModuleCreate)                         \
  X(zeModuleDestroy)                        \
  X(zeModuleGetNativeBinary)                \
  X(zeModuleGetKernelNames)                 \
  X(zeModuleBuildLogGetString)              \
  X(zeModuleBuildLogDestroy)                \
  X(zeKernelCreate)                         \
  X(zeKernelDestroy)                        \
  X(zeKernelSetGroupSize)                   \
  X(zeKernelSetArgumentValue)               \
  X(zeKernelGetProperties)

// Newer than the loaders of some systems, which then have null here.
#define BP_LEVEL_ZERO_NEWER_FUNCTIONS(X) X(zeDevicePciGetPropertiesExt)

// Filled by load_loader().
struct Loader {
#define BP_LEVEL_ZERO_MEMBER(name) decltype(&::name) name = nullptr;
  BP_LEVEL_ZERO_FUNCTIONS(BP_LEVEL_ZERO_MEMBER)
  BP_LEVEL_ZERO_NEWER_FUNCTIONS(BP_LEVEL_ZERO_MEMBER)
#undef BP_LEVEL_ZERO_MEMBER
};
extern Loader loader;

// Opens the loader and starts its drivers, once in a process. Why that failed, for a person; empty if it did not.
const std::string& load_loader();

// "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY (0x70000003)".
std::string name_of(ze_result_t result);

// The class of an error that has no better explanation at its place.
bp_code class_of(ze_result_t result);

// The status of a call that did not succeed: "WHAT: ZE_RESULT_ERROR_UNKNOWN (0x7ffffffe)". `what` names the call. Where a
// device is known, its check() is the one to take, which remembers that the device was lost.
bp::Status failed(const char* what, ze_result_t result);

// ok for success, else as failed(), where a constructor cannot return.
inline void require(const char* what, ze_result_t result) {
  if (result != ZE_RESULT_SUCCESS) throw bp::Failure{failed(what, result)};
}

using bp::check_process;
using bp::process_generation;

// A descriptor or a struct of properties that says what it is.
template <class T> T describe(ze_structure_type_t type) {
  T made{};
  made.stype = type;
  return made;
}

inline unsigned long long number(uint64_t value) {
  return value;  // what %llu takes
}

}  // namespace level_zero
