#include "formats/files.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags, 0666)) {
    check(fd_ >= 0, "open");
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  void check(bool good, const char* what) const {
    BP_CHECK(good, "{}: can't {} it: {}", path_, what, std::strerror(errno));
  }

 private:
  const std::string& path_;
  int fd_;
};

}  // namespace

std::string read_whole_file(const std::string& path, std::uint64_t most_bytes) {
  const OpenFile file(path, O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  file.check(fstat(file.fd(), &facts) == 0, "read");
  BP_CHECK(!S_ISDIR(facts.st_mode), "{}: is a folder, not a file", path);
  BP_CHECK(static_cast<std::uint64_t>(facts.st_size) <= most_bytes,
           "{}: has {} bytes, and at most {} are read", path, facts.st_size, most_bytes);
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file.fd(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    file.check(got >= 0, "read");
    if (got == 0) break;  // it was cut while it was read; its parser will tell
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void write_whole_file(const std::string& path, std::string_view bytes, std::string_view more) {
  static std::atomic<unsigned> count{0};  // other threads may write the same file
  const std::string beside = fmt::format("{}.part{}-{}", path, getpid(), ++count);
  try {
    const OpenFile file(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    for (std::string_view* rest : {&bytes, &more})
      while (!rest->empty()) {
        const ssize_t count = write(file.fd(), rest->data(), rest->size());
        if (count < 0 && errno == EINTR) continue;
        file.check(count > 0, "write");
        rest->remove_prefix(static_cast<std::size_t>(count));
      }
    file.check(rename(beside.c_str(), path.c_str()) == 0, "rename");
  } catch (...) {
    unlink(beside.c_str());
    throw;
  }
}

}  // namespace bp::data
