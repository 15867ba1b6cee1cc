// Threads that hand memory from stream to stream, ordered by events alone.
#pragma once

#include <backplane/runtime/device_registry.hpp>

#include "protocol/script.hpp"

namespace bp::conform {

// {"do":"side_streams", "threads":H, "rounds":R, "calls":B} -> "checked": tensors compared, "wrong": of these, "message":
// the first error of a call. With "calls", sums are computed besides the copies.
Json run_side_streams(DeviceRecord& record, const Json& step);

}  // namespace bp::conform
