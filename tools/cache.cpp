#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/tuning/kept_files.hpp>

#include "commands.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

std::string size_of(std::uint64_t bytes) {
  if (bytes < std::uint64_t{1} << 20)
    return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

void print_for_program(const kept_files::Usage& usage, std::uint64_t deleted) {
  print_json({{"folder", usage.folder},
              {"files", usage.num_files},
              {"bytes", usage.bytes},
              {"limit_bytes", usage.limit_bytes},
              {"deleted", deleted}});
}

void print_for_person(const kept_files::Usage& usage) {
  if (usage.folder.empty()) {
    fmt::print("There is no place for compiled kernels: neither BACKPLANE_CACHE_DIR nor a home.\n");
    return;
  }
  fmt::print("{}\n{}, {} of at most {}\n", usage.folder, count_of(usage.num_files, "file"),
             size_of(usage.bytes), size_of(usage.limit_bytes));
}

}  // namespace

int cache(const Options& options) {
  const std::uint64_t deleted = options.clear ? kept_files::clear() : 0;
  const kept_files::Usage usage = kept_files::usage();
  if (options.json) {
    print_for_program(usage, deleted);
    return 0;
  }
  print_for_person(usage);
  if (options.clear) fmt::print("{} deleted.\n", count_of(deleted, "file"));
  return 0;
}

}  // namespace bp::tools
