#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/elf_lint.hpp>

#include "dependencies.hpp"
#include "elf_file.hpp"

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view entry_point = "bp_get_plugin_v1";
constexpr size_t max_examples = 3;

// A file's bytes while they are looked at. Mapped, not read: a maker's library may have hundreds of
// megabytes, of which the lint touches a few pages. dlopen maps it too, so that cutting the file short
// meanwhile is not a new danger.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) {
      problem_ = std::string("cannot be read: ") + std::strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
      problem_ = S_ISDIR(status.st_mode) ? "is a folder, not a library" : "is not a regular file";
    } else if (status.st_size > 0) {
      size_ = static_cast<size_t>(status.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (data_ == MAP_FAILED) problem_ = std::string("cannot be mapped: ") + std::strerror(errno);
    }
    if (file >= 0) ::close(file);
    if (!problem_.empty()) size_ = 0;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ != 0) munmap(data_, size_);
  }

  const std::string& problem() const { return problem_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  std::string problem_;
};

bool is_entry_point(std::string_view name) {
  constexpr std::string_view stem = "bp_get_plugin_v";  // a library may carry two majors
  return name.starts_with(stem) &&
         name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

// What linkers put among the exports by themselves.
bool is_linkers(std::string_view name) {
  for (const std::string_view own : {"_init", "_fini", "_edata", "_end", "__bss_start", "__end__"})
    if (name == own) return true;
  return false;
}

// Whether a mangled C++ name begins in namespace bp or backplane. Demangling would tell too, but a
// demangler must not read names from a file that nobody trusts yet.
bool is_in_our_namespace(std::string_view name) {
  if (!name.starts_with("_Z")) return false;
  name.remove_prefix(2);
  for (const std::string_view special : {"TV", "TT", "TI", "TS", "GV", "GR"})
    if (name.starts_with(special)) {
      name.remove_prefix(2);
      break;
    }
  while (name.starts_with("Z")) name.remove_prefix(1);  // something inside a function
  if (!name.starts_with("N")) return false;
  name.remove_prefix(std::min(name.find_first_not_of("NrVKRO"), name.size()));
  return name.starts_with("2bp") || name.starts_with("9backplane");
}

bool is_ours(std::string_view name) {
  return name.starts_with("bp_") || is_in_our_namespace(name);
}

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < max_examples; i++)
    text += (i != 0 ? ", " : "") + std::string(names[i].substr(0, 200));
  if (names.size() > max_examples)
    text += " and " + std::to_string(names.size() - max_examples) + " more";
  return text;
}

class Report {
 public:
  explicit Report(std::string_view name) : name_(name) {}

  void refuse(const char* rule, const std::string& what) { add(Severity::refuse, rule, what); }
  void warn(const char* rule, const std::string& what) { add(Severity::warn, rule, what); }
  LintReport take() { return std::move(report_); }

 private:
  void add(Severity severity, const char* rule, const std::string& what) {
    report_.findings.push_back({severity, rule, name_ + ": " + what});
  }
  std::string name_;
  LintReport report_;
};

// Whether there is a library to ask more about.
bool report_problem(const ElfFile& elf, Report& report) {
  switch (elf.problem) {
    case ElfProblem::none: return false;
    case ElfProblem::empty: report.refuse("empty", "is empty; build or copy it again"); break;
    case ElfProblem::truncated:
      report.refuse("truncated", "is cut short: " + elf.detail + "; copy it again");
      break;
    case ElfProblem::not_elf: report.refuse("not-elf", "is not a library: it " + elf.detail); break;
    case ElfProblem::other_architecture:
      report.refuse("other-architecture", elf.detail + "; install the plugin for that");
      break;
    case ElfProblem::not_a_library:
      report.refuse("not-a-library", elf.detail + ", not a shared library; link it with -shared");
      break;
    case ElfProblem::malformed:
      report.refuse("malformed",
                    elf.detail + "; the loader could not use it either: link it again");
      break;
  }
  return true;
}

void report_symbols(const ElfFile& elf, Report& report) {
  bool has_entry_point = false;
  std::vector<std::string_view> missing, others, unique;
  for (const ElfSymbol& symbol : elf.symbols) {
    has_entry_point |= symbol.defined && symbol.name == entry_point;
    if (!symbol.defined && is_ours(symbol.name)) missing.push_back(symbol.name);
    if (symbol.unique) unique.push_back(symbol.name);
    if (symbol.defined && !is_entry_point(symbol.name) && !is_linkers(symbol.name))
      others.push_back(symbol.name);
  }
  if (!elf.symbols_complete)
    report.warn("unreadable-symbols", "its table of symbols cannot be read to the end");
  if (!has_entry_point)
    report.refuse(
        "missing-export",
        "does not export bp_get_plugin_v1, so it is not a Backplane plugin (or the symbol is "
        "hidden: declare it with BP_EXPORT and extern \"C\")");
  if (!missing.empty())
    report.refuse(
        "undefined-symbol",
        "imports " + list(missing) +
            " from Backplane; a plugin gets everything through its bp_host: do not link to "
            "libbackplane");
  if (!others.empty())
    report.warn("other-exports",
                "exports " + list(others) +
                    " beside bp_get_plugin_v1, which may clash with other plugins; "
                    "build it with backplane_add_plugin()");
  if (!unique.empty())
    report.warn("unique-symbols", "has unique symbols (" + list(unique) +
                                      "), which plugins share in spite of RTLD_LOCAL; compile with "
                                      "-fno-gnu-unique -fvisibility=hidden");
}

void report_memory(const ElfFile& elf, Report& report) {
  if (!elf.has_stack_header || elf.executable_stack)
    report.warn("executable-stack",
                std::string(elf.has_stack_header ? "asks for" : "does not say that it needs no") +
                    " executable stack, which newer systems refuse; link with -z noexecstack");
  if (elf.text_relocations)
    report.warn(
        "text-relocations",
        "has code that must be rewritten when it is loaded, which hardened systems refuse; compile "
        "all of it with -fPIC");
}

// Where the dynamic loader would look for what the library needs.

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

LintReport lint_bytes(std::span<const std::byte> bytes, std::string_view name) {
  Report report(name);
  const ElfFile elf = read_elf(bytes);
  if (!report_problem(elf, report)) {
    report_symbols(elf, report);
    report_memory(elf, report);
  }
  return report.take();
}

LintReport lint(const fs::path& file, const Environment& environment) {
  Report problem(file.string());
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) {
    problem.refuse("not-a-file", "does not exist or cannot be reached: " + error.message());
    return problem.take();
  }
  const MappedFile mapped(real);
  if (!mapped.problem().empty()) {
    problem.refuse("not-a-file", mapped.problem());
    return problem.take();
  }
  LintReport report = lint_bytes(mapped.bytes(), file.string());
  if (report.refused()) return report;
  const ElfFile elf = read_elf(mapped.bytes());
  for (const std::string& library : find_missing(elf, real, environment.library_path))
    report.findings.push_back({Severity::warn, "missing-dependency",
                               file.string() + ": needs " + library +
                                   ", which was not found; install it, or add its folder to "
                                   "LD_LIBRARY_PATH"});
  return report;
}

}  // namespace bp::loading
