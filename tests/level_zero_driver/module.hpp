// Modules: SPIR-V, or what a module gave as its native binary, built for a device.
#pragma once

#include <string>

#include "driver.hpp"
#include "spirv.hpp"

namespace over_opencl {

struct BuildLog : Tagged<BuildLog> {
  std::string text;
};

class Module : public Tagged<Module> {
 public:
  // Throws Failure; what the compiler says goes to `log` in any case.
  Module(Device& device, const ze_module_desc_t& description, std::string& log);

  Device& device() const { return device_; }
  cl_program program() const { return program_.get(); }
  const SpirvModule& spirv() const { return spirv_; }
  const KernelInterface* find(const std::string& kernel) const;
  // Holds the module with its constants as they were given, and its translation.
  std::string native_binary() const;

 private:
  void read_spirv(const ze_module_desc_t& description);
  void read_native(const ze_module_desc_t& description);
  void specialize(const ze_module_constants_t& constants);
  void build(const char* flags, std::string& log);

  Device& device_;
  SpirvModule spirv_;
  std::string bitcode_;  // empty where the device takes SPIR-V
  OwnedProgram program_;
};

}  // namespace over_opencl
