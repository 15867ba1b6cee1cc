// One case on one worker: its scripts go there, what comes back is judged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runner/journal.hpp"
#include "runner/worker_process.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

using TrialMaker = std::function<std::unique_ptr<Trial>(const Case&, const Subject&)>;

// All that it takes to run any case.
struct Bench {
  Subject subject;
  WorkerPlan plan;
  TrialMaker make_trial;       // of tests; empty: make_trial of trials/
  double patience = 1;         // times each trial's own limit of time
  bool keeps_answers = false;  // for a person, also of what died
  int renew_after = 500;  // cases, then a worker is replaced: what may be an accomplice is bounded
};

// The workers of one thread: one for each lane, started when needed.
class Workers {
 public:
  explicit Workers(const Bench& bench) : Workers(bench, bench.renew_after) {}
  Workers(const Bench& bench, int renew_after) : bench_(bench), renew_after_(renew_after) {}
  ~Workers();
  WorkerProcess& of_lane(const std::string& lane);
  void drop(const std::string& lane);
  void finish();

 private:
  const Bench& bench_;
  const int renew_after_;
  std::map<std::string, std::unique_ptr<WorkerProcess>> workers_;
};

struct Executed {
  Record record;
  std::string lane;
  std::vector<Case> company;  // what the worker had run before
  std::vector<Json> scripts,
      answers;               // where the bench keeps them; the last answer may have no end
  bool interrupted = false;  // by the plan's `stop`; the record says nothing
  bool died() const {
    return record.verdict.outcome == Outcome::crash || record.verdict.outcome == Outcome::timeout;
  }
};

// Throws StartFailure if no worker comes up, else nothing. `limit_s`: 0 means the trial's own.
Executed execute(const Bench& bench, Workers& workers, const Case& one, double limit_s = 0);
// The same in workers of its own, after the cases `before`; if one of them dies, that is what is returned.
Executed execute_alone(const Bench& bench, const Case& one, double limit_s = 0,
                       const std::vector<Case>& before = {});

}  // namespace bp::conform
