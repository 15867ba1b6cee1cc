#include "c_compiler.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/utsname.h>

#include "child.hpp"

namespace reference {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A privileged process is not led by its user's variables.
std::string variable(const char* name, const char* otherwise) {
  const char* text = secure_getenv(name);
  return text != nullptr && *text != 0 ? text : otherwise;
}

std::string program() {
  return variable("BACKPLANE_CC", "cc");
}

// Three times the host's limit: the host gives up first and says so; this ends what it has left behind.
seconds time_limit() {
  const long host = std::strtol(variable("BACKPLANE_COMPILE_SECONDS", "0").c_str(), nullptr, 10);
  return 3 * seconds(host > 0 ? host : 120);
}

// Kernels are written for wrapping integers, for reading one memory as many types, and for results that
// are the same on every machine, so that nothing is contracted.
std::vector<std::string> command(const std::string& source, const std::string& result) {
  return {program(), "-std=c11",
          "-O1",     "-shared",
          "-fPIC",   "-ffp-contract=off",
          "-fwrapv", "-fno-strict-aliasing",
          "-w",      "-o",
          result,    source,
          "-lm"};
}

bp::Status why_not(const ChildResult& result, const char* name) {
  const std::string cc = program();
  if (result.error == ENOENT || result.error == EACCES) {
    return bp::unsupported(
        "%s: there is no C compiler '%s' on this machine (%s); install one as `cc`, or name one in "
        "BACKPLANE_CC",
        name, cc.c_str(), std::strerror(result.error));
  }
  if (result.error != 0)
    return bp::internal("%s: cannot run '%s': %s", name, cc.c_str(), std::strerror(result.error));
  if (result.hung)
    return bp::internal("%s: '%s' did not come to an end and was killed", name, cc.c_str());
  // Longer than what bp::error takes.
  const std::string text = cc + " refused " + name + ":\n" + result.output;
  return bp::Status::from_host(bp::host().set_error(&bp::host(), BP_INTERNAL, text.c_str()));
}

}  // namespace

std::string compiler_identity() {
  const std::string cc = program();
  utsname machine{};
  uname(&machine);
  const ChildResult result = run_child({cc, "--version"}, seconds(5));
  const std::string version =
      result.succeeded() ? result.output.substr(0, result.output.find('\n')) : "no version";
  return cc + ", " + version + ", " + machine.sysname + " " + machine.machine;
}

bp::Result<std::vector<char>> compile_c(const bp_source& source) {
  const PrivateFolder folder;
  const std::string from = folder.file("kernel.c"), to = folder.file("kernel.so");
  write_file(from, source.code, source.bytes);
  const ChildResult result = run_child(command(from, to), time_limit());
  std::ifstream stream(to, std::ios::binary);
  if (result.error != 0 || result.hung || result.exit_code > 0 || !stream)
    return why_not(result, source.name);
  return std::vector<char>(std::istreambuf_iterator<char>(stream), {});
}

PrivateFolder::PrivateFolder() : path_(variable("TMPDIR", "/tmp") + "/backplane-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr)
    throw bp::Failure{bp::internal("no temporary folder %s: %s; set TMPDIR to a folder with room",
                                   path_.c_str(), std::strerror(errno))};
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, const void* bytes, uint64_t size) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  if (stream.close(); !stream)
    throw bp::Failure{bp::internal("cannot write %llu bytes to %s: %s",
                                   static_cast<unsigned long long>(size), path.c_str(),
                                   std::strerror(errno))};
}

}  // namespace reference
