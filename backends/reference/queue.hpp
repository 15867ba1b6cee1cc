// Streams and events. A stream is a thread that does its work in order; an event is a place in that order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <sys/types.h>
#include <thread>

#include <backplane/plugin.hpp>

namespace reference {

// How a piece of work ended; the text must be a literal.
struct Outcome {
  bp_code code = BP_OK;
  const char* text = nullptr;
};

using Work = std::function<Outcome()>;

// Threads: any, for every function but the destructor.
class Queue {
 public:
  Queue();
  // Drops what has not begun, unless that is to be done for certain.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Returns at once; the work is done later, on the queue's own thread. BP_STREAM_LOST once a piece of work has said so.
  // `call_number`: of the call that it is given with, for an error.
  bp::Status submit(Work work, uint64_t call_number = 0);
  // The same for work that somebody waits for: it is done even if the queue goes first.
  bp::Status submit_for_certain(Work work);

  // The first error of the work done, once.
  bp::Status synchronize();
  bp::Status query();

  void hold();
  void release();
  uint64_t pending();

 private:
  bp::Status check_process() const;
  bp::Status report(std::unique_lock<std::mutex>& lock);
  void run();

  std::mutex mutex_;
  std::condition_variable wake_, progress_;
  struct Given {
    Work work;
    uint64_t call_number;
    bool is_certain = false;
  };
  bp::Status submit(Given given);
  std::deque<Given> waiting_;
  uint64_t given_ = 0, done_ = 0;
  std::thread thread_;  // begins with the first work
  Outcome failure_;
  uint64_t failed_call_ = 0;
  bool held_ = false, stop_ = false;
  bool lost_ =
      false;  // by a piece of work: the rest is dropped, unless it is certain, and nothing is taken
  pid_t process_;
};

// Threads: any, for every function. What waits for a recording goes on when it is reached, whatever becomes of the event:
// it may be recorded again, or go.
class Event {
 public:
  // The place after all work that `queue` has now.
  bp::Status record(Queue& queue);
  // Later work of `queue` waits for the place recorded last.
  bp::Status make_wait(Queue& queue);
  bp::Status query();
  bp::Status synchronize();
  // When the place was reached, on the host's steady clock; -1 if it was not.
  double reached_ns();

 private:
  struct Recording;
  std::shared_ptr<Recording> last();

  std::mutex mutex_;
  std::shared_ptr<Recording> last_;  // null: never recorded
};

}  // namespace reference
