// The Level Zero backend reached directly through the ABI, on the driver of tests/level_zero_driver, and kernels on it.
#pragma once

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <backplane/codegen/codegen.hpp>
#include <backplane/extensions/compiler.h>
#include <backplane/tensor/error.hpp>

#include "sdk/fake_host.hpp"

namespace direct {

// An environment variable for as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// Before the loader starts. Who names another driver gets that.
inline const int names_the_driver = setenv("ZE_ENABLE_ALT_DRIVERS", BP_LEVEL_ZERO_DRIVER, 0);

// The driver has OpenCL below it, without which it has no device.
inline bool has_device() {
  static const bool has = [] {
    fake::Host host;
    fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_level_zero.so");
    uint32_t count = 0;
    return plugin->devices(plugin->self, &count, nullptr) == BP_OK && count > 0;
  }();
  return has;
}

// OpenCL C as the plugin takes it; translated once in a process. Nothing where the tool chain is missing.
inline std::optional<std::string> spirv_of(const std::string& opencl_c) {
  static std::mutex mutex;
  static std::map<std::string, std::string> done;
  const std::lock_guard lock(mutex);
  if (const auto found = done.find(opencl_c); found != done.end()) return found->second;
  try {
    return done[opencl_c] = bp::codegen::spirv_of({"test", BP_LANGUAGE_OPENCL_C, opencl_c});
  } catch (const bp::Error& error) {
    if (error.error_class() == bp::ErrorClass::unsupported) return std::nullopt;
    throw;
  }
}

// A device, and what tests do with it.
class OpenDevice {
 public:
  template <class Extension> const Extension& extension(const char* name) {
    return *reinterpret_cast<const Extension*>(plugin->extension(plugin->self, name, 1));
  }
  const bp_compiler& compiler() { return extension<bp_compiler>(BP_COMPILER); }
  const bp_memory& memory() { return *plugin->memory; }

  bp_stream* make_stream() {
    bp_stream* stream = nullptr;
    EXPECT_EQ(device.queue().create_stream(device.get(), 0, &stream), BP_OK)
        << fake::Host::last_message();
    return stream;
  }
  void destroy(bp_stream* stream) { device.queue().destroy_stream(device.get(), stream); }
  bp_event* make_event() {
    bp_event* event = nullptr;
    EXPECT_EQ(device.queue().create_event(device.get(), &event), BP_OK);
    return event;
  }
  void destroy(bp_event* event) { device.queue().destroy_event(device.get(), event); }

  bp_code compile_spirv(const std::string& code, bp_module** out,
                        const char* language = BP_LANGUAGE_SPIRV) {
    bp_source source{};
    source.h = {sizeof source, BP_SOURCE_TYPE, nullptr};
    source.language = language;
    source.name = "test f32";
    source.code = code.data();
    source.bytes = code.size();
    source.options = "";
    return compiler().compile(device.get(), &source, out);
  }
  // Of OpenCL C.
  bp_module* compile(const std::string& code) {
    bp_module* module = nullptr;
    EXPECT_EQ(compile_spirv(spirv_of(code).value_or(""), &module), BP_OK)
        << fake::Host::last_message();
    return module;
  }
  bp_function* find(bp_module* module, const char* name) {
    bp_function* function = nullptr;
    EXPECT_EQ(compiler().find(device.get(), module, name, &function), BP_OK)
        << fake::Host::last_message();
    return function;
  }
  void release(bp_module* module) { compiler().release(device.get(), module); }

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
    return compiler().launch(device.get(), &made, stream);
  }

  template <class T> bp_handle upload(const std::vector<T>& values) {
    const bp_handle handle = device.allocate(values.size() * sizeof(T));
    EXPECT_NE(handle, 0u);
    EXPECT_EQ(device.from_host(handle, values.data(), values.size() * sizeof(T)), BP_OK);
    EXPECT_EQ(device.synchronize(), BP_OK);
    return handle;
  }
  template <class T> std::vector<T> download(bp_handle handle, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(device.to_host(values.data(), handle, count * sizeof(T)), BP_OK);
    EXPECT_EQ(device.synchronize(), BP_OK);
    return values;
  }

  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_level_zero.so"};
  fake::Device device{plugin, 0};
};

// Tests run with immediate lists and with regular ones.
class LevelZero : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
    lists_.emplace("BACKPLANE_LEVEL_ZERO_LISTS", GetParam());
    open_.emplace();
  }
  void TearDown() override {
    open_.reset();
    lists_.reset();
  }
  // False, and the test is over, where kernels cannot be made.
  static bool can_compile() { return spirv_of("__kernel void nothing() {}").has_value(); }

  OpenDevice& on() { return *open_; }
  fake::Device& device() { return open_->device; }
  void reopen() {
    open_.reset();
    open_.emplace();
  }

 private:
  std::optional<Variable> lists_;
  std::optional<OpenDevice> open_;
};

#define BP_BOTH_KINDS_OF_LISTS(suite)                     \
  INSTANTIATE_TEST_SUITE_P(                               \
      on, suite, testing::Values("immediate", "regular"), \
      [](const testing::TestParamInfo<const char*>& each) { return std::string(each.param); })
#define BP_SKIP_WITHOUT_A_TOOL_CHAIN() \
  if (!can_compile()) GTEST_SKIP() << "no clang, opt and llvm-spirv of one version"

// y[i] = scale * x[i] + shift, with offsets in bytes among the values.
inline const char* const axpb = R"(
typedef struct { long from, to; float scale, shift; } Values;
__kernel void axpb(__global const uchar* x, __global uchar* y, Values v) {
  const size_t i = get_global_id(0);
  ((__global float*)(y + v.to))[i] = v.scale * ((__global const float*)(x + v.from))[i] + v.shift;
})";
struct AxpbValues {
  int64_t from, to;
  float scale, shift;
};

// Keeps the device busy for as long as `rounds` says.
inline const char* const spin = R"(
__kernel void spin(__global uint* x, ulong rounds) {
  uint state = x[0];
  for (ulong i = 0; i < rounds; ++i) state = state * 1664525u + 1013904223u + (state >> 7);
  x[0] = state;
})";

}  // namespace direct
