#include "module.hpp"

#include <cstring>

#include "device.hpp"

namespace opencl {
namespace {

// Before every binary that leaves us. Drivers believe what they are given, and crash on a truncated file.
struct Seal {
  char magic[8];
  uint64_t bytes;
  uint64_t hash;
};
constexpr char magic[8] = {'b', 'p', '.', 'o', 'c', 'l', '.', '1'};

// FNV-1a, 64 bits.
uint64_t hash_of(const char* bytes, size_t count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  return hash;
}

Seal seal_of(const char* bytes, size_t count) {
  Seal seal;
  std::memcpy(seal.magic, magic, sizeof magic);
  seal.bytes = count;
  seal.hash = hash_of(bytes, count);
  return seal;
}

bool is_whole(const char* binary, uint64_t bytes) {
  if (binary == nullptr || bytes <= sizeof(Seal)) return false;
  const Seal expected = seal_of(binary + sizeof(Seal), bytes - sizeof(Seal));
  return std::memcmp(binary, &expected, sizeof expected) == 0;
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) !=
          CL_SUCCESS ||
      bytes == 0)
    return {};
  std::string log(bytes, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  log.resize(std::strlen(log.c_str()));  // without the zeros at its end
  return log;
}

// The log may be longer than bp::error() takes.
bp::Status build(cl_program program, cl_device_id device, const std::string& options) {
  const cl_int error = clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
  if (error == CL_SUCCESS) return bp::ok;
  std::string message = build_log(program, device);
  if (message.find_first_not_of(" \n\t") == std::string::npos)
    message = "building the program: " + name_of(error);
  const bool refused = error == CL_BUILD_PROGRAM_FAILURE || error == CL_INVALID_BUILD_OPTIONS;
  const bp_host& host = bp::host();
  return bp::Status::from_host(
      host.set_error(&host, refused ? BP_BAD_ARGUMENT : class_of(error), message.c_str()));
}

// Whether the instructions fill the module exactly: a driver was seen to end the process over one that was cut.
bool is_whole_spirv(const void* code, uint64_t bytes) {
  constexpr uint64_t header_words = 5;
  constexpr uint32_t spirv_magic = 0x07230203;
  const auto word = [code](uint64_t index) {
    uint32_t value;
    std::memcpy(&value, static_cast<const char*>(code) + 4 * index, 4);
    return value;
  };
  const uint64_t words = bytes / 4;
  if (bytes % 4 != 0 || words < header_words || word(0) != spirv_magic) return false;
  uint64_t at = header_words;
  while (at < words) {
    const uint32_t length = word(at) >> 16;
    if (length == 0) return false;
    at += length;
  }
  return at == words;
}

OwnedProgram make_program(Device& device, const bp_source& source, cl_int* error) {
  if (std::strcmp(source.language, BP_LANGUAGE_SPIRV) == 0) {
    if (!is_whole_spirv(source.code, source.bytes)) {
      *error = CL_INVALID_VALUE;
      return nullptr;
    }
    return OwnedProgram(device.compiler().make_from_il(device.context(), source.code,
                                                       static_cast<size_t>(source.bytes), error));
  }
  const char* text = static_cast<const char*>(source.code);
  const size_t bytes = source.bytes;
  return OwnedProgram(clCreateProgramWithSource(device.context(), 1, &text, &bytes, error));
}

std::string kernel_names(cl_program program) {
  size_t bytes = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &bytes) != CL_SUCCESS)
    return {};
  std::string names(bytes, '\0');
  clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, bytes, names.data(), nullptr);
  names.resize(std::strlen(names.c_str()));
  return names;
}

}  // namespace

Module::Module(Device& device, const char* name, OwnedProgram program)
    : device_(device), name_(name), program_(std::move(program)) {}

Module::~Module() {
  if (device_.check_process().is_ok()) return;
  for (auto& function : functions_) (void)function.release();
  (void)program_.release();
}

