// What was compiled: a shared object in memory, and its kernels.
#pragma once

#include <memory>
#include <vector>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin.hpp>

namespace reference {

// As `c11` in backplane/extensions/compiler.h; what a bp_function* points to.
using Kernel = void (*)(void* const* memory, const void* values, const uint64_t* item);

class Module {
 public:
  // BP_BAD_ARGUMENT for bytes that are not a shared object of this machine.
  static bp::Result<Module*> open(const char* name, std::vector<char> binary);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::vector<char>& binary() const { return binary_; }
  bp::Result<bp_function*> find(const char* kernel) const;

 private:
  Module(void* library, std::vector<char> binary) : library_(library), binary_(std::move(binary)) {}

  void* library_;
  std::vector<char> binary_;
};

}  // namespace reference
