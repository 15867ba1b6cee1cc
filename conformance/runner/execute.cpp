#include "runner/execute.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "worker/scope.hpp"

namespace bp::conform {
namespace {

using Clock = WorkerProcess::Clock;
using Got = WorkerProcess::Got;

// The verdict on a worker that gave no answer.
Verdict judge_silence(Got got, WorkerProcess& worker, double limit_s) {
  Verdict verdict;
  verdict.outcome = got == Got::late ? Outcome::timeout : Outcome::crash;
  bool killed = false;
  const std::string how = worker.end(got == Got::closed ? &killed : nullptr);
  verdict.why = got == Got::late     ? fmt::format("no answer within {:.3g} s", limit_s)
                : got == Got::broken ? "the worker's answer is broken: something else wrote into it"
                : killed             ? "the worker closed its answers and did not end"
                                     : "the worker ended by " + how;
  return verdict;
}

// Whether the device no longer answers: the next case would fail for this one's reason.
bool lost_its_device(const Json& answer) {
  const Json lost = answer.value("/watch/lost"_json_pointer, Json());
  return answer.contains("failed") || (!lost.is_null() && lost != false && lost != "");
}

// One may fail for a reason that passes, such as a device that another worker has just left.
constexpr int most_starts = 3;

struct Session {
  const Bench& bench;
  Workers& workers;
  Executed& out;
  double limit_s;

  bool give_up(Got got, WorkerProcess& worker, double waited_s) {
    out.interrupted = got == Got::interrupted;
    if (!out.interrupted) out.record.verdict = judge_silence(got, worker, waited_s);
    workers.drop(out.lane);
    return false;
  }

  // A worker that answers, or null if interrupted. Its start is neither on the first case's time nor that case's fault.
  WorkerProcess* started_worker() {
    std::string why;
    for (int i = 0; i < most_starts; ++i) {
      WorkerProcess& worker = workers.of_lane(out.lane);
      if (!worker.company.empty()) return &worker;
      worker.post({{"case", ""}, {"poison", 0}, {"steps", Json::array()}});
      Json answer;
      const Got got = worker.next(answer, Clock::now() + patience_at_start);
      if (got == Got::message) return &worker;
      const double waited_s = static_cast<double>(patience_at_start.count());
      if (got == Got::interrupted) return give_up(got, worker, waited_s), nullptr;
      why = judge_silence(got, worker, waited_s).why;
      workers.drop(out.lane);
      if (got == Got::late) break;
    }
    throw StartFailure(
        fmt::format("conform: no worker of the {} lane starts any more: {}; the records are kept, "
                    "and --resume continues once workers start",
                    out.lane, why));
  }

  Json script_of(Trial& trial, int index) {
    Json script = trial.script(index);
    if (!bench.keeps_answers) return script;
    out.scripts.push_back(script);
    script["telling"] = true;
    return script;
  }

  // One script's answer; where the worker dies, what it told before.
  Got next_answer(WorkerProcess& worker, Json& answer) const {
    const auto limit =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
    const auto deadline = Clock::now() + limit;
    Json told = Json::array();
    for (;;) {
      const Got got = worker.next(answer, deadline);
      if (got == Got::message && answer.contains("told")) {
        told.push_back(std::move(answer["told"]));
        continue;
      }
      if (got != Got::message) answer = {{"steps", std::move(told)}};
      return got;
    }
  }

  // False when there is a verdict already.
  bool collect(Trial& trial, std::vector<Json>& answers) {
    const int num_scripts = trial.num_scripts();
    std::vector<Json> first = {script_of(trial, 0)};
    out.lane = worker_lane(out.record.one, first[0]);
    WorkerProcess* const started = started_worker();
    if (!started) return false;
    WorkerProcess& worker = *started;
    out.company = worker.company;
    worker.company.push_back(out.record.one);
    if (limit_s <= 0) limit_s = trial.timeout_seconds() * bench.patience;

    int posted = 0;
    const auto post = [&] {
      worker.post(posted == 0 ? first[0] : script_of(trial, posted)), ++posted;
    };
    while (posted < std::min(2, num_scripts)) post();
    trial.prepare();
    const auto take = [&] {
      Json& answer = answers.emplace_back();
      const Got got = next_answer(worker, answer);
      return got == Got::message || give_up(got, worker, limit_s);
    };
    for (int i = 0; i < num_scripts; ++i) {
      if (!take()) return false;
      if (posted < num_scripts) post();
    }
    if (!trial.asks_again(answers)) return true;
    worker.post(trial.script(num_scripts - 1));
    return take();
  }

  void run() {
    const std::unique_ptr<Trial> trial = bench.make_trial
                                             ? bench.make_trial(out.record.one, bench.subject)
                                             : make_trial(out.record.one, bench.subject);
    std::vector<Json> answers;
    const bool came = collect(*trial, answers);
    if (bench.keeps_answers) out.answers = answers;
    if (!came) return;
    if (std::ranges::any_of(answers, lost_its_device)) workers.drop(out.lane);
    out.record.verdict = trial->judge(answers);
  }
};

}  // namespace

WorkerProcess& Workers::of_lane(const std::string& lane) {
  std::unique_ptr<WorkerProcess>& worker = workers_[lane];
  if (worker != nullptr && static_cast<int>(worker->company.size()) >= renew_after_) {
    worker->finish();
    worker.reset();
  }
  if (worker == nullptr) worker = std::make_unique<WorkerProcess>(bench_.plan, lane);
  return *worker;
}

void Workers::finish() {
  for (auto& [lane, worker] : workers_) worker->finish();
  workers_.clear();
}

Executed execute(const Bench& bench, Workers& workers, const Case& one, double limit_s) {
  Executed out;
  out.record.one = one;
  out.record.name = name_of(one);
  const auto start = Clock::now();
  try {
    Session{bench, workers, out, limit_s}.run();
  } catch (const StartFailure&) {
    throw;
  } catch (const std::exception& problem) {
    // The suite's own fault, or an answer that makes no sense: scripts may still be on their way.
    if (!out.lane.empty()) workers.drop(out.lane);
    out.record.verdict = {};
    fail_with(out.record.verdict, fmt::format("the case could not be judged: {}", problem.what()));
    out.record.verdict.rule = "suite";
  }
  out.record.ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return out;
}

Executed execute_alone(const Bench& bench, const Case& one, double limit_s,
                       const std::vector<Case>& before) {
  Workers workers(bench, static_cast<int>(before.size()) + 2);
  for (const Case& each : before) {
    Executed companion = execute(bench, workers, each, limit_s);
    if (companion.interrupted || companion.died()) return companion;
  }
  Executed out = execute(bench, workers, one, limit_s);
  if (!out.died() && !out.interrupted) workers.finish();
  return out;
}

}  // namespace bp::conform
