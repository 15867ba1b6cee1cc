// The child's side: a process that makes batches until its parent closes the connection, or is gone.
#pragma once

#include <csignal>
#include <sys/types.h>

#include "loader/message.hpp"

namespace bp::data {

struct WorkerProcess {
  pid_t pid = -1;
  Descriptor connection;  // a stream socket
};

// Forks a worker. It is killed when the calling thread ends: the kernel ties a child to the thread that made it. The parent's
// ends of connections in `others` are closed in it; `signals` is the mask that it begins with. Throws internal.
WorkerProcess start_worker(const std::shared_ptr<const FetchPlan>& plan, int worker,
                           const std::vector<WorkerProcess>& others, const sigset_t& signals);

}  // namespace bp::data
