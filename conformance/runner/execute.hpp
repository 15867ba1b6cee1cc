// A worker as its parent sees it: a process that runs scripts until it is told to end, dies, or is killed. And one case on one
// worker: its scripts go there, what comes back is judged.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cases/case.hpp"
#include "cases/subject.hpp"
#include "protocol/script.hpp"
#include "runner/journal.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

// How workers are started.
struct WorkerPlan {
  std::string executable;  // empty: this program
  std::string device, plugin;
  std::vector<std::string> environment;  // NAME=VALUE, besides that of this process
  int journal = -1;                      // to which workers append; -1: none
  bool debugger = false;                 // under gdb, with this terminal
  const std::atomic<bool>* stop = nullptr;
};

// A worker that does not come up is not a case's fault: the run ends here, and can be resumed where workers start again.
struct StartFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// With pipes for frames (protocol/script.hpp), a limit of time, and never a deadlock when both sides have much to say.
class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Got : std::uint8_t {
    message,
    closed,       // the worker is gone
    late,         // nothing came until the deadline
    broken,       // what came is not a message
    interrupted,  // the plan's `stop` was set
  };

  // Throws StartFailure if the process cannot be started. `lane`: see worker/worker.hpp.
  WorkerProcess(const WorkerPlan& plan, const std::string& lane);
  // Kills a worker that has not ended.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends what the pipe takes now and keeps the rest for `next`.
  void post(const Json& message);
  // Throws nothing. What has arrived already is taken even after the deadline.
  Got next(Json& out, Clock::time_point deadline);
  // Kills it if it still runs, and says how it ended, with the last that it wrote to its standard error:
  // "signal 11 (Segmentation fault)", "exit code 3"; `killed` if it was we.
  std::string end(bool* killed = nullptr);
  // Lets it end by itself, for a moment, so that the plugin's own end runs; kills it after that. How it ended.
  std::string finish();

  std::vector<Case> company;  // the cases that it has run

 private:
  void close_requests();
  void flush();
  bool fill();  // false: the end of the stream
  bool take(Json& out, bool& broken);
  std::string last_words() const;

  const std::atomic<bool>* stop_;
  pid_t pid_ = -1;
  int errors_ = -1;  // a file in memory: the worker's standard error
  int to_ = -1, from_ = -1;
  std::string outgoing_, incoming_;
  std::size_t sent_ = 0;
};

// A driver's first start can be slow: until a fresh worker has answered its first request.
inline constexpr std::chrono::seconds patience_at_start{120};

// What a fresh worker says of the device. Throws a sentence if it cannot be opened.
Subject describe_subject(const WorkerPlan& plan);

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
  WorkerProcess& of_lane(const std::string& lane);
  void drop(const std::string& lane) { workers_.erase(lane); }
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
