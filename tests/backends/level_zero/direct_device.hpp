// The Level Zero backend reached directly through the ABI, on the driver of tests/level_zero_driver, and kernels on it.
#pragma once

#include <cstdlib>
#include <gmock/gmock.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <backplane/codegen/codegen.hpp>
#include <backplane/tensor/error.hpp>

#include "backends/direct_device.hpp"
#include "backends/opencl_c_kernels.hpp"

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
class OpenDevice : public DirectDevice {
 public:
  bp_code compile_spirv(const std::string& code, bp_module** out,
                        const char* language = BP_LANGUAGE_SPIRV) {
    return compile_as(language, code, out);
  }
  // Of OpenCL C.
  bp_module* compile(const std::string& code) {
    bp_module* module = nullptr;
    EXPECT_EQ(compile_spirv(spirv_of(code).value_or(""), &module), BP_OK)
        << fake::Host::last_message();
    return module;
  }

  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_level_zero.so"};
  fake::Device device{plugin, 0};

 private:
  const fake::Plugin& loaded() override { return plugin; }
  fake::Device& opened() override { return device; }
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

}  // namespace direct
