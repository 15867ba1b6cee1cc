#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/abi.h>
#include <backplane/loading/environment.hpp>
#include <backplane/loading/sha256.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/tuning/kept_files.hpp>

#include "constants.hpp"

namespace bp::kept_files {
namespace {

namespace fs = std::filesystem;
using loading::Sha256;

constexpr std::size_t digits = 64;  // of a SHA-256, and so of a file's name

// At the beginning of each file. The sum is of the bytes that follow.
struct Head {
  char magic[8];
  std::uint64_t version;
  std::uint64_t bytes;
  char sum[digits];
};
constexpr char magic[8] = {'b', 'p', 'k', 'e', 'r', 'n', 'e', 'l'};
constexpr std::uint64_t version = 1;

// ---- Where, and how much ------------------------------------------------------------------------

// Empty: there is no place for it.
fs::path folder() {
  // A privileged process is not led by its user's variables, here and in Environment.
  const char* given = secure_getenv("BACKPLANE_CACHE_DIR");
  if (given && *given) return fs::absolute(given);
  const fs::path cache = loading::Environment::current().user_cache;
  return cache.empty() ? cache : cache / "kernels";
}

std::uint64_t limit_bytes() {
  const char* given = secure_getenv("BACKPLANE_CACHE_BYTES");
  const std::string_view text = given ? given : "";
  std::uint64_t limit = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error == std::errc() && stop == text.data() + text.size()) return limit;
  if (!text.empty()) warn_of_variable("BACKPLANE_CACHE_BYTES", text, "a whole number of bytes");
  return constants::kept_bytes;
}

// Says each trouble once: it would come with every kernel.
void complain(const std::string& trouble) {
  static std::mutex mutex;
  static std::string last;
  const std::lock_guard lock(mutex);
  if (trouble == last) return;
  last = trouble;
  log_warning(fmt::format("compiled kernels and measured choices are not kept: {}", trouble));
}

// Whoever can write a file here chooses what runs in this process.
bool is_private(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_usable(const fs::path& place) {
  struct stat status {};
  if (stat(place.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) {
    complain(fmt::format("{} is not a folder; BACKPLANE_CACHE_DIR names another", place.string()));
    return false;
  }
  if (is_private(status)) return true;
  complain(
      fmt::format("{} belongs to another user or can be written by others; chmod 700 it, or "
                  "name another in BACKPLANE_CACHE_DIR",
                  place.string()));
  return false;
}

bool make_usable(const fs::path& place) {
  std::error_code ignored;
  fs::create_directories(place.parent_path(), ignored);
  if (mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    complain(fmt::format("cannot make the folder {}: {}", place.string(), std::strerror(errno)));
    return false;
  }
  return is_usable(place);
}

// ---- One file -----------------------------------------------------------------------------------

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool read(void* to, std::size_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t count = ::read(descriptor_, at, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count, bytes -= static_cast<std::size_t>(count);
    }
    return true;
  }
  bool write(const void* from, std::size_t bytes) const {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t count = ::write(descriptor_, at, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count, bytes -= static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  int descriptor_;
};

std::string sum_of(const std::vector<char>& bytes) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(bytes)));
  return sum.finish();
}

// Nothing unless every byte is as it was written, by this user.
std::optional<std::vector<char>> read_whole(const File& file) {
  struct stat status {};
  Head head{};
  if (fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) || !is_private(status))
    return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size <= sizeof head || !file.read(&head, sizeof head)) return std::nullopt;
  if (std::memcmp(head.magic, magic, sizeof magic) != 0 || head.version != version ||
      head.bytes != size - sizeof head)
    return std::nullopt;
  std::vector<char> content(head.bytes);
  if (!file.read(content.data(), content.size())) return std::nullopt;
  if (sum_of(content) != std::string_view(head.sum, digits)) return std::nullopt;
  return content;
}

// Beside its place and renamed into it: another process sees all of it or nothing.
bool write_whole(const fs::path& place, const std::vector<char>& content) {
  std::string aside = place.string() + ".XXXXXX";
  const File file(mkostemp(aside.data(), O_CLOEXEC));  // for this user alone
  if (!file.is_open()) return false;
  Head head{};
  std::memcpy(head.magic, magic, sizeof magic);
  head.version = version;
  head.bytes = content.size();
  sum_of(content).copy(head.sum, digits);
  const bool written = file.write(&head, sizeof head) &&
                       file.write(content.data(), content.size()) &&
                       std::rename(aside.c_str(), place.c_str()) == 0;
  if (written) return true;
  const int error = errno;
  unlink(aside.c_str());
  errno = error;
  return false;
}

// ---- All files ----------------------------------------------------------------------------------

struct Entry {
  fs::path path;
  std::uint64_t bytes;
  timespec used;
  bool is_aside;  // not renamed yet
};

// Somebody may have named a folder with other things in it.
bool is_ours(const std::string& name) {
  return name.size() >= digits && name.find_first_not_of("0123456789abcdef") >= digits &&
         (name.size() == digits || (name.size() == digits + 7 && name[digits] == '.'));
}

std::vector<Entry> list(const fs::path& place) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    struct stat status {};
    if (!is_ours(name) || lstat(it->path().c_str(), &status) != 0) continue;
    entries.push_back({it->path(), static_cast<std::uint64_t>(status.st_size), status.st_mtim,
                       name.size() > digits});
  }
  return entries;
}

