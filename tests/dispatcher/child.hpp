// A disabled test of this very program, run in a process of its own: for what ends or blocks a process, and for
// what depends on where libbackplane lies or on the environment that it starts in.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tools/run_program.hpp"

namespace bp::test {

struct Child {
  int exit_code = -1;  // 124: ended by the limit; 128 + n: died of signal n
  std::string output;
};

// `environment` holds words like "NAME=value"; `test` is "Suite.DISABLED_name".
inline Child run_child(const std::string& test, const std::vector<std::string>& environment = {},
                       int limit_s = 60) {
  const TemporaryFolder folder;
  // A crash ends the child by its signal, with AddressSanitizer as without.
  std::string command = "env BACKPLANE_LOG=debug ASAN_OPTIONS=\"$ASAN_OPTIONS:handle_segv=0\"";
  for (const std::string& assignment : environment) append_quoted(command, assignment);
  append_quoted(command, "timeout");
  append_quoted(command, std::to_string(limit_s));
  append_quoted(command, std::filesystem::canonical("/proc/self/exe").string());
  append_quoted(command, "--gtest_also_run_disabled_tests");
  append_quoted(command, "--gtest_filter=" + test);
  command += " >";
  append_quoted(command, (folder.path() / "out").string());
  command += " 2>&1";
  const int status = std::system(command.c_str());
  Child child;
  child.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  child.output = read_file(folder.path() / "out");
  return child;
}

// The child's own expectations held.
inline void expect_passes(const std::string& test,
                          const std::vector<std::string>& environment = {}) {
  const Child child = run_child(test, environment);
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_NE(child.output.find("[  PASSED  ] 1 test"), std::string::npos) << child.output;
}

}  // namespace bp::test
