// CUDA's driver interface as this plugin uses it: its functions, found at run time so that the plugin loads without a
// driver, and its errors as statuses of ours.
#pragma once

#include <cuda.h>
#include <string>

#include <backplane/plugin.hpp>
#include <backplane/plugin/process.hpp>

namespace cuda_backend {

// All that is called of libcuda. Each has the name of the header's newest version, which the driver must know:
// cuMemAlloc is cuMemAlloc_v2 here.
#define BP_CUDA_FUNCTIONS(X)           \
  X(cuInit)                            \
  X(cuDriverGetVersion)                \
  X(cuGetErrorName)                    \
  X(cuGetErrorString)                  \
  X(cuDeviceGetCount)                  \
  X(cuDeviceGet)                       \
  X(cuDeviceGetName)                   \
  X(cuDeviceGetUuid)                   \
  X(cuDeviceGetAttribute)              \
  X(cuDeviceTotalMem)                  \
  X(cuDeviceCanAccessPeer)             \
  X(cuDeviceGetP2PAttribute)           \
  X(cuDevicePrimaryCtxRetain)          \
  X(cuDevicePrimaryCtxRelease)         \
  X(cuCtxGetCurrent)                   \
  X(cuCtxSetCurrent)                   \
  X(cuCtxGetDevice)                    \
  X(cuCtxEnablePeerAccess)             \
  X(cuCtxGetStreamPriorityRange)       \
  X(cuMemGetInfo)                      \
  X(cuMemAlloc)                        \
  X(cuMemFree)                         \
  X(cuMemGetAllocationGranularity)     \
  X(cuMemAddressReserve)               \
  X(cuMemAddressFree)                  \
  X(cuMemCreate)                       \
  X(cuMemRelease)                      \
  X(cuMemMap)                          \
  X(cuMemUnmap)                        \
  X(cuMemSetAccess)                    \
  X(cuMemPoolCreate)                   \
  X(cuMemPoolDestroy)                  \
  X(cuMemPoolSetAttribute)             \
  X(cuMemPoolSetAccess)                \
  X(cuMemPoolTrimTo)                   \
  X(cuMemAllocFromPoolAsync)           \
  X(cuMemFreeAsync)                    \
  X(cuMemHostAlloc)                    \
  X(cuMemFreeHost)                     \
  X(cuMemHostRegister)                 \
  X(cuMemHostUnregister)               \
  X(cuPointerGetAttribute)             \
  X(cuMemcpyHtoDAsync)                 \
  X(cuMemcpyDtoHAsync)                 \
  X(cuMemcpyDtoDAsync)                 \
  X(cuMemcpyPeerAsync)                 \
  X(cuMemsetD8Async)                   \
  X(cuMemsetD16Async)                  \
  X(cuMemsetD32Async)                  \
  X(cuMemsetD2D8Async)                 \
  X(cuMemsetD2D32Async)                \
  X(cuStreamCreateWithPriority)        \
  X(cuStreamDestroy)                   \
  X(cuStreamQuery)                     \
  X(cuStreamSynchronize)               \
  X(cuStreamGetCtx)                    \
  X(cuStreamWaitEvent)                 \
  X(cuStreamBeginCapture)              \
  X(cuStreamEndCapture)                \
  X(cuThreadExchangeStreamCaptureMode) \
  X(cuGraphInstantiateWithFlags)       \
  X(cuGraphDestroy)                    \
  X(cuGraphLaunch)                     \
  X(cuGraphExecDestroy)                \
  X(cuEventCreate)                     \
  X(cuEventDestroy)                    \
  X(cuEventRecord)                     \
  X(cuEventQuery)                      \
  X(cuEventSynchronize)                \
  X(cuEventElapsedTime)                \
  X(cuModuleLoadData)                  \
  X(cuModuleUnload)                    \
  X(cuModuleGetFunction)               \
  X(cuFuncGetAttribute)                \
  X(cuFuncGetParamInfo)                \
  X(cuLaunchHostFunc)                  \
  X(cuLaunchKernel)

struct Driver {
#define BP_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  BP_CUDA_FUNCTIONS(BP_CUDA_MEMBER)
#undef BP_CUDA_MEMBER
};

// Filled in by load_driver() and constant afterwards; nothing of it may be called before.
extern Driver driver;

// Opens libcuda and initializes it, once in a process. Empty, or why there is none, for a person. Threads: any.
const std::string& load_driver();

// "13.0" for 13000, as the interface counts its versions.
std::string version_text(int version);

// "CUDA_ERROR_ILLEGAL_ADDRESS (700: an illegal memory access was encountered)". Takes CUresult and the runtime
// library's cudaError_t, whose numbers are the same.
std::string name_of(int error);

// The class of an error that has no better explanation at its place.
bp_code class_of(int error);

// The card, by the driver's number, that was lost first to this process. Tells so that card `ordinal` is lost now.
int first_lost_card(int ordinal);

// The status of a call that did not succeed: "WHAT: CUDA_ERROR_INVALID_VALUE (1: ...)".
bp::Status failed(const char* what, int error);

// ok for success, else as failed().
inline bp::Status check(const char* what, int error) {
  return error == CUDA_SUCCESS ? bp::ok : failed(what, error);
}

// The same where a constructor cannot return.
inline void require(const char* what, int error) {
  if (error != CUDA_SUCCESS) throw bp::Failure{failed(what, error)};
}

inline unsigned long long number(uint64_t value) {
  return value;  // what %llu takes
}

using bp::check_process;
using bp::process_generation;

// Makes a context this thread's current one while it lives. A thread that had another one gets that back, since the
// application may be using it; a thread that had none keeps ours, so that the next call has nothing to do.
class Current {
 public:
  explicit Current(CUcontext context) {
    driver.cuCtxGetCurrent(&before_);
    if (before_ == context) [[likely]] {
      before_ = nullptr;
      return;
    }
    driver.cuCtxSetCurrent(context);
  }
  ~Current() {
    if (before_ != nullptr) driver.cuCtxSetCurrent(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUcontext before_ = nullptr;
};

// Allows what an application's capture on any other stream would forbid to this thread: allocating, loading.
class OutsideCapture {
 public:
  OutsideCapture() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace cuda_backend
