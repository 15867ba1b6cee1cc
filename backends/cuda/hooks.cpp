#include "hooks.hpp"

#include <cstring>
#include <memory>

#include "cuda.hpp"
#include "nvrtc.hpp"

namespace cuda_backend {
namespace {

bp::Status compile(const bp_source& source, uint32_t architecture, uint64_t* bytes, void* to) {
  bp::Result<std::string> code = nvrtc::compile(source, static_cast<int>(architecture));
  if (!code.is_ok()) return code.status();
  const uint64_t room = *bytes;
  *bytes = code.value().size();
  if (to == nullptr) return bp::ok;
  if (room < *bytes) {
    return bp::bad_argument("%s: its binary has %llu bytes, and there is room for %llu",
                            source.name, number(*bytes), number(room));
  }
  std::memcpy(to, code.value().data(), *bytes);
  return bp::ok;
}

constexpr bp_cuda_hooks make_hooks_functions() {
  bp_cuda_hooks table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.compile = [](const bp_source* source, uint32_t architecture, uint64_t* bytes, void* to) {
    return bp::guarded([=] { return compile(*source, architecture, bytes, to); });
  };
  return table;
}

}  // namespace

constexpr bp_cuda_hooks hooks_functions = make_hooks_functions();

}  // namespace cuda_backend
