#include "loader/worker_process.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

// Nothing: the parent is gone.
bool receive_all(int connection, char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(connection, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// The descriptor goes with the first bytes.
bool send_all(int connection, const Frame& frame) {
  std::size_t sent = 0;
  while (sent < frame.bytes.size()) {
    iovec part{const_cast<char*>(frame.bytes.data()) + sent, frame.bytes.size() - sent};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (sent == 0 && frame.memory) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = frame.memory.get();
      std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    const ssize_t count = sendmsg(connection, &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

Frame answer_to(const Task& task, Fetcher& fetcher) {
  Fetched result = fetcher.run(task);
  try {
    return framed_result(result);
  } catch (const Error& error) {  // what was made can't be sent
    result.value = {};
    result.failure = Failure{error.error_class(), -1, false, "bp::Error", error.what()};
    return framed_result(result);
  }
}

void serve(int connection, const std::shared_ptr<const FetchPlan>& plan, int worker) {
  set_num_threads(1);
  const DeviceGuard on_host(host_device());
  Fetcher fetcher(plan, worker);
  std::string body;
  for (;;) {
    std::uint64_t length = 0;
    if (!receive_all(connection, reinterpret_cast<char*>(&length), sizeof length)) return;
    if (length > most_frame_bytes) return;
    body.resize(length);
    if (!receive_all(connection, body.data(), body.size())) return;
    if (!send_all(connection, answer_to(task_of(body), fetcher))) return;
  }
}

// Ends without a word to what the parent has made: neither its buffers nor its exit handlers are the child's.
[[noreturn]] void run_child(Descriptor connection, pid_t parent,
                            const std::shared_ptr<const FetchPlan>& plan, int worker,
                            const std::vector<WorkerProcess>& others, const sigset_t& signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it went before it could tell
  prctl(PR_SET_NAME, fmt::format("bp-data-{}", worker).c_str());
  for (const WorkerProcess& other : others) close(other.connection.get());
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  int code = 0;
  try {
    serve(connection.get(), plan, worker);
  } catch (...) {
    code = 1;
  }
  _exit(code);
}

// A worker of one loader must not inherit the child's end of another's: it would keep the connection of a dead worker open.
std::mutex& one_fork_at_a_time() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

}  // namespace

WorkerProcess start_worker(const std::shared_ptr<const FetchPlan>& plan, int worker,
                           const std::vector<WorkerProcess>& others, const sigset_t& signals) {
  const std::lock_guard lock(one_fork_at_a_time());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw_error(ErrorClass::internal, fmt::format("DataLoader: no connection for worker {}: {}",
                                                  worker, std::strerror(errno)));
  Descriptor ours(ends[0]), theirs(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    throw_error(ErrorClass::internal, fmt::format("DataLoader: can't fork worker {}: {}; use fewer",
                                                  worker, std::strerror(errno)));
  if (pid == 0) {
    ours.reset();
    run_child(std::move(theirs), parent, plan, worker, others, signals);
  }
  return {pid, std::move(ours)};
}

}  // namespace bp::data
