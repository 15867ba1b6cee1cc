// Streams of devices as ONNX Runtime has them. The handle of one is a bp::Stream.
#pragma once

#include <backplane/runtime/stream.hpp>

#include "interface.hpp"

namespace bp::onnx {

OrtSyncStreamImpl* make_stream(Device device);
// Null: there is none, or it is another provider's.
const Stream* stream_of(const OrtSyncStream* stream);

}  // namespace bp::onnx
