#include "child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace reference {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t max_output_bytes = 16384;

int spawn(std::vector<std::string>& arguments, int output, pid_t* pid) {
  std::vector<char*> list;
  list.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) list.push_back(argument.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(pid, list[0], &files, &attributes, list.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Reads what is there, past the limit too, so that the child does not wait for a reader; false at the end.
bool read_some(int pipe, std::string& output) {
  std::array<char, 4096> chunk;
  const ssize_t count = ::read(pipe, chunk.data(), chunk.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  const size_t room = max_output_bytes - output.size();
  output.append(chunk.data(), std::min(static_cast<size_t>(count), room));
  return count > 0;
}

// Leaves the process unreaped, so that its group's number cannot be given to others yet.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  const int code = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return code != 0 ? errno != EINTR : info.si_pid == pid;
}

void watch(pid_t pid, int pipe, milliseconds limit, ChildResult& result) {
  const auto deadline = steady_clock::now() + limit;
  bool is_open = true;
  while (!has_ended(pid)) {
    if (steady_clock::now() >= deadline) {
      result.hung = true;
      break;
    }
    pollfd event{pipe, POLLIN, 0};
    if (!is_open)
      std::this_thread::sleep_for(milliseconds(1));
    else if (poll(&event, 1, 10) > 0)
      is_open = read_some(pipe, result.output);
  }
  kill(-pid, SIGKILL);
  int status = 0;
  pid_t reaped;
  while ((reaped = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
  }
  // An application that ignores SIGCHLD has no exit code of its children; its output must do.
  if (reaped == pid && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (is_open) read_some(pipe, result.output);
}

}  // namespace

ChildResult run_child(std::vector<std::string> arguments, milliseconds limit) {
  ChildResult result;
  std::array<int, 2> pipe;
  if (pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    result.error = errno;
    return result;
  }
  pid_t pid = 0;
  result.error = spawn(arguments, pipe[1], &pid);
  ::close(pipe[1]);
  if (result.error == 0) watch(pid, pipe[0], limit, result);
  ::close(pipe[0]);
  return result;
}

}  // namespace reference
