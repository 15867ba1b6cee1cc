#include "dialect/spirv.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <unistd.h>
#include <vector>

#include <backplane/loading/child_process.hpp>
#include <backplane/tensor/error.hpp>

#include "dialect/spirv_blocks.hpp"

namespace bp::codegen {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// A folder of this process alone, deleted with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* given = secure_getenv("TMPDIR");
    std::string path = std::string(given && *given ? given : "/tmp") + "/backplane-XXXXXX";
    if (!mkdtemp(path.data()))
      throw_error(
          ErrorClass::internal,
          fmt::format("codegen: no temporary folder {}: {}; set TMPDIR to a folder with room", path,
                      std::strerror(errno)));
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

struct Program {
  const char *name, *variable;
};
constexpr Program clang{"clang", "BACKPLANE_CLANG"};
constexpr Program opt{"opt", "BACKPLANE_OPT"};
constexpr Program translator{"llvm-spirv", "BACKPLANE_LLVM_SPIRV"};

bool is_in_path(const std::string& name) {
  const char* text = std::getenv("PATH");
  const std::string path = text ? text : "/usr/bin:/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path file = fs::path(path.substr(at, end - at)) / name;
    if (access(file.c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

// What a program's names end in: its LLVM version. The three must agree on the format that they hand on.
std::string find_version() {
  std::string best;
  int most = -1;
  for (const char* version : {"-19", "-18", "-17", "-16", "-15", "-14", ""}) {
    int present = 0;
    for (const Program& program : {clang, opt, translator})
      present += secure_getenv(program.variable) || is_in_path(program.name + std::string(version));
    if (present == 3) return version;
    // The nearest, to say what it lacks; the plain names where none is nearer.
    if (present >= most) most = present, best = version;
  }
  return best;
}

std::string path_of(const Program& program, const std::string& version) {
  const char* given = secure_getenv(program.variable);
  if (given && *given) return given;
  std::string name = program.name + version;
  if (!is_in_path(name))
    throw_error(
        ErrorClass::unsupported,
        fmt::format("codegen: kernels are compiled to SPIR-V by clang, opt and llvm-spirv of one "
                    "LLVM version, 14 to 19; '{}' is not in PATH; install it, or name it in {}",
                    name, program.variable));
  return name;
}

// Where the source permits to fuse a multiplication and an addition, the module demands it: the permission would become
// mad(), which not every compiler that sees SPIR-V fuses.
void fuse(const std::string& file) {
  std::ifstream stream(file);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  constexpr std::string_view permitted = "@llvm.fmuladd.", demanded = "@llvm.fma.";
  for (std::size_t at = 0; (at = text.find(permitted, at)) != std::string::npos;)
    text.replace(at, permitted.size(), demanded);
  stream.close();
  std::ofstream(file) << text;
}

class Toolchain {
 public:
  explicit Toolchain(std::chrono::seconds limit) : deadline_(steady_clock::now() + limit) {
    const std::string version = find_version();
    clang_ = path_of(clang, version);
    opt_ = path_of(opt, version);
    translator_ = path_of(translator, version);
  }

  void run(const std::string& program, const std::vector<std::string>& arguments) const {
    using std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - steady_clock::now());
    const loading::ChildResult result = loading::run_child(
        program, arguments, std::max(left, milliseconds(0)), loading::ChildOutput::with_errors);
    if (!result.problem.empty())
      throw_error(ErrorClass::unsupported, fmt::format("codegen: {}", result.problem));
    if (result.hung)
      throw_error(ErrorClass::internal,
                  fmt::format("codegen: {} did not finish in time and was ended "
                              "(BACKPLANE_COMPILE_SECONDS sets the limit)",
                              program));
    // -1: unknown, where the application ignores SIGCHLD. The next step misses its file then.
    if (result.signal != 0 || result.exit_code > 0)
      throw_error(ErrorClass::internal,
                  fmt::format("codegen: {} failed ({} {}):\n{}", program,
                              result.signal ? "signal" : "exit code",
                              result.signal ? result.signal : result.exit_code, result.output));
  }

  // Few passes: of what clang's own -O1 makes, or instcombine (`freeze`, variables that are not first in
  // their function), the translator cannot say all. The device's compiler optimizes anyway. -O1 without its
  // passes, since -O0 forbids to inline any function, which the module would then forbid the device too: softmax
  // took 3 times as long.
  void translate(const std::string& from, const std::string& to,
                 const TemporaryFolder& folder) const {
    const std::string raw = folder.file("raw.bc"), text = folder.file("better.ll"),
                      better = folder.file("better.bc");
    run(clang_, {"-c", "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-O1", "-Xclang",
                 "-disable-llvm-passes", "-Xclang", "-finclude-default-header", "-emit-llvm",
                 "-ffp-contract=off", "-Dmad=fma", "-w", "-o", raw, from});
    run(opt_, {"-S", "-passes=mem2reg,early-cse,simplifycfg,early-cse", "-o", text, raw});
    fuse(text);
    run(opt_, {"-passes=verify", "-o", better, text});
    run(translator_, {"--spirv-max-version=1.2", "-o", to, better});
  }

 private:
  std::string clang_, opt_, translator_;
  steady_clock::time_point deadline_;
};

}  // namespace

std::string to_spirv(std::string_view opencl_c, std::chrono::seconds limit) {
  const Toolchain tools(limit);
  const TemporaryFolder folder;
  const std::string from = folder.file("kernel.cl"), to = folder.file("kernel.spv");
  std::ofstream(from, std::ios::binary) << opencl_c;
  tools.translate(from, to, folder);
  std::ifstream stream(to, std::ios::binary);
  std::string module(std::istreambuf_iterator<char>(stream), {});
  if (module.empty())
    throw_error(ErrorClass::internal,
                "codegen: the SPIR-V translator wrote nothing; is there room for temporary files?");
  return order_blocks(module);
}

}  // namespace bp::codegen
