#include "probe_cache.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/plugin_check.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;

// One small file for each library, named by a hash (FNV-1a) of its path; the path is inside as well.
fs::path entry_of(const fs::path& cache, const fs::path& library) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : library.string())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash));
  return cache / "probed" / name;
}

std::string nanoseconds(const timespec& time) {
  return std::to_string(time.tv_sec * 1'000'000'000 + time.tv_nsec);
}

}  // namespace

std::string describe_state(const fs::path& library) {
  struct stat status {};
  if (stat(library.c_str(), &status) != 0) return {};
  // Unlike the time of modification, that of change cannot be set back.
  return library.string() + "\nfile " + std::to_string(status.st_dev) + " " +
         std::to_string(status.st_ino) + " " + std::to_string(status.st_size) + " " +
         nanoseconds(status.st_mtim) + " " + nanoseconds(status.st_ctim) + "\nabi " +
         std::to_string(host_abi_min) + " " + std::to_string(host_abi_max) + "\n";
}

bool was_good(const fs::path& cache, const fs::path& library, const std::string& state) {
  if (cache.empty() || state.empty()) return false;
  std::ifstream stream(entry_of(cache, library), std::ios::binary);
  std::string text(state.size() + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  return stream.eof() && text.compare(0, static_cast<size_t>(stream.gcount()), state) == 0;
}

void remember_good(const fs::path& cache, const fs::path& library, const std::string& state) {
  if (cache.empty() || state.empty()) return;
  const fs::path entry = entry_of(cache, library);
  std::error_code ignored;
  fs::create_directories(entry.parent_path(), ignored);
  // Written aside and renamed: another process sees the whole entry or none.
  std::string aside = entry.string() + ".XXXXXX";
  const int file = mkstemp(aside.data());
  if (file < 0) return;
  const bool written =
      ::write(file, state.data(), state.size()) == static_cast<ssize_t>(state.size());
  ::close(file);
  if (!written || std::rename(aside.c_str(), entry.c_str()) != 0) unlink(aside.c_str());
}

}  // namespace bp::loading
