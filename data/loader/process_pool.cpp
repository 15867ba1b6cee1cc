#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/tensor/check.hpp>

#include "loader/pinned.hpp"
#include "loader/pool.hpp"
#include "loader/worker_process.hpp"

namespace bp::data {
namespace {

using namespace std::chrono_literals;

// How long workers may take to end by themselves once the connection is closed, before they are killed.
constexpr auto grace = 200ms;
// How often deaths are looked for that no connection tells of, as when someone else's child holds the other end.
constexpr auto look_interval = 100ms;

// One worker as the parent sees it.
struct Peer {
  WorkerProcess process;
  std::string to_send;
  std::size_t sent = 0;  // of to_send
  std::string received;
  std::deque<Descriptor> descriptors;
  std::map<std::int64_t, Task> outstanding;
  bool is_gone = false;
  bool is_reaped = false;
  int status = 0;
};

// Starts the workers, and stays until they are to end: a worker dies with the thread that forked it.
class Keeper {
 public:
  explicit Keeper(const std::shared_ptr<const FetchPlan>& plan) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals stay with the application's threads
    try {
      thread_ = std::thread([this, &plan, before] { run(plan, before); });
    } catch (const std::system_error& error) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw_error(
          ErrorClass::out_of_memory,
          fmt::format("DataLoader: cannot start the thread that starts workers: {}", error.what()));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return started_; });
  }
  ~Keeper() { end(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  std::vector<WorkerProcess>& workers() { return workers_; }
  std::exception_ptr error() const { return error_; }
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void run(const std::shared_ptr<const FetchPlan>& plan, const sigset_t& signals) {
    try {
      host_device();  // so that not each worker opens its plugin
      for (int worker = 0; worker < plan->options.num_workers; ++worker)
        workers_.push_back(start_worker(plan, worker, signals));
    } catch (...) {
      error_ = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    started_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return ended_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false, ended_ = false;
  std::vector<WorkerProcess> workers_;
  std::exception_ptr error_;
  std::thread thread_;
};

class ProcessPool : public Pool {
 public:
  explicit ProcessPool(std::shared_ptr<const FetchPlan> plan)
      : plan_(std::move(plan)), keeper_(std::make_unique<Keeper>(plan_)) {
    for (WorkerProcess& each : keeper_->workers()) {
      Peer& peer = peers_.emplace_back();
      peer.process = std::move(each);
      fcntl(peer.process.connection.get(), F_SETFL, O_NONBLOCK);
    }
    if (const std::exception_ptr error = keeper_->error()) {
      stop();
      std::rethrow_exception(error);
    }
  }
  ~ProcessPool() override { stop(); }

  bool is_whole() const override {
    return getpid() == owner_ && std::none_of(peers_.begin(), peers_.end(),
                                              [](const Peer& peer) { return peer.is_gone; });
  }

  void begin(std::uint64_t generation) override {
    generation_ = generation;
    results_.clear();
    for (Peer& peer : peers_) peer.outstanding.clear();
  }

  void submit(int worker, Task task) override {
    check_process(owner_);
    Peer& peer = peers_[static_cast<std::size_t>(worker)];
    peer.to_send += framed_task(task);
    peer.outstanding[task.batch] = std::move(task);
    flush(peer);
  }

  std::optional<Fetched> wait(int worker, std::int64_t batch,
                              std::optional<Clock::time_point> until) override {
    check_process(owner_);
    Peer& peer = peers_[static_cast<std::size_t>(worker)];
    for (;;) {
      if (const auto found = results_.find(batch); found != results_.end()) {
        Fetched result = std::move(found->second);
        results_.erase(found);
        pin_fetched(result, plan_->options);
        return result;
      }
      if (peer.is_gone) throw_lost(worker, batch);
      if (until && Clock::now() >= *until) return std::nullopt;
      exchange(until);
    }
  }

 private:
  // Sends and receives what can be, and waits a little for that.
  void exchange(std::optional<Clock::time_point> until) {
    std::vector<pollfd> polled;
    for (const Peer& peer : peers_)
      polled.push_back({peer.is_gone ? -1 : peer.process.connection.get(),
                        static_cast<short>(POLLIN | (peer.to_send.empty() ? 0 : POLLOUT)), 0});
    auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(look_interval);
    if (until)
      patience = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()),
                            0ms, patience);
    const int num_ready = poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      Peer& peer = peers_[i];
      if (peer.is_gone) continue;
      if (polled[i].revents & POLLOUT) flush(peer);
      if (num_ready <= 0) look_for_death(peer);
      if (num_ready <= 0 || (polled[i].revents & (POLLIN | POLLHUP | POLLERR))) receive(peer);
    }
  }

  void flush(Peer& peer) {
    while (peer.sent < peer.to_send.size()) {
      const ssize_t sent = send(peer.process.connection.get(), peer.to_send.data() + peer.sent,
                                peer.to_send.size() - peer.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return;  // full; or gone, which receive will see
      peer.sent += static_cast<std::size_t>(sent);
    }
    peer.to_send.clear();
    peer.sent = 0;
  }

  // A worker that died may have sent batches before; they count.
  void look_for_death(Peer& peer) {
    if (peer.is_reaped) {
      receive(peer);
      peer.is_gone = true;
    } else {
      peer.is_reaped = waitpid(peer.process.pid, &peer.status, WNOHANG) != 0;
    }
  }

  void receive(Peer& peer) {
    try {
      receive_frames(peer);
    } catch (...) {
      peer.is_gone = true;  // what it says from here on can't be understood
      throw;
    }
  }

  void receive_frames(Peer& peer) {
    char buffer[64 * 1024];
    for (;;) {
      iovec part{buffer, sizeof buffer};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int)) * 4];
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t got = recvmsg(peer.process.connection.get(), &message, MSG_CMSG_CLOEXEC);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) {
        peer.is_gone = true;
        break;
      }
      take_descriptors(message, peer);
      peer.received.append(buffer, static_cast<std::size_t>(got));
      // Frames are taken apart as they come, so that their descriptors do not pile up.
      take_frames(peer);
    }
  }

  static void take_descriptors(msghdr& message, Peer& peer) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        peer.descriptors.emplace_back(fd);
      }
    }
  }

  void take_frames(Peer& peer) {
    std::string_view rest = peer.received;
    while (rest.size() >= frame_header_bytes) {
      std::uint64_t length = 0;
      std::memcpy(&length, rest.data(), sizeof length);
      if (length == 0 || length > most_frame_bytes) {
        peer.is_gone = true;
        break;
      }
      if (rest.size() - frame_header_bytes < length) break;
      take_result(peer, rest.substr(frame_header_bytes, length));
      rest.remove_prefix(frame_header_bytes + length);
    }
    peer.received.erase(0, peer.received.size() - rest.size());
  }

  // A frame's memory is the one that it names, since one before may have been lost on its way.
  void take_result(Peer& peer, std::string_view body) {
    Descriptor memory;
    if (const auto number = memory_of(body)) {
      const auto found =
          std::find_if(peer.descriptors.begin(), peer.descriptors.end(),
                       [&](const Descriptor& each) { return number_of(each) == *number; });
      if (found != peer.descriptors.end()) {
        memory = std::move(*found);
        peer.descriptors.erase(found);
      }
    }
    Fetched result = result_of(body, memory);
    if (result.generation != generation_) return;
    peer.outstanding.erase(result.batch);
    results_.insert_or_assign(result.batch, std::move(result));
  }

  [[noreturn]] void throw_lost(int worker, std::int64_t batch) {
    Peer& peer = peers_[static_cast<std::size_t>(worker)];
    reap(peer, Clock::now() + 1s);
    std::string how = "closed its connection";
    if (WIFSIGNALED(peer.status))
      how = fmt::format("was killed by signal {} ({})", WTERMSIG(peer.status),
                        strsignal(WTERMSIG(peer.status)));
    else if (WIFEXITED(peer.status))
      how = fmt::format("ended with code {}", WEXITSTATUS(peer.status));
    std::string what;
    const auto task = peer.outstanding.find(batch);
    if (task != peer.outstanding.end() && !task->second.indices.empty())
      what = fmt::format(", from sample {} on", task->second.indices[0]);
    throw_error(ErrorClass::peer_lost,
                fmt::format("DataLoader: worker {} (pid {}) {} while batch {}{} was due; start a "
                            "new epoch, or continue this one from its state_dict",
                            worker, peer.process.pid, how, batch, what));
  }

  // Whoever does not end by then is killed.
  static void reap(Peer& peer, Clock::time_point until) {
    while (!peer.is_reaped) {
      const pid_t ended = waitpid(peer.process.pid, &peer.status, WNOHANG);
      if (ended == peer.process.pid || (ended < 0 && errno != EINTR)) {
        peer.is_reaped = true;
      } else if (Clock::now() >= until) {
        kill(peer.process.pid, SIGKILL);
        while (waitpid(peer.process.pid, &peer.status, 0) < 0 && errno == EINTR) {
        }
        peer.is_reaped = true;
      } else {
        std::this_thread::sleep_for(500us);
      }
    }
  }

  void stop() {
    const bool is_ours = getpid() == owner_;
    for (Peer& peer : peers_) {
      if (is_ours) peer.process.connection.shut_down();
      peer.process.connection.close();
    }
    if (!is_ours) {
      // This is a process forked from the workers' parent: they are not its children, and the thread is not in it.
      static_cast<void>(keeper_.release());
      return;
    }
    const auto until = Clock::now() + grace;
    for (Peer& peer : peers_) reap(peer, until);
    keeper_->end();
  }

  std::shared_ptr<const FetchPlan> plan_;
  const pid_t owner_ = getpid();
  std::unique_ptr<Keeper> keeper_;
  std::deque<Peer> peers_;
  std::map<std::int64_t, Fetched> results_;
  std::uint64_t generation_ = 0;
};

}  // namespace

std::unique_ptr<Pool> make_process_pool(std::shared_ptr<const FetchPlan> plan) {
  return std::make_unique<ProcessPool>(std::move(plan));
}

}  // namespace bp::data
