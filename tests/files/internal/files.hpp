// A folder for the tests of files, and what was thrown.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <unistd.h>

#include <backplane/tensor/error.hpp>

namespace bp::test {

namespace fs = std::filesystem;

// A folder that is gone when the test is.
class FilesFolder {
 public:
  FilesFolder() {
    std::string name = (fs::temp_directory_path() / "backplane-files-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder " + name);
    path_ = name;
  }
  ~FilesFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  FilesFolder(const FilesFolder&) = delete;
  FilesFolder& operator=(const FilesFolder&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  int num_files() const {
    return static_cast<int>(std::distance(fs::directory_iterator(path_), {}));
  }

 private:
  fs::path path_;
};

inline fs::path written_file(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

inline std::string file_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The sentence of the Error, or "nothing".
inline std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace bp::test