// Another process may be about to rename it; unless that has ended too early.
bool is_being_written(const Entry& entry) {
  return entry.is_aside && entry.used.tv_sec > time(nullptr) - constants::unfinished_seconds;
}

// Deletes what was used longest ago until a tenth of the limit is free again, so that this is seldom. Returns
// how many bytes there are then.
std::uint64_t shrink(const fs::path& place, std::uint64_t limit) {
  std::vector<Entry> entries = list(place);
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(!a.is_aside, a.used.tv_sec, a.used.tv_nsec) <
           std::tuple(!b.is_aside, b.used.tv_sec, b.used.tv_nsec);
  });
  const std::uint64_t wanted = bytes > limit ? limit - limit / constants::freed_part : limit;
  for (const Entry& entry : entries) {
    if (is_being_written(entry)) continue;
    if (bytes <= wanted && !entry.is_aside) break;
    unlink(entry.path.c_str());
    bytes -= entry.bytes;
  }
  return bytes;
}

// Keeps the folder within its limit without listing it at each write: this process counts what it adds,
// and looks again now and then, since others add too.
void account(const fs::path& place, std::uint64_t added) {
  static std::mutex mutex;
  static fs::path counted;
  static std::uint64_t bytes = 0;
  static int writes = 0;
  const std::lock_guard lock(mutex);
  bytes += added;
  const std::uint64_t limit = limit_bytes();
  if (place == counted && bytes <= limit && ++writes < constants::writes_between_looks) return;
  counted = place;
  writes = 0;
  bytes = shrink(place, limit);
}

// Of what was written, behind our own head.
bool begins_with(const fs::path& path, std::string_view text) {
  if (text.empty()) return true;
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  Head head{};
  std::string begin(text.size(), '\0');
  return file.is_open() && file.read(&head, sizeof head) && file.read(begin.data(), begin.size()) &&
         begin == text;
}

// Runs `act`; what it throws (no memory, a path that is none) is a line in the log.
template <class Act> auto guarded(Act act) noexcept -> decltype(act()) {
  try {
    return act();
  } catch (const std::exception& error) {
    complain(error.what());
    return {};
  }
}

}  // namespace

std::string key_of(std::string_view source, std::string_view options, std::string_view language,
                   std::string_view identity) {
  Sha256 sum;
  for (std::string_view part : {source, options, language, identity}) {
    // With its length, so that nothing moves from one part to the next.
    const std::uint64_t bytes = part.size();
    sum.add(std::as_bytes(std::span(&bytes, 1)));
    sum.add(std::as_bytes(std::span(part)));
  }
  return sum.finish();
}

std::optional<std::vector<char>> read(const std::string& key) {
  return guarded([&]() -> std::optional<std::vector<char>> {
    const fs::path place = folder();
    if (place.empty() || limit_bytes() == 0 || !is_usable(place)) return std::nullopt;
    const fs::path path = place / key;
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file.is_open() && errno == ENOENT) return std::nullopt;
    std::optional<std::vector<char>> content;
    if (file.is_open()) content = read_whole(file);
    if (!content) {
      log_line(BP_LOG_INFO, fmt::format("{} is broken and goes", path.string()));
      unlink(path.c_str());
      return std::nullopt;
    }
    futimens(file.descriptor(), nullptr);  // used now
    return content;
  });
}

void write(const std::string& key, const std::vector<char>& content) {
  guarded([&] {
    const fs::path place = folder();
    const std::uint64_t bytes = sizeof(Head) + content.size();
    if (place.empty() || content.empty() || bytes > limit_bytes() || !make_usable(place)) return 0;
    if (write_whole(place / key, content))
      account(place, bytes);
    else
      complain(fmt::format("cannot write to {}: {}", place.string(), std::strerror(errno)));
    return 0;
  });
}

void discard(const std::string& key) {
  guarded([&] {
    const fs::path place = folder();
    return place.empty() ? 0 : unlink((place / key).c_str());
  });
}

bool is_on() {
  return limit_bytes() > 0;
}

Usage usage() {
  return guarded([] {
    Usage result;
    const fs::path place = folder();
    result.folder = place.string();
    result.limit_bytes = limit_bytes();
    if (place.empty()) return result;
    for (const Entry& entry : list(place)) {
      ++result.num_files;
      result.bytes += entry.bytes;
    }
    return result;
  });
}

std::vector<std::string> contents_with_head(std::string_view head) {
  return guarded([&] {
    std::vector<std::string> all;
    const fs::path place = folder();
    if (place.empty()) return all;
    for (const Entry& entry : list(place)) {
      if (entry.is_aside || !begins_with(entry.path, head)) continue;
      if (const auto content = read(entry.path.filename().string()))
        all.emplace_back(content->begin(), content->end());
    }
    return all;
  });
}

std::uint64_t clear(std::string_view head) {
  return guarded([&] {
    std::uint64_t count = 0;
    const fs::path place = folder();
    if (place.empty()) return count;
    for (const Entry& entry : list(place))
      if (!is_being_written(entry) && begins_with(entry.path, head) &&
          unlink(entry.path.c_str()) == 0)
        ++count;
    return count;
  });
}

}  // namespace bp::kept_files
