// The lines of a text file by index.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/data/dataset.hpp>

namespace bp::data {

// The file is read once, whole, and where its lines begin is found; worker processes share what their parent has read. Lines end
// with LF or CRLF, which are not part of them. A sample is a text. Throws bad_argument, which names the file, where it can't be
// read, and out_of_memory where it does not fit.
class BP_API TextLines : public Dataset {
 public:
  explicit TextLines(const std::string& path);
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  std::int64_t size() const override { return static_cast<std::int64_t>(begins_.size()); }
  Sample get(std::int64_t index) const override { return std::string(line(index)); }
  // Good while the dataset lives. Throws bad_argument for an index outside.
  std::string_view line(std::int64_t index) const;

 private:
  std::string path_;
  std::string text_;
  std::vector<std::uint64_t> begins_;
};

}  // namespace bp::data
