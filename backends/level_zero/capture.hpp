// The extension bp.capture: work as a regular command list, closed once and run again and again.
#pragma once

#include <memory>
#include <mutex>

#include <backplane/extensions/capture.h>

#include "queue.hpp"

namespace level_zero {

// What was recorded. Threads: any.
class Graph {
 public:
  // See bp::capture_of.
  static bp::Status begin(Device& device, Queue& queue);
  static bp::Result<std::unique_ptr<Graph>> end(Device& device, Queue& queue, bool keep);

  explicit Graph(std::unique_ptr<ReusableList> from) : list_(std::move(from)) {}
  // Waits for its last run.
  ~Graph();

  bp::Status replay(Queue& queue);

 private:
  bp::Status wait_for_last_run();

  std::unique_ptr<ReusableList> list_;
  std::mutex mutex_;
  Mark last_run_;
  const Queue* last_queue_ = nullptr;  // compared only
};

extern const bp_capture capture_functions;

}  // namespace level_zero
