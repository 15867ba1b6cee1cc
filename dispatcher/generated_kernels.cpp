#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

#include <backplane/dispatcher/generated_kernels.hpp>
#include <backplane/runtime/log.hpp>

namespace bp {
namespace {

using Attach = void (*)(Backend* backend);

// Beside libbackplane, nowhere else. It stays mapped: its kernels are in tables that are never freed.
Attach load_codegen() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void*>(&load_codegen), &here) || !here.dli_fname)
    return nullptr;
  const auto file =
      std::filesystem::path(here.dli_fname).parent_path() / "libbackplane_codegen.so." BP_MAJOR;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    log_warning(fmt::format("no kernels are generated: {}", dlerror()));
    return nullptr;
  }
  auto attach = reinterpret_cast<Attach>(dlsym(library, "bp_codegen_attach"));
  if (!attach) log_warning(fmt::format("no kernels are generated: {}", dlerror()));
  return attach;
}

}  // namespace

void attach_codegen(Backend& backend) {
  static const Attach attach = load_codegen();
  if (attach) attach(&backend);
}

}  // namespace bp
