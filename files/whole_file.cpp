#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/files/file_errors.hpp>
#include <backplane/files/output_file.hpp>
#include <backplane/files/whole_file.hpp>

namespace bp::files {
namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : name_(path.string()) {
    check_path(name_);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw_file_error(name_, "can't be opened", errno, "check the path");
  }
  ~Reader() { ::close(descriptor_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::string all(std::uint64_t most_bytes) const {
    const struct stat before = facts();
    const auto said = static_cast<std::uint64_t>(before.st_size);  // 0 of pipes, and in /proc
    BP_CHECK(!S_ISDIR(before.st_mode), "{}: is a folder, not a file; pass a file's path", name_);
    BP_CHECK(!S_ISCHR(before.st_mode) && !S_ISBLK(before.st_mode),
             "{}: is a device, which may have no end; copy what you need of it into a file", name_);
    BP_CHECK(said <= most_bytes, "{}: has {} bytes, and at most {} are read", name_, said,
             most_bytes);
    std::string bytes;
    std::size_t done = 0;
    do {  // one byte more than is said, so that the end is seen without growing
      grow(bytes, done == 0 ? said + 1 : done + std::max(least_step, done / 2));
      done += fill(bytes, done);
      BP_CHECK(done <= most_bytes, "{}: has more than {} bytes, and no more are read", name_,
               most_bytes);
    } while (done == bytes.size());
    bytes.resize(done);
    check_unchanged(before, done);
    return bytes;
  }

 private:
  static constexpr std::size_t least_step = 64 << 10;

  struct stat facts() const {
    struct stat now {};
    if (fstat(descriptor_, &now) != 0) throw_file_error(name_, "can't be examined", errno);
    return now;
  }

  void grow(std::string& bytes, std::uint64_t size) const {
    try {
      bytes.resize(size);
    } catch (const std::exception&) {  // bad_alloc, or length_error
      throw_file_error(name_, fmt::format("has no room for {} bytes in memory", size), ENOMEM,
                       "read it in parts");
    }
  }

  // Reads from `begin` on until `bytes` is full or the file ends.
  std::size_t fill(std::string& bytes, std::size_t begin) const {
    std::size_t done = begin;
    while (done < bytes.size()) {
      const ssize_t got = ::read(descriptor_, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_file_error(name_, "can't be read", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done - begin;
  }

  // Files of /sys and /proc say sizes that mean nothing, and go on saying them.
  void check_unchanged(const struct stat& before, std::uint64_t done) const {
    const struct stat after = facts();
    if (!S_ISREG(before.st_mode) || (before.st_size == 0 && after.st_size == 0)) return;
    const bool is_same = before.st_size == after.st_size &&
                         before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
                         before.st_mtim.tv_nsec == after.st_mtim.tv_nsec;
    BP_CHECK(is_same,
             "{}: was written to while it was read: it had {} bytes, then {}, and gave {}; read it "
             "again, and replace it by renaming a new one",
             name_, before.st_size, after.st_size, done);
  }

  std::string name_;
  int descriptor_ = -1;
};

}  // namespace

std::string read_whole_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  return Reader(path).all(most_bytes);
}

void write_whole_file(const std::filesystem::path& path, std::string_view bytes,
                      std::string_view more) {
  OutputFile out(path);
  out.write(bytes);
  out.write(more);
  out.commit();
}

}  // namespace bp::files
