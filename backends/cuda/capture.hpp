// The extension bp.capture: work as a CUDA graph.
#pragma once

#include <memory>
#include <mutex>

#include <backplane/extensions/capture.h>

#include "cuda.hpp"

namespace cuda_backend {

class Device;
class Queue;

// What was recorded. Threads: any.
class Graph {
 public:
  // See bp::capture_of.
  static bp::Status begin(Device& device, Queue& queue);
  static bp::Result<std::unique_ptr<Graph>> end(Device& device, Queue& queue, bool keep);

  // Takes the graph. Throws bp::Failure.
  Graph(Device& device, CUgraph recorded);
  // Waits for its last run.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  bp::Status replay(Queue& queue);

 private:
  Device& device_;
  std::mutex mutex_;  // the driver allows one thread at a time
  CUgraphExec executable_ = nullptr;
  CUevent last_run_ = nullptr;
};

extern const bp_capture capture_functions;

}  // namespace cuda_backend
