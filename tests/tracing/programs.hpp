// Programs that are watched: disabled tests of this executable, each run in a process of its own with the environment
// that asks for it.
#pragma once

#include <nlohmann/json.hpp>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensors.hpp>

#include "dispatcher/child.hpp"

namespace bp::test {

inline const std::string exam_plugin = BP_TEST_PLUGIN_DIR "/libbackplane_exam.so";

inline Device test_backend(const std::string& name) {
  return load_plugin(BP_TEST_PLUGIN_DIR "/libbackplane_" + name + ".so").devices.front()->device;
}

// Numbers from 1 / count to 1.
inline Tensor some_numbers(std::vector<std::int64_t> shape, Device device) {
  Tensor flat = arange(1, checked_numel("some_numbers", shape) + 1, 1, f32);
  return to_device(div(reshape(flat, shape), static_cast<double>(flat.numel())), device);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace bp::test
