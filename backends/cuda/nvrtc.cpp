#include "nvrtc.hpp"

#include <cstring>
#include <dlfcn.h>
#include <nvrtc.h>
#include <sstream>
#include <vector>

#include "cuda.hpp"

#define BP_TEXT_OF(value) #value
#define BP_TEXT(value) BP_TEXT_OF(value)

namespace cuda_backend::nvrtc {
namespace {

// Kernels are written without CUDA's headers, and use neither textures nor launches from the card: a fifth less time.
// Each operation rounds by itself, as on other devices, unless a kernel says fma.
constexpr const char* fixed_options[] = {"--std=c++17", "-default-device", "--minimal",
                                         "--fmad=false"};

struct Library {
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) binary_size = nullptr;
  decltype(&::nvrtcGetCUBIN) binary = nullptr;
  std::string why_not;
};

template <class Function> bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Library open_library() {
  Library found;
  // Not linked: it takes a tenth of a second to map, and kernels that are kept on disk need none of it. The plugin's
  // own search path names the toolkit that it was built with.
  constexpr const char* name = "libnvrtc.so." BP_TEXT(BP_NVRTC_MAJOR);
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    found.why_not = why != nullptr ? why : name;
  } else if (!find(library, "nvrtcCreateProgram", found.create) ||
             !find(library, "nvrtcDestroyProgram", found.destroy) ||
             !find(library, "nvrtcCompileProgram", found.compile) ||
             !find(library, "nvrtcGetErrorString", found.error_string) ||
             !find(library, "nvrtcGetProgramLogSize", found.log_size) ||
             !find(library, "nvrtcGetProgramLog", found.log) ||
             !find(library, "nvrtcGetCUBINSize", found.binary_size) ||
             !find(library, "nvrtcGetCUBIN", found.binary)) {
    found.why_not = std::string(name) + " lacks functions that it should have";
  }
  return found;
}

const Library& library() {
  static const Library* const opened = new Library(open_library());
  return *opened;
}

class Program {
 public:
  explicit Program(const bp_source& source) {
    // The library needs a zero at the end.
    const std::string code(static_cast<const char*>(source.code), source.bytes);
    error_ = library().create(&program_, code.c_str(), source.name, 0, nullptr, nullptr);
  }
  ~Program() {
    if (program_ != nullptr) library().destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    texts.reserve(options.size());
    for (const std::string& option : options) texts.push_back(option.c_str());
    if (error_ == NVRTC_SUCCESS)
      error_ = library().compile(program_, static_cast<int>(texts.size()), texts.data());
    return error_;
  }
  std::string log() const {
    size_t bytes = 0;
    if (program_ == nullptr || library().log_size(program_, &bytes) != NVRTC_SUCCESS || bytes <= 1)
      return {};
    std::string text(bytes, '\0');
    if (library().log(program_, text.data()) != NVRTC_SUCCESS) return {};
    text.resize(std::strlen(text.c_str()));  // without the zeros at its end
    return text;
  }
  nvrtcResult read_binary(std::string& to) const {
    size_t bytes = 0;
    const nvrtcResult error = library().binary_size(program_, &bytes);
    if (error != NVRTC_SUCCESS) return error;
    to.resize(bytes);
    return library().binary(program_, to.data());
  }

 private:
  nvrtcProgram program_ = nullptr;
  nvrtcResult error_ = NVRTC_SUCCESS;
};

std::vector<std::string> options_of(const bp_source& source, int architecture) {
  std::vector<std::string> options(std::begin(fixed_options), std::end(fixed_options));
  options.push_back("--gpu-architecture=sm_" + std::to_string(architecture));
  std::istringstream more(source.options);
  for (std::string option; more >> option;) options.push_back(option);
  return options;
}

// The log may be longer than bp::error() takes.
bp::Status refused(const Program& program, nvrtcResult error) {
  std::string message = program.log();
  if (message.find_first_not_of(" \n\t") == std::string::npos)
    message = std::string("NVRTC: ") + library().error_string(error);
  const bool by_source = error == NVRTC_ERROR_COMPILATION || error == NVRTC_ERROR_INVALID_OPTION;
  const bp_code code = error == NVRTC_ERROR_OUT_OF_MEMORY ? BP_OUT_OF_MEMORY
                       : by_source                        ? BP_BAD_ARGUMENT
                                                          : BP_INTERNAL;
  const bp_host& host = bp::host();
  return bp::Status::from_host(host.set_error(&host, code, message.c_str()));
}

}  // namespace

std::string identity() {
  std::string text = "NVRTC " BP_TEXT(BP_NVRTC_MAJOR) "." BP_TEXT(BP_NVRTC_MINOR);
  for (const char* option : fixed_options) text += std::string(" ") + option;
  return text;
}

bp::Result<std::string> compile(const bp_source& source, int architecture) {
  if (std::strcmp(source.language, BP_LANGUAGE_CUDA_CXX) != 0)
    return bp::unsupported("%s: this device does not compile '%s'", source.name, source.language);
  if (!library().why_not.empty()) {
    return bp::unsupported(
        "%s: NVIDIA's run-time compiler is missing (%s); install NVRTC %s, or name its folder in "
        "LD_LIBRARY_PATH",
        source.name, library().why_not.c_str(), BP_TEXT(BP_NVRTC_MAJOR));
  }
  Program program(source);
  nvrtcResult error = program.compile(options_of(source, architecture));
  std::string binary;
  if (error == NVRTC_SUCCESS) error = program.read_binary(binary);
  if (error != NVRTC_SUCCESS) return refused(program, error);
  return binary;
}

}  // namespace cuda_backend::nvrtc
