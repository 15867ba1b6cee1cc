#include "module.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "tables.hpp"
#include "translate.hpp"

namespace over_opencl {
namespace {

// Before every binary that leaves us: OpenCL drivers believe what they are given, and crash on a truncated file.
struct Seal {
  char magic[8];
  uint64_t spirv_bytes, bitcode_bytes, hash;
};
constexpr char seal_magic[8] = {'z', 'e', '.', 'o', 'v', 'e', 'r', '1'};

// FNV-1a, 64 bits.
uint64_t hash_of(const char* bytes, size_t count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  return hash;
}

// Of Level Zero's flags only one has a counterpart. An unknown one fails, as the specification says.
bool to_opencl_options(const char* flags, std::string& options, std::string& log) {
  std::istringstream words(flags == nullptr ? "" : flags);
  for (std::string word; words >> word;) {
    if (word == "-ze-opt-disable") {
      options += " -cl-opt-disable";
    } else if (word.rfind("-ze-opt-", 0) != 0) {
      log = "unknown build flag '" + word + "'";
      return false;
    }
  }
  return true;
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) !=
      CL_SUCCESS)
    return {};
  std::string log(bytes, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  log.resize(std::strlen(log.c_str()));
  return log;
}

}  // namespace

Module::Module(Device& device, const ze_module_desc_t& description, std::string& log)
    : device_(device) {
  required(description.pInputModule);
  check(description.inputSize != 0, ZE_RESULT_ERROR_INVALID_SIZE);
  switch (description.format) {
    case ZE_MODULE_FORMAT_IL_SPIRV: read_spirv(description); break;
    case ZE_MODULE_FORMAT_NATIVE: read_native(description); break;
    default: throw Failure{ZE_RESULT_ERROR_INVALID_ENUMERATION};
  }
  build(description.pBuildFlags, log);
}

