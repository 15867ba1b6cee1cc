// The child's side: a process that makes batches until its parent closes the connection, or is gone.
#pragma once

#include <csignal>
#include <sys/types.h>

#include "loader/message.hpp"

namespace bp::data {

// The parent's end of a stream socket to a worker. Workers that are forked later close it on their side, so that no one else
// holds it open.
class Connection {
 public:
  Connection() = default;
  Connection(Connection&&) noexcept = default;
  Connection& operator=(Connection&&) noexcept = default;
  ~Connection() { close(); }
  int get() const { return end_.get(); }
  // The worker sees its end, even if another process inherited this one.
  void shut_down();
  void close();

 private:
  friend Connection connection_of(Descriptor end);
  Descriptor end_;
  std::uint64_t id_ = 0;
};

struct WorkerProcess {
  pid_t pid = -1;
  Connection connection;
};

// Forks a worker. It is killed when the calling thread ends: the kernel ties a child to the thread that made it. `signals` is
// the mask that it begins with. Its standard input is empty; what it prints is its own. Throws out_of_memory if there is no
// descriptor or process left.
WorkerProcess start_worker(const std::shared_ptr<const FetchPlan>& plan, int worker,
                           const sigset_t& signals);

}  // namespace bp::data
