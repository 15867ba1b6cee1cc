#include "module.hpp"

#include <cstring>

#include <backplane/plugin/binaries.hpp>

#include "device.hpp"

namespace level_zero {
namespace {

// Whose binaries these are, and in which format.
constexpr std::string_view native_maker = "bp.ze.n1", spirv_maker = "bp.ze.s1";

std::string text_of(ze_module_build_log_handle_t log) {
  size_t bytes = 0;
  if (log == nullptr ||
      loader.zeModuleBuildLogGetString(log, &bytes, nullptr) != ZE_RESULT_SUCCESS || bytes == 0)
    return {};
  std::string text(bytes, '\0');
  loader.zeModuleBuildLogGetString(log, &bytes, text.data());
  text.resize(std::strlen(text.c_str()));  // without the zeros at its end
  return text;
}

}  // namespace

Module::~Module() {
  if (!device_.is_of_this_process()) {
    for (auto& function : functions_) (void)function.release();
    return;
  }
  functions_.clear();
  if (module_ != nullptr) loader.zeModuleDestroy(module_);
}

bp::Result<std::unique_ptr<Module>> Module::compile(Device& device, const bp_source& source) {
  if (std::strcmp(source.language, BP_LANGUAGE_SPIRV) != 0) {
    return bp::unsupported("%s: this device does not compile '%s', but '%s'", source.name,
                           source.language, BP_LANGUAGE_SPIRV);
  }
  if (!bp::is_whole_spirv(source.code, source.bytes)) {
    return bp::bad_argument("%s: %llu bytes that are not a SPIR-V module, or not all of it",
                            source.name, number(source.bytes));
  }
  std::unique_ptr<Module> made(new Module(device, source.name));
  made->spirv_.assign(static_cast<const char*>(source.code), source.bytes);
  bp::Status status = made->build(ZE_MODULE_FORMAT_IL_SPIRV, made->spirv_, source.options, nullptr);
  if (!status.is_ok()) return status;
  return made;
}

bp::Result<std::unique_ptr<Module>> Module::load(Device& device, const char* name,
                                                 const void* binary, uint64_t bytes) {
  const std::string_view given = bp::given_binary(binary, bytes);
  std::unique_ptr<Module> made(new Module(device, name));
  bp::Status status = bp::ok;
  if (const std::string_view code = bp::open_binary(native_maker, given); !code.empty()) {
    status = made->build(ZE_MODULE_FORMAT_NATIVE, code, "", nullptr);
  } else if (const std::string_view spirv = bp::open_binary(spirv_maker, given); !spirv.empty()) {
    made->spirv_ = spirv;
    status = made->build(ZE_MODULE_FORMAT_IL_SPIRV, made->spirv_, "", nullptr);
  } else {
    return bp::refuse_binary(name, bytes);
  }
  if (!status.is_ok()) return status;
  made->binary_ = given;
  return made;
}

bp::Result<std::unique_ptr<Module>> Module::specialize(Device& device, const char* name,
                                                       std::string_view spirv,
                                                       const std::vector<Constant>& constants) {
  std::vector<uint32_t> ids;
  std::vector<const void*> values;
  for (const Constant& constant : constants) {
    ids.push_back(constant.id);
    values.push_back(&constant.value);
  }
  const ze_module_constants_t given{static_cast<uint32_t>(ids.size()), ids.data(), values.data()};
  std::unique_ptr<Module> made(new Module(device, name));
  bp::Status status =
      made->build(ZE_MODULE_FORMAT_IL_SPIRV, spirv, "", constants.empty() ? nullptr : &given);
  if (!status.is_ok()) return status;
  return made;
}

bp::Status Module::build(ze_module_format_t format, std::string_view code,
                         const std::string& options, const ze_module_constants_t* constants) {
  if (bp::Status status = device_.check(); !status.is_ok()) return status;
  const std::string ours = format == ZE_MODULE_FORMAT_NATIVE ? "" : device_.compiler().options();
  const std::string flags = ours + " " + options;
  auto wanted = describe<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  wanted.format = format;
  wanted.inputSize = code.size();
  wanted.pInputModule = reinterpret_cast<const uint8_t*>(code.data());
  wanted.pBuildFlags = flags.c_str();
  wanted.pConstants = constants;
  std::string log;
  ze_result_t result = create(wanted, log);
  if (result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && !ours.empty()) {
    // A driver may refuse an option that is not in Level Zero's own list.
    wanted.pBuildFlags = options.c_str();
    result = create(wanted, log);
    if (result == ZE_RESULT_SUCCESS) device_.compiler().refuse_options();
  }
  if (result == ZE_RESULT_SUCCESS) return bp::ok;
  bp::Status status = device_.check(name_.c_str(), "zeModuleCreate", result);
  if (log.find_first_not_of(" \n\t") == std::string::npos) return status;
  // The log may be longer than bp::error() takes.
  const bp_host& host = bp::host();
  const std::string message = "zeModuleCreate: " + name_of(result) + ":\n" + log;
  return bp::Status::from_host(host.set_error(&host, status.code(), message.c_str()));
}

ze_result_t Module::create(const ze_module_desc_t& wanted, std::string& log) {
  ze_module_build_log_handle_t said = nullptr;
  const ze_result_t result =
      loader.zeModuleCreate(device_.context(), device_.found().id, &wanted, &module_, &said);
  log = text_of(said);
  if (said != nullptr) loader.zeModuleBuildLogDestroy(said);
  if (result != ZE_RESULT_SUCCESS) module_ = nullptr;
  return result;
}

bp::Status Module::binary(uint64_t& bytes, void* to) {
  std::lock_guard lock(mutex_);
  if (binary_.empty()) {
    const std::string code = native_binary();
    if (code.empty() && spirv_.empty())
      return bp::unsupported("%s: the driver gives no binary", name_.c_str());
    binary_ =
        code.empty() ? bp::seal_binary(spirv_maker, spirv_) : bp::seal_binary(native_maker, code);
  }
  return bp::give_binary(name_.c_str(), binary_, bytes, to);
}

// Empty: the driver gives none.
std::string Module::native_binary() const {
  size_t bytes = 0;
  if (loader.zeModuleGetNativeBinary(module_, &bytes, nullptr) != ZE_RESULT_SUCCESS) return {};
  std::string code(bytes, '\0');
  auto* to = reinterpret_cast<uint8_t*>(code.data());
  if (loader.zeModuleGetNativeBinary(module_, &bytes, to) != ZE_RESULT_SUCCESS) return {};
  return code;
}

std::string Module::kernel_names() const {
  uint32_t count = 0;
  if (loader.zeModuleGetKernelNames(module_, &count, nullptr) != ZE_RESULT_SUCCESS) return {};
  std::vector<const char*> names(count, "");
  loader.zeModuleGetKernelNames(module_, &count, names.data());
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ";") + std::string(name);
  return text;
}

bp::Result<Function*> Module::find(const char* kernel) {
  if (bp::Status status = device_.check(); !status.is_ok()) return status;
  std::lock_guard lock(mutex_);
  KernelHandle found;
  const ze_result_t result = KernelHandle::make(module_, kernel, found);
  if (result == ZE_RESULT_ERROR_INVALID_KERNEL_NAME) {
    return bp::bad_argument("%s: it has no kernel '%s'; it has: %s", name_.c_str(), kernel,
                            kernel_names().c_str());
  }
  bp::Status status = device_.check(kernel, "zeKernelCreate", result);
  if (!status.is_ok()) return status;
  functions_.push_back(
      std::make_unique<Function>(module_, std::move(found), kernel, device_.compiler().limits()));
  return functions_.back().get();
}

}  // namespace level_zero
