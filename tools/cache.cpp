#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/codegen/codegen.hpp>
#include <backplane/loading/environment.hpp>

#include "commands.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

// As libbackplane does it: the other subcommands work without that library.
auto load_codegen() {
  const auto file =
      loading::Environment::current().library_folder / "libbackplane_codegen.so." BP_MAJOR;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library ? dlsym(library, "bp_codegen_cache") : nullptr;
  if (!function) throw std::runtime_error(fmt::format("cache: {}", dlerror()));
  return reinterpret_cast<decltype(&codegen::bp_codegen_cache)>(function);
}

std::string size_of(std::uint64_t bytes) {
  if (bytes < std::uint64_t{1} << 20)
    return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

void print_for_program(const codegen::CacheUsage& usage, std::uint64_t deleted) {
  print_json({{"folder", usage.folder},
              {"files", usage.num_files},
              {"bytes", usage.bytes},
              {"limit_bytes", usage.limit_bytes},
              {"deleted", deleted}});
}

void print_for_person(const codegen::CacheUsage& usage) {
  if (usage.folder.empty()) {
    fmt::print("There is no place for compiled kernels: neither BACKPLANE_CACHE_DIR nor a home.\n");
    return;
  }
  fmt::print("{}\n{}, {} of at most {}\n", usage.folder, count_of(usage.num_files, "file"),
             size_of(usage.bytes), size_of(usage.limit_bytes));
}

}  // namespace

int cache(const Options& options) {
  codegen::CacheUsage usage;
  std::uint64_t deleted = 0;
  if (!load_codegen()(&usage, options.clear ? &deleted : nullptr))
    throw std::runtime_error("cache: out of memory");
  if (options.json) {
    print_for_program(usage, deleted);
    return 0;
  }
  print_for_person(usage);
  if (options.clear) fmt::print("{} deleted.\n", count_of(deleted, "file"));
  return 0;
}

}  // namespace bp::tools
