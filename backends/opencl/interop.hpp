// The extension bp.interop: OpenCL's own objects of devices, streams and buffers.
#pragma once

#include <backplane/extensions/interop.h>

namespace opencl {

extern const bp_interop interop_functions;

}  // namespace opencl
