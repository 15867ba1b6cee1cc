#include "child_program.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <backplane/tensor/error.hpp>

namespace bp::tools {

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_program(const char* command, std::vector<std::string> words, const char* variable,
                const std::string& value) {
  setenv(variable, value.c_str(), 1);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ);
  if (problem != 0)
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: cannot start {}: {}", command, words[0], std::strerror(problem)));
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace bp::tools