void Module::read_spirv(const ze_module_desc_t& description) {
  auto parsed = parse_spirv(description.pInputModule, description.inputSize);
  check(parsed.has_value(), ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  spirv_ = std::move(*parsed);
  if (description.pConstants != nullptr) specialize(*description.pConstants);
}

void Module::specialize(const ze_module_constants_t& constants) {
  if (constants.numConstants == 0) return;
  required(constants.pConstantIds);
  required(constants.pConstantValues);
  for (uint32_t i = 0; i < constants.numConstants; ++i) {
    const void* value = constants.pConstantValues[i];
    required(value);
    // Those that the module lacks are ignored, as by Intel's driver: a compiler may have removed them.
    spirv_.specialize(constants.pConstantIds[i], value);
  }
}

void Module::read_native(const ze_module_desc_t& description) {
  constexpr ze_result_t refused = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  Seal seal;
  check(description.inputSize > sizeof seal, refused);
  std::memcpy(&seal, description.pInputModule, sizeof seal);
  const char* content = reinterpret_cast<const char*>(description.pInputModule) + sizeof seal;
  const uint64_t bytes = description.inputSize - sizeof seal;
  check(std::memcmp(seal.magic, seal_magic, sizeof seal_magic) == 0, refused);
  check(seal.spirv_bytes <= bytes && seal.bitcode_bytes == bytes - seal.spirv_bytes, refused);
  check(seal.hash == hash_of(content, bytes), refused);
  check((seal.bitcode_bytes == 0) == device_.takes_spirv(), refused);
  auto parsed = parse_spirv(content, seal.spirv_bytes);
  check(parsed.has_value(), refused);
  spirv_ = std::move(*parsed);
  bitcode_.assign(content + seal.spirv_bytes, seal.bitcode_bytes);
}

void Module::build(const char* flags, std::string& log) {
  constexpr ze_result_t refused = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  std::string options;
  check(to_opencl_options(flags, options, log), refused);
  cl_int error = CL_SUCCESS;
  const cl_device_id id = device_.id();
  const cl_context context = device_.driver().context();
  if (device_.takes_spirv()) {
    program_.reset(
        clCreateProgramWithIL(context, spirv_.words.data(), 4 * spirv_.words.size(), &error));
  } else {
    if (bitcode_.empty())
      check(translate(spirv_.words, device_.driver().platform(), bitcode_, log), refused);
    const size_t bytes = bitcode_.size();
    const auto* code = reinterpret_cast<const unsigned char*>(bitcode_.data());
    program_.reset(clCreateProgramWithBinary(context, 1, &id, &bytes, &code, nullptr, &error));
    options += " -x spir -spir-std=1.2";
  }
  if (error == CL_SUCCESS)
    error = clBuildProgram(program_.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (program_ != nullptr) log = build_log(program_.get(), id);
  check(error == CL_SUCCESS, refused);
}

const KernelInterface* Module::find(const std::string& kernel) const {
  for (const KernelInterface& candidate : spirv_.kernels)
    if (candidate.name == kernel) return &candidate;
  return nullptr;
}

std::string Module::native_binary() const {
  std::string content(reinterpret_cast<const char*>(spirv_.words.data()), 4 * spirv_.words.size());
  Seal seal{};
  std::memcpy(seal.magic, seal_magic, sizeof seal_magic);
  seal.spirv_bytes = content.size();
  seal.bitcode_bytes = bitcode_.size();
  content += bitcode_;
  seal.hash = hash_of(content.data(), content.size());
  return std::string(reinterpret_cast<const char*>(&seal), sizeof seal) + content;
}

namespace {

ze_result_t ZE_APICALL module_create(ze_context_handle_t context, ze_device_handle_t device,
                                     const ze_module_desc_t* description, ze_module_handle_t* to,
                                     ze_module_build_log_handle_t* log) {
  return guarded([&] {
    Device& on = device_of(*from<Context>(context), device);
    required(description);
    required(to);
    on.check_not_lost();
    auto said = std::make_unique<BuildLog>();
    const ze_result_t result = guarded(
        [&] { *to = to_handle<ze_module_handle_t>(new Module(on, *description, said->text)); });
    if (log != nullptr) *log = to_handle<ze_module_build_log_handle_t>(said.release());
    return result;
  });
}

ze_result_t ZE_APICALL module_destroy(ze_module_handle_t module) {
  return guarded([&] { delete from<Module>(module); });
}

ze_result_t ZE_APICALL module_native_binary(ze_module_handle_t module, size_t* bytes, uint8_t* to) {
  return guarded([&] {
    const std::string binary = from<Module>(module)->native_binary();
    required(bytes);
    if (to != nullptr) {
      check(*bytes >= binary.size(), ZE_RESULT_ERROR_INVALID_SIZE);
      std::copy(binary.begin(), binary.end(), to);
    }
    *bytes = binary.size();
  });
}

ze_result_t ZE_APICALL module_kernel_names(ze_module_handle_t module, uint32_t* count,
                                           const char** names) {
  return guarded([&] {
    const auto& kernels = from<Module>(module)->spirv().kernels;
    write_list(count, names != nullptr, static_cast<uint32_t>(kernels.size()),
               [&](uint32_t i) { names[i] = kernels[i].name.c_str(); });
  });
}

ze_result_t ZE_APICALL module_properties(ze_module_handle_t module, ze_module_properties_t* to) {
  return guarded([&] {
    from<Module>(module);
    required(to).flags = 0;
  });
}

ze_result_t ZE_APICALL log_destroy(ze_module_build_log_handle_t log) {
  return guarded([&] { delete from<BuildLog>(log); });
}

ze_result_t ZE_APICALL log_text(ze_module_build_log_handle_t log, size_t* bytes, char* to) {
  return guarded([&] {
    const std::string& text = from<BuildLog>(log)->text;
    const size_t needed = text.size() + 1;
    if (to != nullptr) {
      check(required(bytes) >= needed, ZE_RESULT_ERROR_INVALID_SIZE);
      std::memcpy(to, text.c_str(), needed);
    }
    required(bytes) = needed;
  });
}

}  // namespace

void fill(ze_module_dditable_t& table) {
  table.pfnCreate = module_create;
  table.pfnDestroy = module_destroy;
  table.pfnGetNativeBinary = module_native_binary;
  table.pfnGetKernelNames = module_kernel_names;
  table.pfnGetProperties = module_properties;
}

void fill(ze_module_build_log_dditable_t& table) {
  table.pfnDestroy = log_destroy;
  table.pfnGetString = log_text;
}

}  // namespace over_opencl
