// backplane-probe LIBRARY: takes a plugin through its first steps in this process, which may crash or
// hang where the application must not. Prints "step NAME" before each step, and at last
//   good | no_device MESSAGE | not_opened DLERROR | refused MESSAGE
// and exits with 0, 1, 2, 3. It links the C library and the check alone, so that it starts in a
// millisecond.
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <backplane/abi.h>
#include <backplane/loading/plugin_check.hpp>

namespace {

// Whoever started us gives up after 5 s; this is for the case that it died meanwhile.
constexpr unsigned own_limit_s = 60;

std::string last_error;

bp_code set_error(const bp_host*, bp_code code, const char* message) {
  last_error = message != nullptr ? message : "";
  return code;
}
bp_code not_here(const bp_host* host) {
  return set_error(host, BP_UNSUPPORTED, "a probing host has no memory and no calls");
}
void log(const bp_host*, uint32_t, const char*) {}

bp_host make_host(const char* plugin_path) {
  bp_host host{};
  host.h = {sizeof(bp_host), BP_TYPE_HOST, nullptr};
  host.abi_min = bp::loading::host_abi_min;
  host.abi_max = bp::loading::host_abi_max;
  host.version = "backplane-probe";
  host.plugin_path = plugin_path;
  host.set_error = set_error;
  host.set_call_error = [](const bp_host* h, bp_code code, uint64_t, const char* message) {
    return set_error(h, code, message);
  };
  host.log = log;
  host.allocate_output = [](const bp_host* h, const bp_call*, uint32_t, uint32_t, const int64_t*) {
    return not_here(h);
  };
  host.workspace = [](const bp_host* h, const bp_call*, uint64_t, uint64_t, bp_region*) {
    return not_here(h);
  };
  host.allocate_host = [](const bp_host* h, uint64_t, uint64_t, void**) { return not_here(h); };
  host.release_host = [](const bp_host*, void*) {};
  host.operator_at = [](const bp_host*, uint32_t) -> const bp_operator* { return nullptr; };
  host.find_operator = [](const bp_host*, const char*) -> const bp_operator* { return nullptr; };
  host.register_kernels = [](const bp_host* h, const bp_kernel* const*, uint32_t) {
    return not_here(h);
  };
  host.num_threads = [](const bp_host*) { return 1u; };
  host.deterministic = [](const bp_host*) { return 0u; };
  host.extension = [](const bp_host*, const char*, uint32_t) -> const bp_header* {
    return nullptr;
  };
  return host;
}

// A pipe of our own: the library may write what it likes to the standard output.
int report_to = -1;

void print(std::string line) {
  constexpr size_t max_length = 4096;  // a plugin's message may have any
  if (line.size() > max_length) line.resize(max_length);
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  line += '\n';
  if (write(report_to, line.data(), line.size()) < 0) _exit(4);
}

// _exit: destructors and handlers of the library are none of a report's business.
[[noreturn]] void finish(int exit_code, const std::string& line) {
  print(line);
  _exit(exit_code);
}

void prepare_process() {
  report_to = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(own_limit_s);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // A sanitizer's handler would turn a crash into an exit.
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
    signal(number, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] != '/') {
    std::fputs("usage: backplane-probe /path/to/libplugin.so\n", stderr);
    return 4;
  }
  const char* path = argv[1];
  prepare_process();

  print("step open");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) finish(2, std::string("not_opened ") + dlerror());
  void* symbol = dlsym(library, "bp_get_plugin_v1");
  if (symbol == nullptr)
    finish(3, std::string("refused ") + path + ": does not export bp_get_plugin_v1");

  print("step negotiate");
  const bp_host host = make_host(path);
  const bp_plugin* plugin = nullptr;
  std::string message;
  const auto said = [](const bp_host&) { return std::string_view(last_error); };
  if (bp::loading::negotiate(reinterpret_cast<bp_get_plugin_fn>(symbol), host, path, said, &plugin,
                             &message) != BP_OK)
    finish(3, "refused " + message);

  print("step probe");
  const bp_code code = plugin->probe != nullptr ? plugin->probe(plugin->self) : BP_OK;
  const std::string name = plugin->name;
  const std::string why = last_error.empty() ? "no reason given" : last_error;
  if (code == BP_UNSUPPORTED) finish(1, "no_device " + name + ": no device here: " + why);
  if (code != BP_OK)
    finish(3, "refused " + name + ": probe returned code " + std::to_string(code) + ": " + why);

  print("step close");
  dlclose(library);
  finish(0, "good");
}
