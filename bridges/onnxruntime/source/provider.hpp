// The execution provider for one device.
#pragma once

#include <string>

#include <backplane/tensor/device.hpp>

#include "interface.hpp"

namespace bp::onnx {

inline constexpr const char* provider_name = "BackplaneExecutionProvider";

OrtEp* make_provider(Device device);
void release_provider(OrtEp* provider);

// Why nodes were left to others, in sentences of a line each, since the last call; the newest thousand. Threads: any.
std::string take_unserved();

}  // namespace bp::onnx
