// What a driver must know of a SPIR-V module before it hands it on: its kernels, what each of their parameters is, and
// its specialization constants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace over_opencl {

// OpenCL has a function for each kind; an application of Level Zero does not say which it is.
enum class ParameterKind { value, pointer, local };

struct Parameter {
  ParameterKind kind = ParameterKind::value;
  size_t bytes = 0;  // of a value; 0: unknown, so not checked
};

struct KernelInterface {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t required_group[3] = {0, 0, 0};  // zeros: any
};

struct SpecializationConstant {
  size_t first_word = 0;  // of the instruction that defines it
  bool is_boolean = false;
  size_t bytes = 0;
};

struct SpirvModule {
  std::vector<uint32_t> words;
  std::vector<KernelInterface> kernels;
  std::map<uint32_t, SpecializationConstant> constants;  // by SpecId

  // Gives a constant another default. False if the module has none of this number.
  bool specialize(uint32_t id, const void* value);
};

// Nothing for what is not a module, or not all of one. Reads no further than `bytes`, whatever is in them.
std::optional<SpirvModule> parse_spirv(const void* code, size_t bytes);

}  // namespace over_opencl
