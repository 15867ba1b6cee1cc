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

}  // namespace bp::test
