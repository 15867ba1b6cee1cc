// Where an operator runs on a device, found by running its samples there.
#pragma once

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>

namespace bp::tools {

struct Served {
  Rung rung = Rung::none;  // the worst over all samples; none: one of them failed
  DtypeSet dtypes = 0;     // of samples that ran
  std::string error;       // why the first that failed did
};

// Counts the calls of this process anew, so that nothing else may be running.
Served run_samples(Operator& op, Device device);

}  // namespace bp::tools