bp::Result<std::unique_ptr<Module>> Module::compile(Device& device, const bp_source& source) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  if (!device.compiler().takes(source.language)) {
    return bp::unsupported("%s: this device does not compile '%s'", source.name, source.language);
  }
  cl_int error = CL_SUCCESS;
  OwnedProgram program = make_program(device, source, &error);
  if (error != CL_SUCCESS) {
    return bp::error(error == CL_INVALID_VALUE ? BP_BAD_ARGUMENT : class_of(error),
                     "%s: the driver does not take it as '%s': %s", source.name, source.language,
                     name_of(error).c_str());
  }
  const std::string options = device.compiler().options() + " " + source.options;
  if (bp::Status status = build(program.get(), device.id(), options); !status.is_ok())
    return status;
  return std::unique_ptr<Module>(new Module(device, source.name, std::move(program)));
}

bp::Result<std::unique_ptr<Module>> Module::load(Device& device, const char* name,
                                                 const void* binary, uint64_t bytes) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  const auto* sealed = static_cast<const char*>(binary);
  if (!is_whole(sealed, bytes)) {
    return bp::bad_argument("%s: %llu bytes that are no binary of this backend, or not all of it",
                            name, number(bytes));
  }
  const auto* code = reinterpret_cast<const unsigned char*>(sealed) + sizeof(Seal);
  const size_t code_bytes = bytes - sizeof(Seal);
  const cl_device_id id = device.id();
  cl_int error = CL_SUCCESS, taken = CL_SUCCESS;
  OwnedProgram program(
      clCreateProgramWithBinary(device.context(), 1, &id, &code_bytes, &code, &taken, &error));
  if (error == CL_SUCCESS) error = taken;
  if (error == CL_SUCCESS) error = clBuildProgram(program.get(), 1, &id, "", nullptr, nullptr);
  if (error != CL_SUCCESS) {
    return bp::bad_argument("%s: the driver does not take the binary: %s", name,
                            name_of(error).c_str());
  }
  return std::unique_ptr<Module>(new Module(device, name, std::move(program)));
}

bp::Status Module::binary(uint64_t& bytes, void* to) {
  std::lock_guard lock(mutex_);
  if (binary_.empty()) {
    if (bp::Status status = read_binary(); !status.is_ok()) return status;
  }
  if (to == nullptr) {
    bytes = binary_.size();
    return bp::ok;
  }
  if (bytes != binary_.size()) {
    return bp::bad_argument("%s: its binary has %zu bytes, not %llu", name_.c_str(), binary_.size(),
                            number(bytes));
  }
  std::memcpy(to, binary_.data(), binary_.size());
  return bp::ok;
}

bp::Status Module::read_binary() {
  size_t bytes = 0;
  cl_int error =
      clGetProgramInfo(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr);
  if (error == CL_SUCCESS && bytes == 0)
    return bp::unsupported("%s: the driver gives no binary", name_.c_str());
  std::string sealed(sizeof(Seal) + bytes, '\0');
  auto* code = reinterpret_cast<unsigned char*>(sealed.data() + sizeof(Seal));
  if (error == CL_SUCCESS)
    error = clGetProgramInfo(program_.get(), CL_PROGRAM_BINARIES, sizeof code, &code, nullptr);
  if (error != CL_SUCCESS) return failed("asking for a binary", error);
  const Seal seal = seal_of(sealed.data() + sizeof seal, bytes);
  std::memcpy(sealed.data(), &seal, sizeof seal);
  binary_ = std::move(sealed);
  return bp::ok;
}

bp::Result<Function*> Module::find(const char* kernel) {
  std::lock_guard lock(mutex_);
  cl_int error = CL_SUCCESS;
  OwnedKernel found(clCreateKernel(program_.get(), kernel, &error));
  if (error == CL_INVALID_KERNEL_NAME) {
    return bp::bad_argument("%s: it has no kernel '%s'; it has: %s", name_.c_str(), kernel,
                            kernel_names(program_.get()).c_str());
  }
  if (error != CL_SUCCESS) return failed(kernel, error);
  functions_.push_back(std::make_unique<Function>(program_.get(), std::move(found), device_.id(),
                                                  kernel, device_.compiler().limits()));
  return functions_.back().get();
}

}  // namespace opencl
