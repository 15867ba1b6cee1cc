#include "module.hpp"

#include <cstring>

#include <backplane/plugin/binaries.hpp>

#include "device.hpp"

namespace opencl {
namespace {

constexpr std::string_view maker = "bp.ocl.1";

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

OwnedProgram make_program(Device& device, const bp_source& source, cl_int* error) {
  if (std::strcmp(source.language, BP_LANGUAGE_SPIRV) == 0) {
    if (!bp::is_whole_spirv(source.code, source.bytes)) {
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
  const std::string_view opened = bp::open_binary(maker, bp::given_binary(binary, bytes));
  if (opened.empty()) return bp::refuse_binary(name, bytes);
  const auto* code = reinterpret_cast<const unsigned char*>(opened.data());
  const size_t code_bytes = opened.size();
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
  return bp::give_binary(name_.c_str(), binary_, bytes, to);
}

bp::Status Module::read_binary() {
  size_t bytes = 0;
  cl_int error =
      clGetProgramInfo(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr);
  if (error == CL_SUCCESS && bytes == 0)
    return bp::unsupported("%s: the driver gives no binary", name_.c_str());
  std::string native(bytes, '\0');
  auto* code = reinterpret_cast<unsigned char*>(native.data());
  if (error == CL_SUCCESS)
    error = clGetProgramInfo(program_.get(), CL_PROGRAM_BINARIES, sizeof code, &code, nullptr);
  if (error != CL_SUCCESS) return failed("asking for a binary", error);
  binary_ = bp::seal_binary(maker, native);
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
