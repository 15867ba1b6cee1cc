// What was compiled or loaded: a module and its kernels.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "function.hpp"
#include "level_zero.hpp"

namespace level_zero {

class Device;

// A value for a specialization constant of a SPIR-V module, by its number there.
struct Constant {
  uint32_t id;
  uint32_t value;
};

class Module {
 public:
  // The handle that the host holds.
  static Module& of(bp_module* module) { return *reinterpret_cast<Module*>(module); }

  // Threads: any, also at once.
  static bp::Result<std::unique_ptr<Module>> compile(Device& device, const bp_source& source);
  static bp::Result<std::unique_ptr<Module>> load(Device& device, const char* name,
                                                  const void* binary, uint64_t bytes);
  // Of a module that was made ahead of time.
  static bp::Result<std::unique_ptr<Module>> specialize(Device& device, const char* name,
                                                        std::string_view spirv,
                                                        const std::vector<Constant>& constants);
  ~Module();

  // As bp_compiler.binary: what the driver gives, or the SPIR-V where it gives nothing. That saves the host its own
  // compiler, which takes longer than the driver's.
  bp::Status binary(uint64_t& bytes, void* to);
  // Lives as long as this.
  bp::Result<Function*> find(const char* kernel);

 private:
  Module(Device& device, const char* name) : device_(device), name_(name) {}

  bp::Status build(ze_module_format_t format, std::string_view code, const std::string& options,
                   const ze_module_constants_t* constants);
  ze_result_t create(const ze_module_desc_t& wanted, std::string& log);
  std::string native_binary() const;
  std::string kernel_names() const;

  Device& device_;
  std::string name_;
  ze_module_handle_t module_ = nullptr;
  std::string spirv_;  // empty for what was loaded as the driver's own binary
  std::mutex mutex_;   // of what follows
  std::vector<std::unique_ptr<Function>> functions_;
  std::string binary_;  // sealed; empty until someone asks
};

}  // namespace level_zero
