// What was compiled or loaded: a program and its kernels.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "function.hpp"
#include "opencl.hpp"

namespace opencl {

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
  bp::Status binary(uint64_t& bytes, void* to);
  // Lives as long as this.
  bp::Result<Function*> find(const char* kernel);

 private:
  Module(Device& device, const char* name, OwnedProgram program);
  bp::Status read_binary();

  Device& device_;
  std::string name_;
  OwnedProgram program_;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Function>> functions_;
  std::string binary_;  // with its seal; empty until someone asks
};

}  // namespace opencl
