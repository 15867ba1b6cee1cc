#include "loader/worker_process.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <pthread.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/runtime/generator.hpp>
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

// What the dataset has printed is seen before its batch is.
void print_now() {
  std::cout.flush();
  std::clog.flush();
  std::fflush(stdout);
}

Frame answer_to(const Task& task, Fetcher& fetcher) {
  Fetched result = fetcher.run(task);
  print_now();
  try {
    return framed_result(result);
  } catch (const std::exception& error) {  // what was made can't be sent
    const auto* ours = dynamic_cast<const Error*>(&error);
    result.value = {};
    result.failure = Failure{ours ? ours->error_class() : ErrorClass::out_of_memory, -1, false,
                             ours ? "bp::Error" : "std::exception", error.what()};
    return framed_result(result);
  }
}

// Random numbers that are drawn past sample_generator() differ from batch to batch at least, as they would in the parent.
void seed_default_generator(const FetchPlan& plan, const Task& task) {
  const std::uint64_t seed = mix_seed(plan.options.seed, static_cast<std::uint64_t>(task.epoch));
  default_generator(host_device())
      .manual_seed(mix_seed(seed, static_cast<std::uint64_t>(task.batch), 1));
}

void serve(int connection, const std::shared_ptr<const FetchPlan>& plan, int worker) {
  set_num_threads(1);
  const DeviceGuard on_host(host_device());
  Fetcher fetcher(plan, worker);
  std::string body;
  for (;;) {
    std::uint64_t length = 0;
    if (!receive_all(connection, reinterpret_cast<char*>(&length), sizeof length)) return;
    body.resize(length);
    if (!receive_all(connection, body.data(), body.size())) return;
    const Task task = task_of(body);
    seed_default_generator(*plan, task);
    if (!send_all(connection, answer_to(task, fetcher))) return;
  }
}

// What a stream of C++ has buffered for itself, which those that go with C's do not.
struct StreamBuffer : std::streambuf {
  static void empty(std::streambuf* stream) {
    auto* buffer = dynamic_cast<std::filebuf*>(stream);
    if (!buffer) return;
    (buffer->*&StreamBuffer::setp)((buffer->*&StreamBuffer::pbase)(),
                                   (buffer->*&StreamBuffer::epptr)());
    char* end = (buffer->*&StreamBuffer::egptr)();
    (buffer->*&StreamBuffer::setg)((buffer->*&StreamBuffer::eback)(), end, end);
  }
};

// The parent goes on reading its standard input, and prints what it has not printed yet.
void leave_streams_to_parent() {
  for (std::FILE* each : {stdin, stdout, stderr}) __fpurge(each);
  for (std::ios* each : {static_cast<std::ios*>(&std::cin), static_cast<std::ios*>(&std::cout),
                         static_cast<std::ios*>(&std::clog), static_cast<std::ios*>(&std::cerr)})
    StreamBuffer::empty(each->rdbuf());
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) return;  // the program has none
  close(STDIN_FILENO);                           // first: there may be no descriptor left
  static_cast<void>(open("/dev/null", O_RDONLY));
}

// Ends without a word to what the parent has made: neither its buffers nor its exit handlers are the child's.
[[noreturn]] void run_child(Descriptor connection, pid_t parent,
                            const std::shared_ptr<const FetchPlan>& plan, int worker,
                            const sigset_t& signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it went before it could tell
  int code = 0;
  try {
    // Past prctl: a sanitizer keeps names there, behind a lock that another thread may have held at the fork.
    syscall(SYS_prctl, PR_SET_NAME, fmt::format("bp-data-{}", worker).c_str());
    leave_streams_to_parent();
    pthread_sigmask(SIG_SETMASK, &signals, nullptr);
    serve(connection.get(), plan, worker);
  } catch (...) {
    code = 1;
  }
  _exit(code);
}

// The parent's ends of all connections. A worker closes those of others, of its own loader and of any other: it would keep
// the connection of a dead parent or worker open. The lock is held while both ends of a new one are open, by other threads'
// forks too, and is free in a child, which may have loaders of its own.
class ParentEnds {
 public:
  static ParentEnds& all() {
    static ParentEnds& all = *new ParentEnds;
    return all;
  }
  void lock() {
    mutex_.lock();
    is_held_here = true;
  }
  void unlock() {
    is_held_here = false;
    mutex_.unlock();
  }
  std::uint64_t add(int fd) {
    ends_[++last_id_] = fd;
    return last_id_;
  }
  // False: it was closed before, in this process, and its number may be another file's.
  bool remove(std::uint64_t id) { return ends_.erase(id) > 0; }
  void close_in_child() {
    for (const auto& [id, fd] : ends_) close(fd);
    ends_.clear();
  }

 private:
  ParentEnds() {
    pthread_atfork(
        [] {
          if (!is_held_here) all().mutex_.lock();
        },
        after_fork, after_fork);
  }
  static void after_fork() {
    if (!is_held_here) all().mutex_.unlock();
  }

  static thread_local bool is_held_here;
  std::mutex mutex_;
  std::map<std::uint64_t, int> ends_;
  std::uint64_t last_id_ = 0;
};
thread_local bool ParentEnds::is_held_here = false;

[[noreturn]] void throw_not_started(int worker, const char* what) {
  const int code = errno;
  const char* hint = code == EMFILE || code == ENFILE
                         ? "raise the limit of open files (ulimit -n), or use fewer workers"
                         : "use fewer workers";
  throw_error(ErrorClass::out_of_memory, fmt::format("DataLoader: no {} for worker {}: {}; {}",
                                                     what, worker, std::strerror(code), hint));
}

// Not where a program that has closed its standard output would print to.
Descriptor above_streams(int fd) {
  Descriptor end(fd);
  return fd > STDERR_FILENO ? std::move(end)
                            : Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

// The lock of all ends is held.
Connection connection_of(Descriptor end) {
  Connection made;
  made.id_ = ParentEnds::all().add(end.get());
  made.end_ = std::move(end);
  return made;
}

void Connection::shut_down() {
  if (end_) shutdown(end_.get(), SHUT_RDWR);
}

void Connection::close() {
  if (!end_) return;
  const std::lock_guard lock(ParentEnds::all());
  if (ParentEnds::all().remove(id_)) end_.reset();
  end_.release();
}

WorkerProcess start_worker(const std::shared_ptr<const FetchPlan>& plan, int worker,
                           const sigset_t& signals) {
  std::unique_lock lock(ParentEnds::all());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw_not_started(worker, "connection");
  Descriptor ours = above_streams(ends[0]), theirs = above_streams(ends[1]);
  if (!ours || !theirs) throw_not_started(worker, "connection");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw_not_started(worker, "process");
  if (pid == 0) {
    ours.reset();
    ParentEnds::all().close_in_child();
    lock.unlock();
    run_child(std::move(theirs), parent, plan, worker, signals);
  }
  return {pid, connection_of(std::move(ours))};
}

}  // namespace bp::data
