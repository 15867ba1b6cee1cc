// Runs a helper program until it ends or reaches a limit, whatever it does.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <backplane/tensor/api.hpp>

namespace bp::loading {

struct ChildResult {
  std::string problem;  // why it could not be started; empty if it ran
  std::string output;   // the first 64 KiB
  bool hung = false;    // it was killed at the limit
  int signal = 0;       // the signal that ended it; 0: it exited
  int exit_code = 0;    // -1: unknown, since the application ignores SIGCHLD
};

enum class ChildOutput { standard, with_errors };
// What the limit applies to: the whole run, or the time without output.
enum class ChildLimit { whole, silence };

// Runs `program` (found in PATH if it has no slash) in a process group of its own, with no open files but its output.
// No shell interprets the arguments. When the first process of the group ends, the group is killed, so that nothing
// stays behind. Threads: any.
BP_API ChildResult run_child(const std::filesystem::path& program,
                             const std::vector<std::string>& arguments,
                             std::chrono::milliseconds limit,
                             ChildOutput kept = ChildOutput::standard,
                             ChildLimit limited = ChildLimit::whole);

// Describes the end of a child that should have reported more: "hung in bp_plugin.init: no answer within 5 s", "crashed in
// ... (signal 11, Segmentation fault)", or "ended its process in ... (exit code 3)". `where` is e.g. "in bp_plugin.init".
BP_API std::string describe_end(const ChildResult& child, const std::string& where,
                                std::chrono::milliseconds limit);

}  // namespace bp::loading
