#include "worker/compile_nothing.hpp"

#include <cstring>
#include <sstream>

#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

// Null for a language that has no words.
const char* empty_kernel(const std::string& language) {
  if (language == BP_LANGUAGE_OPENCL_C) return "__kernel void nothing(void) {}";
  if (language == BP_LANGUAGE_CUDA_CXX) return "extern \"C\" __global__ void nothing() {}";
  if (language == BP_LANGUAGE_C11)
    return "#include <stdint.h>\n"
           "void nothing(void* const* memory, const void* values, const uint64_t* item) {\n"
           "  (void)memory, (void)values, (void)item;\n}\n";
  return nullptr;
}

class Nothing {
 public:
  Nothing(const DirectPlugin& plugin, const bp_compiler& api, Skew skew)
      : plugin_(plugin), api_(api), skew_(skew) {}

  Json run() {
    bp_compiler_info none{};
    none.h = {sizeof none, BP_COMPILER_INFO_TYPE, nullptr};
    const SkewedStruct info("bp_compiler_info", &none, sizeof none, skew_);
    told_error() = {};
    bp_code code = api_.describe(plugin_.device, info.as<bp_compiler_info>());
    fault_ = info.fault();
    if (code == BP_OK) code = compile(*info.as<bp_compiler_info>());
    Json result = answer(code);
    result["offered"] = true;
    result["fault"] = fault_;
    return result;
  }

 private:
  // The fields that it reads are of level 1.
  bp_code compile(const bp_compiler_info& info) {
    std::istringstream languages(info.languages ? info.languages : "");
    std::string language;
    const char* code = nullptr;
    while (!code && languages >> language) code = empty_kernel(language);
    if (!code) return BP_OK;
    const bp_source plain = {{sizeof plain, BP_SOURCE_TYPE, nullptr},
                             language.c_str(),
                             "nothing",
                             code,
                             std::strlen(code),
                             ""};
    const SkewedStruct source("bp_source", &plain, sizeof plain, skew_);
    bp_module* module = nullptr;
    bp_code result = api_.compile(plugin_.device, source.as<const bp_source>(), &module);
    if (fault_.empty()) fault_ = source.fault();
    if (result != BP_OK) return result;
    result = launch(*module);
    api_.release(plugin_.device, module);
    return result;
  }

  bp_code launch(bp_module& module) {
    bp_function* function = nullptr;
    bp_code code = api_.find(plugin_.device, &module, "nothing", &function);
    if (code != BP_OK) return code;
    bp_launch plain{};
    plain.h = {sizeof plain, BP_LAUNCH_TYPE, nullptr};
    plain.function = function;
    for (int i = 0; i < 3; ++i) plain.groups[i] = plain.items[i] = 1;
    const SkewedStruct launch("bp_launch", &plain, sizeof plain, skew_);
    code = api_.launch(plugin_.device, launch.as<const bp_launch>(), plugin_.side_stream);
    if (fault_.empty()) fault_ = launch.fault();
    return code == BP_OK ? plugin_.queue.synchronize(plugin_.device, plugin_.side_stream) : code;
  }

  const DirectPlugin& plugin_;
  const bp_compiler& api_;
  const Skew skew_;
  std::string fault_;
};

}  // namespace

Json compile_nothing(const DirectPlugin& plugin, const bp_compiler& api, Skew skew) {
  return Nothing(plugin, api, skew).run();
}

}  // namespace bp::conform
