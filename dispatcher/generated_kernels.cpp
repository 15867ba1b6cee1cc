#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>

#include <backplane/dispatcher/generated_kernels.hpp>
#include <backplane/dispatcher/log.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/extensions.hpp>

#include "kernel_table.hpp"

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

// The backends that make kernels for new expressions.
struct Programs {
  std::mutex mutex;
  std::vector<Backend*> backends;
};
Programs& programs() {
  static auto* all = new Programs;
  return *all;
}

void make_program(Backend& backend, Operator& op) {
  const bp_kernel* kernel = nullptr;
  const bp_code code = extensions_of(backend).program.make(backend.plugin->self, &op.abi, &kernel);
  if (code == BP_OK && kernel) register_kernels(backend, &kernel, 1);
}

// Under the lock. A backend that has a kernel knew the operator when it started, or was offered it by another thread
// meanwhile.
void offer(Backend& backend, Operator& op) {
  const KernelTable* table = table_of(op, backend.number);
  if (table && table->num_native != 0) return;
  try {
    make_program(backend, op);
  } catch (const Error& error) {
    log_warning(fmt::format("{}: no kernel for '{}': {}", backend.name, op.name(), error.what()));
  }
}

void offer_to_programs(Operator& op) {
  if (op.kind != BP_KIND_POINTWISE || op.num_nodes == 0) return;
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  for (Backend* backend : all.backends) offer(*backend, op);
}

}  // namespace

void attach_codegen(Backend& backend) {
  if (!extensions_of(backend).compiler.compile) return;
  static const Attach attach = load_codegen();
  if (attach) attach(&backend);
}

void attach_programs(Backend& backend) {
  if (!extensions_of(backend).program.make) return;
  listen_for_operators(offer_to_programs);
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  all.backends.push_back(&backend);
  // What was joined before this backend came; rows it knows by itself.
  for (Operator* op : registered_operators())
    if (op->joined && op->kind == BP_KIND_POINTWISE) offer(backend, *op);
}

void detach_programs(const Backend& backend) {
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  std::erase(all.backends, &backend);
}

}  // namespace bp
