#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>

#include <backplane/dispatcher/generated_kernels.hpp>
#include <backplane/dispatcher/log.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/extensions/compiler.h>
#include <backplane/extensions/program.h>
#include <backplane/runtime/generated/abi_sizes.hpp>

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
  const auto* extension = reinterpret_cast<const bp_program*>(
      find_extension(backend, BP_PROGRAM, BP_PROGRAM_VERSION, abi_size("bp_program", 1)));
  const bp_kernel* kernel = nullptr;
  if (!extension || !extension->make) return;
  if (extension->make(backend.plugin->self, &op.abi, &kernel) == BP_OK && kernel)
    register_kernels(backend, &kernel, 1);
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

const bp_header* find_extension(const Backend& backend, const char* name, std::uint32_t version,
                                std::size_t least_bytes) {
  const bp_plugin& plugin = *backend.plugin;
  if (!BP_HAS(&plugin, bp_plugin, extension) || !plugin.extension) return nullptr;
  const bp_header* found = plugin.extension(plugin.self, name, version);
  if (!found) return nullptr;
  if (found->type != BP_TYPE_EXTENSION || found->size < least_bytes) {
    log_warning(
        fmt::format("{}: the extension '{}' is left out: it has type {} and {} bytes; {} and at "
                    "least {} are expected",
                    backend.name, name, found->type, found->size, BP_TYPE_EXTENSION, least_bytes));
    return nullptr;
  }
  return found;
}

void attach_codegen(Backend& backend) {
  if (!find_extension(backend, BP_COMPILER, BP_COMPILER_VERSION, abi_size("bp_compiler", 1)))
    return;
  static const Attach attach = load_codegen();
  if (attach) attach(&backend);
}

void attach_programs(Backend& backend) {
  if (!find_extension(backend, BP_PROGRAM, BP_PROGRAM_VERSION, abi_size("bp_program", 1))) return;
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
