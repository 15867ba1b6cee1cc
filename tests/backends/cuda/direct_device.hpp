// The CUDA backend reached directly through the ABI, and kernels on it.
#pragma once

#include <optional>
#include <stdexcept>

#include <backplane/extensions/cuda.h>

#include "backends/direct_device.hpp"

namespace direct {

// The plugin alone, which needs neither card nor driver.
class CudaPlugin : public testing::Test, public DirectDevice {
 protected:
  uint32_t num_cards() {
    uint32_t count = 0;
    EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
    return count;
  }
  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_cuda.so"};

 private:
  const fake::Plugin& loaded() override { return plugin; }
  fake::Device& opened() override { throw std::runtime_error("the plugin alone has no device"); }
};

// A card; without one the test is skipped with the reason.
class Cuda : public CudaPlugin {
 protected:
  void SetUp() override {
    if (plugin->probe(plugin->self) != BP_OK)
      GTEST_SKIP() << "no card: " << fake::Host::last_message();
    opened_.emplace(plugin, 0);
  }

  fake::Device& device() { return *opened_; }

  bp_code compile(const std::string& code, bp_module** out, const char* options = "",
                  const char* language = BP_LANGUAGE_CUDA_CXX) {
    return compile_as(language, code, out, options);
  }
  bp_module* compile(const std::string& code) {
    bp_module* module = nullptr;
    EXPECT_EQ(compile(code, &module), BP_OK) << fake::Host::last_message();
    return module;
  }

 private:
  fake::Device& opened() override { return *opened_; }

  std::optional<fake::Device> opened_;
};

// y[i] = scale * x[i] + shift (AxpbValues).
inline const char* const axpb = R"(
typedef struct { long long from, to; float scale, shift; } Values;
extern "C" __global__ void axpb(const unsigned char* x, unsigned char* y, const Values v) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  ((float*)(y + v.to))[i] = v.scale * ((const float*)(x + v.from))[i] + v.shift;
})";

// Keeps the card busy for as long as `rounds` says.
inline const char* const spin = R"(
extern "C" __global__ void spin(unsigned* x, unsigned long long rounds) {
  unsigned state = x[0];
  for (unsigned long long i = 0; i < rounds; ++i) state = state * 1664525u + 1013904223u + (state >> 7);
  x[0] = state;
})";

}  // namespace direct
