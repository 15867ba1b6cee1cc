#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/data/text_lines.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {

TextLines::TextLines(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  BP_CHECK(fd >= 0, "{}: can't open it: {}", path, std::strerror(errno));
  struct stat facts {};
  const bool is_file = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  const auto size = static_cast<std::size_t>(is_file ? facts.st_size : 0);
  void* at = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  const std::string why = std::strerror(errno);
  close(fd);
  BP_CHECK(is_file, "{}: is no file of lines", path);
  BP_CHECK(at != MAP_FAILED, "{}: can't map it: {}", path, why);
  text_ = {static_cast<const char*>(at), size};
  for (std::size_t begin = 0; begin < size;) {
    begins_.push_back(begin);
    const std::size_t end = text_.find('\n', begin);
    begin = end == std::string_view::npos ? size : end + 1;
  }
}

TextLines::~TextLines() {
  if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
}

std::string_view TextLines::line(std::int64_t index) const {
  BP_CHECK(index >= 0 && index < size(), "{}: line {} of {}", path_, index, size());
  const auto at = static_cast<std::size_t>(index);
  const std::uint64_t end = at + 1 < begins_.size() ? begins_[at + 1] : text_.size();
  std::string_view found = text_.substr(begins_[at], end - begins_[at]);
  if (found.ends_with('\n')) found.remove_suffix(1);
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

}  // namespace bp::data
