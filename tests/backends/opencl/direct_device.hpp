// The OpenCL backend reached directly through the ABI, and kernels on it.
#pragma once

#include "backends/direct_device.hpp"
#include "backends/opencl_c_kernels.hpp"

namespace direct {

class OpenCl : public testing::Test, public DirectDevice {
 protected:
  bp_code compile(const std::string& code, bp_module** out, const char* options = "",
                  const char* language = BP_LANGUAGE_OPENCL_C) {
    return compile_as(language, code, out, options);
  }
  bp_module* compile(const std::string& code) {
    bp_module* module = nullptr;
    EXPECT_EQ(compile(code, &module), BP_OK) << fake::Host::last_message();
    return module;
  }

  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_opencl.so"};
  fake::Device device{plugin, 0};

 private:
  const fake::Plugin& loaded() override { return plugin; }
  fake::Device& opened() override { return device; }
};

}  // namespace direct
