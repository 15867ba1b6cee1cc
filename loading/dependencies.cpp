#include "dependencies.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fstream>

#include <backplane/loading/elf_lint.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_folders = 64;
constexpr size_t max_cache_bytes = 16 << 20;
constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr size_t cache_head_bytes = 48, cache_entry_bytes = 24;

std::string multiarch() {
  return std::string(process_architecture()) + "-linux-gnu";
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// One element of a search path; $LIB has two spellings, of Debian and of the others.
void add_folder(std::string_view element, const fs::path& origin, std::vector<fs::path>& folders) {
  for (const std::string& lib : {"lib/" + multiarch(), std::string("lib64")}) {
    std::string text(element);
    replace_all(text, "${ORIGIN}", "$ORIGIN");
    replace_all(text, "$ORIGIN", origin.string());
    replace_all(text, "${LIB}", "$LIB");
    const bool has_lib = text.find("$LIB") != std::string::npos;
    replace_all(text, "$LIB", lib);
    if (folders.size() < max_folders) folders.emplace_back(text);
    if (!has_lib) return;
  }
}

void add_path(std::string_view path, const fs::path& origin, std::vector<fs::path>& folders) {
  while (!path.empty()) {
    const size_t end = std::min(path.find_first_of(":;"), path.size());
    if (end != 0) add_folder(path.substr(0, end), origin, folders);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
}

std::string read_cache_file() {
  std::ifstream stream("/etc/ld.so.cache", std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : 0;
  if (size <= 0 || static_cast<size_t>(size) > max_cache_bytes) return {};
  std::string bytes(static_cast<size_t>(size), '\0');
  stream.seekg(0);
  stream.read(bytes.data(), size);
  return stream ? bytes : std::string();
}

bool is_loaded(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return dlerror(), false;
  dlclose(handle);
  return true;
}

}  // namespace

std::vector<std::string_view> read_loader_cache(std::string_view bytes) {
  if (bytes.size() < cache_head_bytes || !bytes.starts_with(cache_magic)) return {};
  uint32_t count = 0;
  std::memcpy(&count, bytes.data() + cache_magic.size(), sizeof(count));
  count = std::min<uint64_t>(count, (bytes.size() - cache_head_bytes) / cache_entry_bytes);
  std::vector<std::string_view> names;
  names.reserve(count);
  for (uint64_t i = 0; i < count; i++) {
    uint32_t key = 0;  // after the entry's flags
    std::memcpy(&key, bytes.data() + cache_head_bytes + i * cache_entry_bytes + 4, sizeof(key));
    if (key >= bytes.size()) continue;
    const size_t end = bytes.find('\0', key);
    if (end != std::string_view::npos) names.push_back(bytes.substr(key, end - key));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> find_missing(const ElfFile& elf, const fs::path& file,
                                      std::string_view library_path) {
  const fs::path origin = file.parent_path();
  std::vector<fs::path> folders;
  if (elf.runpath.empty()) add_path(elf.rpath, origin, folders);  // as the loader: runpath wins
  add_path(library_path, origin, folders);
  add_path(elf.runpath, origin, folders);
  for (const std::string& folder :
       {"/lib/" + multiarch(), "/usr/lib/" + multiarch(), std::string("/lib64"),
        std::string("/usr/lib64"), std::string("/lib"), std::string("/usr/lib")})
    folders.emplace_back(folder);

  const std::string cache = read_cache_file();
  const std::vector<std::string_view> cached = read_loader_cache(cache);
  std::vector<std::string> missing;
  for (const std::string_view needed : elf.needed) {
    const std::string name(needed);
    std::error_code ignored;
    const auto lies_in = [&](const fs::path& folder) { return fs::exists(folder / name, ignored); };
    const bool found = name.find('/') != std::string::npos
                           ? fs::exists(name, ignored)
                           : std::binary_search(cached.begin(), cached.end(), needed) ||
                                 std::any_of(folders.begin(), folders.end(), lies_in) ||
                                 is_loaded(name);
    if (!found) missing.push_back(name);
  }
  return missing;
}

}  // namespace bp::loading
