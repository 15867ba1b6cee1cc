// What was compiled or loaded: machine code on the card and its kernels.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda.hpp"
#include "function.hpp"

namespace cuda_backend {

class Device;

class Module {
 public:
  // The handle that the host holds.
  static Module& of(bp_module* module) { return *reinterpret_cast<Module*>(module); }

  // Threads: any, also at once.
  static bp::Result<std::unique_ptr<Module>> compile(Device& device, const bp_source& source);
  static bp::Result<std::unique_ptr<Module>> load(Device& device, const char* name,
                                                  const void* binary, uint64_t bytes);
  ~Module();

  // As bp_compiler.binary.
  bp::Status binary(uint64_t& bytes, void* to) const;
  // Lives as long as this.
  bp::Result<Function*> find(const char* kernel);

 private:
  Module(Device& device, const char* name, std::string sealed);
  bp::Status put_on_card();

  Device& device_;
  std::string name_;
  const std::string sealed_;  // the machine code behind its seal
  CUmodule module_ = nullptr;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Function>> functions_;
};

}  // namespace cuda_backend
