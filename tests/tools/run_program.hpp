// Runs a program of the build as a person would, and keeps what it said.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace bp::test {

// A backend with memory and no kernel: tests/plugins/memory_only.
inline const std::string memory_only = BP_TEST_PLUGIN_DIR "/libbackplane_memonly.so";
// A backend with few kernels, whose device is the same unit: tests/plugins/partial.
inline const std::string partial = BP_TEST_PLUGIN_DIR "/libbackplane_partial.so";

struct Finished {
  int exit_code = -1;
  std::string out, err;
};

inline void append_quoted(std::string& command, std::string_view word) {
  command += " '";
  for (char c : word) {
    if (c == '\'') command += "'\\'";
    command += c;
  }
  command += "'";
}

// A folder of this test's own, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "backplane-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// `program` is a file of BP_BUILD_BIN_DIR; `environment` holds words like "NAME=value".
inline Finished run_program(const std::string& program, const std::vector<std::string>& words,
                            const std::vector<std::string>& environment = {}) {
  const TemporaryFolder folder;
  std::string command = "env";
  for (const std::string& assignment : environment) append_quoted(command, assignment);
  append_quoted(command, (std::filesystem::path(BP_BUILD_BIN_DIR) / program).string());
  for (const std::string& word : words) append_quoted(command, word);
  command += " >";
  append_quoted(command, (folder.path() / "out").string());
  command += " 2>";
  append_quoted(command, (folder.path() / "err").string());
  const int status = std::system(command.c_str());
  Finished finished;
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  finished.out = read_file(folder.path() / "out");
  finished.err = read_file(folder.path() / "err");
  return finished;
}

inline Finished run_backplane(const std::vector<std::string>& words,
                              const std::vector<std::string>& environment = {}) {
  return run_program("backplane", words, environment);
}

}  // namespace bp::test
