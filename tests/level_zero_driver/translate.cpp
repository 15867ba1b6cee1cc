#include "translate.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace over_opencl {
namespace {

namespace fs = std::filesystem;

// A folder of this call's own, deleted with all that is in it.
class Workplace {
 public:
  Workplace() {
    std::error_code error;
    std::string pattern = fs::temp_directory_path(error) / "ze-over-opencl-XXXXXX";
    if (!error && mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Workplace() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  bool exists() const { return !path_.empty(); }
  std::string file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string read_whole(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// "OpenCL 3.0 PoCL 3.1  Linux, Release, RELOC, SPIR, LLVM 15.0.6, SLEEF" -> "llvm-spirv-15".
std::string translator_for(cl_platform_id platform) {
  const std::string version = platform_text(platform, CL_PLATFORM_VERSION);
  const size_t found = version.find("LLVM ");
  if (found == std::string::npos) return "llvm-spirv";
  const size_t start = found + std::strlen("LLVM ");
  return "llvm-spirv-" + version.substr(start, version.find('.', start) - start);
}

// The exit code, what the program says going to a file; -1 if it did not run to its end.
int run(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::ofstream(output) << arguments[0] << ": " << std::strerror(error);
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

bool translate(const std::vector<uint32_t>& spirv, cl_platform_id platform, std::string& bitcode,
               std::string& log) {
  const Workplace place;
  if (!place.exists()) {
    log = "no temporary folder can be made";
    return false;
  }
  const std::string from = place.file("module.spv"), to = place.file("module.bc");
  std::ofstream(from, std::ios::binary)
      .write(reinterpret_cast<const char*>(spirv.data()),
             static_cast<std::streamsize>(4 * spirv.size()));
  const std::string output = place.file("output");
  const int code =
      run({translator_for(platform), "-r", "--spirv-target-env=CL1.2", "-o", to, from}, output);
  bitcode = read_whole(to);
  if (code == 0 && !bitcode.empty()) return true;
  log = "translating SPIR-V to LLVM: " + read_whole(output);
  return false;
}

}  // namespace over_opencl
