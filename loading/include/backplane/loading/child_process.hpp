// A helper program that is run to its end or to a limit, whatever it does.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <backplane/tensor/api.hpp>

namespace bp::loading {

struct ChildResult {
  std::string problem;  // why it could not be started; empty: it ran
  std::string output;   // the first 64 KiB
  bool hung = false;    // was killed at the limit
  int signal = 0;       // that ended it; 0: it exited
  int exit_code = 0;    // -1: unknown, since the application ignores SIGCHLD
};

enum class ChildOutput { standard, with_errors };
// What the limit is for: the whole, or the time in which nothing is written.
enum class ChildLimit { whole, silence };

// Runs `program`, found in PATH if it has no slash, in a process group of its own, with no other open file
// than its output. No shell sees the arguments. The group is killed when its first process has ended, so
// that nothing stays behind. Threads: any.
BP_API ChildResult run_child(const std::filesystem::path& program,
                             const std::vector<std::string>& arguments,
                             std::chrono::milliseconds limit,
                             ChildOutput kept = ChildOutput::standard,
                             ChildLimit limited = ChildLimit::whole);

// "hung in bp_plugin.init: no answer within 5 s", "crashed in ... (signal 11, Segmentation fault)", or "ended its process in
// ... (exit code 3)", of a child that was to say more. `where` is "in bp_plugin.init" or the like.
BP_API std::string describe_end(const ChildResult& child, const std::string& where,
                                std::chrono::milliseconds limit);

}  // namespace bp::loading
