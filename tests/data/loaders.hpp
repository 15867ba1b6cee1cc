// Loaders with each kind of workers.
#pragma once

#include <ostream>
#include <set>
#include <thread>

#include "data/datasets.hpp"

namespace bp::test {

struct Workers {
  int count;
  WorkerKind kind;
  friend std::ostream& operator<<(std::ostream& out, const Workers& workers) {
    return out << workers.count << (workers.kind == WorkerKind::thread ? " threads" : " processes");
  }
};

inline DataLoaderOptions with(DataLoaderOptions options, const Workers& workers) {
  options.num_workers = workers.count;
  options.worker_kind = workers.kind;
  return options;
}

inline std::vector<Workers> all_workers() {
  return {{0, WorkerKind::thread},
          {1, WorkerKind::thread},
          {3, WorkerKind::thread},
          {1, WorkerKind::process},
          {3, WorkerKind::process}};
}

}  // namespace bp::test
