#include <backplane/data/text_lines.hpp>
#include <backplane/files/whole_file.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {

TextLines::TextLines(const std::string& path) : path_(path), text_(files::read_whole_file(path)) {
  for (std::size_t begin = 0; begin < text_.size();) {
    begins_.push_back(begin);
    const std::size_t end = text_.find('\n', begin);
    begin = end == std::string::npos ? text_.size() : end + 1;
  }
}

std::string_view TextLines::line(std::int64_t index) const {
  BP_CHECK(index >= 0 && index < size(), "{}: line {} of {}", path_, index, size());
  const auto at = static_cast<std::size_t>(index);
  const std::uint64_t end = at + 1 < begins_.size() ? begins_[at + 1] : text_.size();
  std::string_view found = std::string_view(text_).substr(begins_[at], end - begins_[at]);
  if (found.ends_with('\n')) found.remove_suffix(1);
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

}  // namespace bp::data
