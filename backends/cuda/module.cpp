#include "module.hpp"

#include <cstring>

#include "device.hpp"
#include "nvrtc.hpp"

namespace cuda_backend {
namespace {

// Before every binary that leaves us: the driver believes what it is given, and reads past the end of a cut one.
struct Seal {
  char magic[8];
  uint64_t bytes;
  uint64_t hash;
};
constexpr char magic[8] = {'b', 'p', '.', 'c', 'u', 'd', 'a', '1'};

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

std::string sealed(const std::string& code) {
  const Seal seal = seal_of(code.data(), code.size());
  return std::string(reinterpret_cast<const char*>(&seal), sizeof seal) + code;
}

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
  std::unique_ptr<Module> made(new Module(device, source.name, sealed(code.value())));
  if (bp::Status status = made->put_on_card(); !status.is_ok()) return status;
  return made;
}

bp::Result<std::unique_ptr<Module>> Module::load(Device& device, const char* name,
                                                 const void* binary, uint64_t bytes) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  const auto* given = static_cast<const char*>(binary);
  if (!is_whole(given, bytes)) {
    return bp::bad_argument("%s: %llu bytes that are no binary of this backend, or not all of it",
                            name, number(bytes));
  }
  std::unique_ptr<Module> made(new Module(device, name, std::string(given, bytes)));
  if (bp::Status status = made->put_on_card(); !status.is_ok()) return status;
  return made;
}

bp::Status Module::put_on_card() {
  const Current current(device_.context());
  const OutsideCapture outside;
  const CUresult error = driver.cuModuleLoadData(&module_, sealed_.data() + sizeof(Seal));
  if (error == CUDA_SUCCESS) return bp::ok;
  module_ = nullptr;
  const bool unfit = error == CUDA_ERROR_NO_BINARY_FOR_GPU || error == CUDA_ERROR_INVALID_IMAGE ||
                     error == CUDA_ERROR_INVALID_SOURCE || error == CUDA_ERROR_INVALID_VALUE;
  return bp::error(unfit ? BP_BAD_ARGUMENT : class_of(error),
                   "%s: the driver does not take the binary: %s", name_.c_str(),
                   name_of(error).c_str());
}

bp::Status Module::binary(uint64_t& bytes, void* to) const {
  if (to == nullptr) {
    bytes = sealed_.size();
    return bp::ok;
  }
  if (bytes != sealed_.size()) {
    return bp::bad_argument("%s: its binary has %zu bytes, not %llu", name_.c_str(), sealed_.size(),
                            number(bytes));
  }
  std::memcpy(to, sealed_.data(), sealed_.size());
  return bp::ok;
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
