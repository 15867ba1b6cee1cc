// Work that is shared among processes, so that a crash costs one piece of it, and what is slow and locks its process
// (a device's compiler) runs more than once at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bp::tools {

// What the work sees, in its process.
class Worker {
 public:
  Worker(std::atomic<std::size_t>& next, std::FILE* answers) : next_(next), answers_(answers) {}

  // The number of the next piece, counted over all processes.
  std::size_t take();
  // To the process that waits.
  void answer(const nlohmann::ordered_json& answer);

 private:
  std::atomic<std::size_t>& next_;
  std::FILE* answers_;
};

// Calls `work` in some processes and returns all their answers. An exception ends a process with the answer
// {"failed": TEXT}. One that crashes with the piece N in hand is {"crashed": N, "end": "signal S"}, and another takes its
// place. Before other threads run and before any plugin is loaded.
std::vector<nlohmann::ordered_json> run_in_workers(const std::function<void(Worker&)>& work);

}  // namespace bp::tools
