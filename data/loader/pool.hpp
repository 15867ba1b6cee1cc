// Workers of a loader, of one kind or the other, behind one face.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <sys/types.h>

#include "loader/fetch.hpp"

namespace bp::data {

using Clock = std::chrono::steady_clock;

// Belongs to the thread that iterates. Destruction ends the workers, but for a process that was forked since they began.
class Pool {
 public:
  virtual ~Pool() = default;
  // False once a worker is lost, and in a process forked since; such a pool can't serve another epoch.
  virtual bool is_whole() const { return true; }
  // Forgets what was submitted for other generations.
  virtual void begin(std::uint64_t generation) = 0;
  virtual void submit(int worker, Task task) = 0;
  // The result of a task that was submitted to `worker`. Nothing: it did not come in time; ask again. Throws peer_lost.
  virtual std::optional<Fetched> wait(int worker, std::int64_t batch,
                                      std::optional<Clock::time_point> until) = 0;
};

// Throws bad_argument in another process than the one that began the workers.
void check_process(pid_t owner);

// The caller itself, at the moment of waiting.
std::unique_ptr<Pool> make_inline_pool(std::shared_ptr<const FetchPlan> plan);
std::unique_ptr<Pool> make_thread_pool(std::shared_ptr<const FetchPlan> plan);
std::unique_ptr<Pool> make_process_pool(std::shared_ptr<const FetchPlan> plan);

}  // namespace bp::data
