// What the tests of loading share: a folder of one's own, files in it, and surroundings made up.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdlib.h>
#include <string>

#include <backplane/loading/elf_lint.hpp>
#include <backplane/loading/environment.hpp>

namespace bp::loading {

namespace fs = std::filesystem;

// Of tests/plugins/broken: "good", "null_copy" ...
inline fs::path broken_plugin(const std::string& name) {
  return fs::path(BP_TEST_PLUGIN_DIR) / "broken" / ("lib" + name + ".so");
}

inline std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline fs::path write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Only its owner may write there, as loading asks; gone at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = "/tmp/backplane_test_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

  fs::path copy(const std::string& broken, const std::string& name = "libplugin.so") const {
    fs::copy_file(broken_plugin(broken), path_ / name, fs::copy_options::overwrite_existing);
    return path_ / name;
  }

 private:
  fs::path path_;
};

// Nothing of this machine but the helper program.
inline Environment bare_environment() {
  Environment environment;
  environment.probe_program = fs::path(BP_BUILD_BIN_DIR) / "backplane-probe";
  return environment;
}

// "{...}" of a manifest for `library` that fits this process, with `more` members.
inline std::string manifest_text(const std::string& library, const std::string& more = "") {
  return R"({"name": "acme", "vendor": "Acme Inc.", "library": ")" + library +
         R"(", "abi_min": 1, "abi_max": 1, "architecture": ")" +
         std::string(process_architecture()) + "\"" + more + "}";
}

}  // namespace bp::loading
