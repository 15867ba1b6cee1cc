// Another program, run to its end or to a limit, whatever it does.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace reference {

struct ChildResult {
  int error = 0;       // errno if it could not be started
  bool hung = false;   // was killed at the limit
  int exit_code = -1;  // -1: it did not exit by itself
  std::string output;  // of its standard output and error, the first 16 KiB

  bool succeeded() const { return error == 0 && !hung && exit_code == 0; }
};

// Found in PATH when `arguments[0]` has no slash; no shell sees any of it. Runs in a process group of its
// own, which is killed when its first process has ended. Threads: any.
ChildResult run_child(std::vector<std::string> arguments, std::chrono::milliseconds limit);

}  // namespace reference
