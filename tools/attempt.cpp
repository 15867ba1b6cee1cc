// backplane try LIBRARY [INDEX...]: the side of a trial in which the plugin may do what it likes. It says "step FUNCTION"
// before each call of the plugin's start and end, "device INDEX" before each device but those that are given, "error INDEX
// TEXT" and "warning TEXT" for what comes back, "threw FUNCTION (TEXT)", and "loaded", "used" and "unloaded".
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/plugin_steps.hpp>

#include "trial.hpp"

namespace bp::tools {
namespace {

int report_to = -1;  // a pipe of our own: the plugin may write what it likes to the standard output
std::string device;  // that is tried
std::string present;  // function of the plugin

void say(std::string line) {
  constexpr std::size_t max_length = 2048;  // a plugin's message may have any
  if (line.size() > max_length) line.resize(max_length);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  line += '\n';
  if (write(report_to, line.data(), line.size()) < 0) _exit(4);
}

void say_step(const char* function) {
  std::string step = function;
  if (!device.empty()) step += " of " + device;
  // While an exception is on its way, what follows is the core tidying up.
  if (!std::current_exception() && std::uncaught_exceptions() == 0) present = step;
  say("step " + step);
}

void prepare_process() {
  report_to = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // A sanitizer's handler would turn a crash into an exit.
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
    std::signal(number, SIG_DFL);
}

// Runs what calls the plugin; true unless an error came out, which is given to `tell`. Anything else that comes out ends
// the trial: nobody catches it in an application.
template <class Call, class Tell> bool goes_well(Call&& call, Tell&& tell) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    tell(error.what());
    return false;
  } catch (const std::exception& error) {
    say("threw " + present + " (" + error.what() + ")");
  } catch (...) {
    say("threw " + present);
  }
  _exit(refused_exit_code);
}

// Memory, there and back: the first that any application asks for.
void use_memory(Device on) {
  unsigned char sent[64] = {1, 2, 3}, came[64];
  say_step("bp_memory.allocate");
  const Tensor tensor = empty_tensor({64}, u8, on);
  say_step("bp_memory.copy or bp_queue.synchronize");
  copy_from_host_memory(tensor, sent);
  copy_to_host_memory(tensor, came);
}

void try_device(const DeviceRecord& record) {
  device = record.name;
  const std::string index = std::to_string(record.index);
  say("device " + index);
  const bool is_open = goes_well([&] { device_record(record.device); },
                                 [&](const char* text) { say("error " + index + " " + text); });
  if (is_open)
    goes_well([&] { use_memory(record.device); },
              [](const char* text) { say("warning " + device + ": " + text); });
  device.clear();
}

}  // namespace

int attempt(const Options& options) {
  prepare_process();
  observe_plugin_steps(say_step);
  const auto& words = options.arguments;
  Backend* backend = nullptr;
  if (!goes_well([&] { backend = &load_plugin(words.at(0)); }, [](const char*) {}))
    _exit(refused_exit_code);
  say("loaded");
  for (const DeviceRecord* record : backend->devices)
    if (std::find(words.begin() + 1, words.end(), std::to_string(record->index)) == words.end())
      try_device(*record);
  say("used");
  goes_well([&] { unload_plugin(*backend); },
            [](const char* text) { say(std::string("warning ") + text); });
  say("unloaded");
  return 0;  // and the process ends as an application's does
}

}  // namespace bp::tools
