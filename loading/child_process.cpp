#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/loading/child_process.hpp>

namespace bp::loading {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t max_output_bytes = 1 << 16;

// posix_spawn's two settings, released together.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnSettings(int output, ChildOutput kept) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (kept == ChildOutput::with_errors)
      posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    else
      posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

std::string seconds(milliseconds limit) {
  if (limit.count() % 1000 == 0) return std::to_string(limit.count() / 1000) + " s";
  return std::to_string(limit.count()) + " ms";
}

// Reads what is there, and drops what is too much, so that the child does not wait for a reader; false at
// the end of the output.
bool read_some(int pipe, std::string& output) {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t count = ::read(pipe, chunk.data(), chunk.size());
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    const size_t room = max_output_bytes - output.size();
    output.append(chunk.data(), std::min(static_cast<size_t>(count), room));
    if (output.size() == max_output_bytes) return true;
  }
}

// Leaves the process unreaped, so that its group's number cannot be given to others yet.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  const int code = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return code != 0 ? errno != EINTR : info.si_pid == pid;
}

void reap(pid_t pid, ChildResult& result) {
  int status = 0;
  pid_t reaped;
  while ((reaped = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
  }
  if (reaped != pid)
    result.exit_code = -1;
  else if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exit_code = WEXITSTATUS(status);
}

void watch(pid_t pid, int pipe, milliseconds limit, ChildLimit limited, ChildResult& result) {
  auto deadline = steady_clock::now() + limit;
  bool is_open = true;
  // Its output may end before it does, and stay open after, in a process that it started.
  while (!has_ended(pid)) {
    if (steady_clock::now() >= deadline) {
      result.hung = true;
      break;
    }
    pollfd event{pipe, POLLIN, 0};
    if (!is_open)
      std::this_thread::sleep_for(milliseconds(1));
    else if (poll(&event, 1, 10) > 0) {
      is_open = read_some(pipe, result.output);
      if (limited == ChildLimit::silence) deadline = steady_clock::now() + limit;
    }
  }
  kill(-pid, SIGKILL);
  reap(pid, result);
  if (is_open) read_some(pipe, result.output);
}

}  // namespace

ChildResult run_child(const std::filesystem::path& program,
                      const std::vector<std::string>& arguments, milliseconds limit,
                      ChildOutput kept, ChildLimit limited) {
  ChildResult result;
  std::array<int, 2> pipe;
  if (pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    result.problem = std::string("no pipe: ") + std::strerror(errno);
    return result;
  }
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  pid_t pid = 0;
  const int error = [&] {
    const SpawnSettings settings(pipe[1], kept);
    return posix_spawnp(&pid, list[0], &settings.files, &settings.attributes, list.data(), environ);
  }();
  ::close(pipe[1]);
  if (error != 0)
    result.problem = words[0] + ": " + std::strerror(error);
  else
    watch(pid, pipe[0], limit, limited, result);
  ::close(pipe[0]);
  return result;
}

std::string describe_end(const ChildResult& child, const std::string& where, milliseconds limit) {
  if (child.hung) return "hung " + where + ": no answer within " + seconds(limit);
  if (child.signal != 0)
    return "crashed " + where + " (signal " + std::to_string(child.signal) + ", " +
           strsignal(child.signal) + ")";
  return "ended its process " + where + " (exit code " + std::to_string(child.exit_code) + ")";
}

}  // namespace bp::loading
