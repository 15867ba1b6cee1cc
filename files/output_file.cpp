#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/files/file_errors.hpp>
#include <backplane/files/output_file.hpp>

namespace bp::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".unfinished";

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// What names of unfinished files begin with. Cut so that what follows fits into the 255 bytes that systems allow.
std::string beginning_of(const fs::path& target) {
  constexpr std::size_t most = 200;
  return "." + target.filename().string().substr(0, most) + ".";
}

fs::path unused_name(const fs::path& target) {
  std::random_device random;
  return folder_of(target) /
         fmt::format("{}{:08x}{:08x}{}", beginning_of(target), random(), random(), ending);
}

// A link stays a link: what it points to is replaced, or made where it is missing.
fs::path followed(fs::path target) {
  const std::string asked = target.string();
  check_path(asked);
  std::error_code ignored;
  for (int links = 0; fs::is_symlink(target, ignored); ++links) {
    constexpr int most_links = 40;  // as Linux
    if (links == most_links) throw_file_error(asked, "can't be written", ELOOP, "choose another");
    target = folder_of(target) / fs::read_symlink(target, ignored);
    if (ignored) throw_file_error(asked, "its link can't be read", ignored.value());
  }
  return target;
}

// Owner, group and mode of the file before. Only root may give files away: of what stays another's the group gets nothing.
void take_over(int descriptor, const struct stat& before) {
  const bool has_group = ::fchown(descriptor, before.st_uid, before.st_gid) == 0 ||
                         ::fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) == 0;
  ::fchmod(descriptor, before.st_mode & (has_group ? 0777 : 0707));
}

// The new name of a file is on the disk when its folder is.
int sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int problem = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  return problem;
}

}  // namespace

OutputFile::OutputFile(fs::path target) : target_(followed(std::move(target))) {
  struct stat facts {};
  const bool is_there = ::stat(target_.c_str(), &facts) == 0;
  BP_CHECK(!is_there || S_ISREG(facts.st_mode),
           "{}: exists and is not a regular file; choose another name", target_.string());
  BP_CHECK(target_.has_filename(), "{}: is not a file's name; add one", target_.string());
  // A new name would get around the protection, which is not what its owner meant.
  if (is_there && faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    throw_file_error(target_.string(), "exists and may not be written", errno,
                     "choose another name, or change its mode");
  remove_abandoned(folder_of(target_), beginning_of(target_));
  for (int tries = 0; !open_once(); ++tries)
    BP_CHECK(tries < 100,
             "{}: no name for a new file beside it can be locked; is the folder shared?",
             target_.string());
  if (is_there) take_over(descriptor_, facts);
}

// False where another process took the new file for an abandoned one before it was locked.
bool OutputFile::open_once() {
  beside_ = unused_name(target_);
  descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && errno == EEXIST) return false;
  if (descriptor_ < 0) {
    const int number = errno;
    beside_.clear();
    fail("can't be written", number);
  }
  struct stat facts {};
  const bool is_locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (is_locked && fstat(descriptor_, &facts) == 0 && facts.st_nlink > 0) return true;
  ::close(descriptor_);
  descriptor_ = -1;
  return false;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void OutputFile::fail(std::string_view what, int number) const {
  std::error_code ignored;
  const bool was_there = fs::exists(target_, ignored);
  throw_file_error(
      target_.string(), fmt::format("{} after {} bytes", what, written_), number,
      was_there ? "the earlier file is as it was; free disk space and save again"
                : "nothing was left there; free disk space or check the folder, and save again");
}

void OutputFile::write(const void* data, std::uint64_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor_, from, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("can't be written", errno);
    from += put;
    bytes -= static_cast<std::uint64_t>(put);
    written_ += static_cast<std::uint64_t>(put);
  }
}

void OutputFile::seek(std::uint64_t offset) {
  if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
    fail("can't be written", errno);
}

void OutputFile::commit() {
  if (fsync(descriptor_) != 0) fail("cannot be flushed to the disk", errno);
  if (::rename(beside_.c_str(), target_.c_str()) != 0) fail("can't take its name", errno);
  beside_.clear();
  const int problem = sync_folder(folder_of(target_));
  if (problem != 0)
    throw_file_error(target_.string(), "is written, but its folder cannot be flushed to the disk",
                     problem);
}

void make_folder(const fs::path& folder) {
  check_path(folder.string());
  std::error_code problem;
  const bool is_new = fs::create_directories(folder, problem);
  if (problem || !fs::is_directory(folder, problem))
    throw_file_error(folder.string(), "can't be made a folder", problem ? problem.value() : ENOTDIR,
                     "choose another path");
  if (!is_new) return;
  for (fs::path each = fs::absolute(folder); each != each.parent_path(); each = each.parent_path())
    sync_folder(each.parent_path());  // what others do not let us sync, they made
}

int remove_abandoned(const fs::path& folder, std::string_view name_begins) {
  int num_removed = 0;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(name_begins) || !name.ends_with(ending)) continue;
    const int descriptor =
        ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::unlink(entry->path().c_str()) == 0)
      ++num_removed;
    ::close(descriptor);
  }
  return num_removed;
}

}  // namespace bp::files
