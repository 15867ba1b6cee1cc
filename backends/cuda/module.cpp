#include "module.hpp"

#include <backplane/plugin/binaries.hpp>

#include "device.hpp"
#include "nvrtc.hpp"

namespace cuda_backend {
namespace {

constexpr std::string_view maker = "bp.cuda1";

}  // namespace

Module::Module(Device& device, const char* name, std::string sealed)
    : device_(device), name_(name), sealed_(std::move(sealed)) {}

Module::~Module() {
  if (module_ == nullptr || !device_.check_process().is_ok()) return;
  const Current current(device_.context());
  const OutsideCapture outside;
  driver.cuModuleUnload(module_);
}

bp::Result<std::unique_ptr<Module>> Module::compile(Device& device, const bp_source& source) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  bp::Result<std::string> code = nvrtc::compile(source, device.found().architecture);
  if (!code.is_ok()) return code.status();
  std::unique_ptr<Module> made(
      new Module(device, source.name, bp::seal_binary(maker, code.value())));
  if (bp::Status status = made->put_on_card(); !status.is_ok()) return status;
  return made;
}

bp::Result<std::unique_ptr<Module>> Module::load(Device& device, const char* name,
                                                 const void* binary, uint64_t bytes) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  const std::string_view given = bp::given_binary(binary, bytes);
  if (bp::open_binary(maker, given).empty()) return bp::refuse_binary(name, bytes);
  std::unique_ptr<Module> made(new Module(device, name, std::string(given)));
  if (bp::Status status = made->put_on_card(); !status.is_ok()) return status;
  return made;
}

bp::Status Module::put_on_card() {
  const Current current(device_.context());
  const OutsideCapture outside;
  const CUresult error = driver.cuModuleLoadData(&module_, bp::open_binary(maker, sealed_).data());
  if (error == CUDA_SUCCESS) return bp::ok;
  module_ = nullptr;
  const bool unfit = error == CUDA_ERROR_NO_BINARY_FOR_GPU || error == CUDA_ERROR_INVALID_IMAGE ||
                     error == CUDA_ERROR_INVALID_SOURCE || error == CUDA_ERROR_INVALID_VALUE;
  return bp::error(unfit ? BP_BAD_ARGUMENT : class_of(error),
                   "%s: the driver does not take the binary: %s", name_.c_str(),
                   name_of(error).c_str());
}

bp::Status Module::binary(uint64_t& bytes, void* to) const {
  return bp::give_binary(name_.c_str(), sealed_, bytes, to);
}

bp::Result<Function*> Module::find(const char* kernel) {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  const Current current(device_.context());
  const OutsideCapture outside;
  CUfunction found = nullptr;
  const CUresult error = driver.cuModuleGetFunction(&found, module_, kernel);
  if (error == CUDA_ERROR_NOT_FOUND)
    return bp::bad_argument("%s: it has no kernel '%s'", name_.c_str(), kernel);
  if (error != CUDA_SUCCESS) return failed(kernel, error);
  std::lock_guard lock(mutex_);
  functions_.push_back(std::make_unique<Function>(found, kernel, device_.compiler().limits()));
  return functions_.back().get();
}

}  // namespace cuda_backend
