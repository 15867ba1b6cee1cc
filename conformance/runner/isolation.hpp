// After a failure: is it the case's own, its company's, or chance? What a record finally says.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "runner/execute.hpp"

namespace bp::conform {

// A death is rerun alone three times; if it never comes back, the batch that its worker had run is bisected for the case
// that it takes. What fails without dying is rerun alone once. A pass on a retry is FLAKY.
//
// Many failures of one row and dtype have one reason: after the first few they are believed without a rerun, and after
// a few hangs the limit of time is cut, so that a device that hangs on one dtype costs minutes and not days.
class Isolation {
 public:
  explicit Isolation(const Bench& bench) : bench_(bench) {}

  // The limit of time for a case that has not run yet; 0: the trial's own.
  double limit_of(const Case& one);
  // From what was seen to what is recorded. Threads: any. May be interrupted (see Executed).
  Executed settle(Executed seen);

 private:
  struct History {
    int deaths = 0, failures = 0, hangs = 0;
  };
  bool believed(const Executed& seen);
  void remember(const Executed& seen);
  Executed settle_death(Executed seen);
  Executed settle_failure(Executed seen);
  // The batch of a case that dies only in company: the one case that it takes, "" if the death does not come back.
  std::string find_accomplice(const Executed& seen, bool& interrupted);

  const Bench& bench_;
  std::mutex lock_;
  std::map<std::string, History> histories_;  // by "op[dtype]"; "" is of all
};

}  // namespace bp::conform
