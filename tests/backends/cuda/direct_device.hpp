// The CUDA backend reached directly through the ABI, and kernels on it.
#pragma once

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include <backplane/extensions/compiler.h>
#include <backplane/extensions/cuda.h>

#include "sdk/fake_host.hpp"

namespace direct {

// The plugin alone, which needs neither card nor driver.
class CudaPlugin : public testing::Test {
 protected:
  template <class Extension> const Extension& extension(const char* name) {
    return *reinterpret_cast<const Extension*>(plugin->extension(plugin->self, name, 1));
  }
  uint32_t num_cards() {
    uint32_t count = 0;
    EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
    return count;
  }
  static bp_source source_of(const std::string& code, const char* options = "",
                             const char* language = BP_LANGUAGE_CUDA_CXX) {
    bp_source source{};
    source.h = {sizeof source, BP_SOURCE_TYPE, nullptr};
    source.language = language;
    source.name = "test f32";
    source.code = code.data();
    source.bytes = code.size();
    source.options = options;
    return source;
  }

  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_cuda.so"};
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
  const bp_compiler& compiler() { return extension<bp_compiler>(BP_COMPILER); }
  const bp_memory& memory() { return *plugin->memory; }

  bp_stream* make_stream() {
    bp_stream* stream = nullptr;
    EXPECT_EQ(device().queue().create_stream(device().get(), 0, &stream), BP_OK);
    return stream;
  }
  void destroy(bp_stream* stream) { device().queue().destroy_stream(device().get(), stream); }
  bp_event* make_event() {
    bp_event* event = nullptr;
    EXPECT_EQ(device().queue().create_event(device().get(), &event), BP_OK);
    return event;
  }

  bp_code compile(const std::string& code, bp_module** out, const char* options = "",
                  const char* language = BP_LANGUAGE_CUDA_CXX) {
    const bp_source source = source_of(code, options, language);
    return compiler().compile(device().get(), &source, out);
  }
  bp_module* compile(const std::string& code) {
    bp_module* module = nullptr;
    EXPECT_EQ(compile(code, &module), BP_OK) << fake::Host::last_message();
    return module;
  }
  bp_function* find(bp_module* module, const char* name) {
    bp_function* function = nullptr;
    EXPECT_EQ(compiler().find(device().get(), module, name, &function), BP_OK)
        << fake::Host::last_message();
    return function;
  }
  void release(bp_module* module) { compiler().release(device().get(), module); }

  static bp_launch_argument argument(bp_handle handle) {
    bp_launch_argument made{BP_LAUNCH_MEMORY, 0, {}};
    made.u.handle = handle;
    return made;
  }
  template <class T> static bp_launch_argument argument(const T* value) {
    bp_launch_argument made{BP_LAUNCH_BYTES, sizeof(T), {}};
    made.u.bytes = value;
    return made;
  }
  // `items` work-items in groups of `group`.
  bp_code launch(bp_function* function, uint64_t items,
                 const std::vector<bp_launch_argument>& arguments, bp_stream* stream = nullptr,
                 uint64_t group = 1) {
    bp_launch made{};
    made.h = {sizeof made, BP_LAUNCH_TYPE, nullptr};
    made.function = function;
    made.groups[0] = items / group;
    made.items[0] = group;
    made.groups[1] = made.groups[2] = made.items[1] = made.items[2] = 1;
    made.arguments = arguments.data();
    made.num_arguments = static_cast<uint32_t>(arguments.size());
    return compiler().launch(device().get(), &made, stream);
  }

  template <class T> bp_handle upload(const std::vector<T>& values) {
    const bp_handle handle = device().allocate(values.size() * sizeof(T));
    EXPECT_NE(handle, 0u);
    EXPECT_EQ(device().from_host(handle, values.data(), values.size() * sizeof(T)), BP_OK);
    EXPECT_EQ(device().synchronize(), BP_OK);
    return handle;
  }
  template <class T> std::vector<T> download(bp_handle handle, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(device().to_host(values.data(), handle, count * sizeof(T)), BP_OK);
    EXPECT_EQ(device().synchronize(), BP_OK);
    return values;
  }

 private:
  std::optional<fake::Device> opened_;
};

// y[i] = scale * x[i] + shift, with offsets in bytes among the values.
inline const char* const axpb = R"(
typedef struct { long long from, to; float scale, shift; } Values;
extern "C" __global__ void axpb(const unsigned char* x, unsigned char* y, const Values v) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  ((float*)(y + v.to))[i] = v.scale * ((const float*)(x + v.from))[i] + v.shift;
})";
struct AxpbValues {
  int64_t from, to;
  float scale, shift;
};

// Keeps the card busy for as long as `rounds` says.
inline const char* const spin = R"(
extern "C" __global__ void spin(unsigned* x, unsigned long long rounds) {
  unsigned state = x[0];
  for (unsigned long long i = 0; i < rounds; ++i) state = state * 1664525u + 1013904223u + (state >> 7);
  x[0] = state;
})";

}  // namespace direct
