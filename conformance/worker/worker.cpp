#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <set>
#include <thread>
#include <unistd.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/tensor/error.hpp>

#include "worker/scope.hpp"

namespace bp::conform {
namespace {

class Worker {
 public:
  explicit Worker(const WorkerOptions& options) : options_(options) {}

  // `tell`: called with each step's result as soon as it is there.
  Json answer(const Json& request, const std::function<void(const Json&)>& tell) {
    Json reply = {{"case", request.value("case", std::string())}};
    try {
      open();
    } catch (const Error& error) {
      reply["failed"] = error.what();
      return reply;
    }
    const std::uint64_t place = lane_->staging_place();
    const Counters before = lane_->counters();
    Ran ran = run(request, tell);
    const Counters after = lane_->counters();
    reply["steps"] = ran.steps;
    if (ran.varies) reply["varies"] = true;
    // What the answer itself takes is not a leak: a copy takes as much.
    Counters settled = after;
    settled.heap -= process_counters().heap - after.heap;
    Json watch = ran.watch.json();
    if (Json leaks = find_leaks(request, before, settled, place); !leaks.empty())
      watch["leaks"] = std::move(leaks);
    reply["watch"] = std::move(watch);
    return reply;
  }

 private:
  struct Ran {
    Json steps = Json::array();
    Watch watch;
    bool varies = false;
  };

  void open() {
    if (lane_) return;
    ensure_operators();
    const auto open_lane = options_.lane == "core"   ? open_core_lane
                           : options_.lane == "bare" ? open_bare_lane
                                                     : open_direct_lane;
    lane_ = open_lane(options_.device, options_.plugin);
  }

  // Steps that make what calls read, and steps that call.
  inline static const std::set<std::string> preparing = {"allocate", "write", "poison", "tensor"},
                                            computing = {"call", "row", "backward", "repeat"};

  Ran run(const Json& request, const std::function<void(const Json& result)>& tell = {}) {
    const auto poison = static_cast<std::uint8_t>(request.value("poison", 0xA5));
    Ran ran;
    bool failed = false;
    {
      const std::unique_ptr<Scope> scope = lane_->scope(poison);
      // Rows that draw give the same each time that the script is run.
      if (options_.lane == "core" && request.contains("seed"))
        scope->step({{"do", "host"}, {"seed", request["seed"]}});
      std::string unprepared;  // why there is memory that nobody wrote
      for (const Json& step : request.at("steps")) {
        Json result;
        const std::string what = step.at("do");
        const bool computes = computing.contains(what);
        const std::uint64_t varying_before = lane_->varying_calls();
        try {
          result = unprepared.empty() || !computes
                       ? one_step(*scope, step, poison, ran.watch)
                       : Json{{"code", BP_INTERNAL}, {"message", "not called: " + unprepared}};
        } catch (const Error& error) {
          result = failure_json(error);
        } catch (const Json::exception& error) {
          result = {{"code", BP_BAD_ARGUMENT}, {"message", std::string("script: ") + error.what()}};
        }
        result.emplace("code", BP_OK);
        // A copy that reads a result excuses nothing.
        if (computes && lane_->varying_calls() != varying_before) ran.varies = true;
        const bool good = result["code"] == BP_OK;
        failed = failed || !good;
        if (!good && unprepared.empty() && preparing.contains(what))
          unprepared = fmt::format("step {} ({}) failed: {}", ran.steps.size(), what,
                                   result.value("message", std::string()));
        if (tell) tell(result);
        ran.steps.push_back(std::move(result));
      }
      try {
        scope->finish();
      } catch (const Error& error) {
        scope->watch.set_lost(error.what());
      }
      ran.watch.merge(scope->watch);
    }
    lane_->reset();
    if (failed || ran.watch.lost()) see_if_alive(ran.watch);
    return ran;
  }

  Json one_step(Scope& scope, const Json& step, std::uint8_t poison, Watch& watch) {
    const std::string& what = step.at("do").get_ref<const std::string&>();
    if (what == "describe") return {{"code", BP_OK}, {"subject", lane_->describe()}};
    if (what == "counters") return {{"code", BP_OK}, {"counters", lane_->counters()}};
    if (what == "repeat") return run_repeat(*lane_, scope, step, poison, watch);
    return scope.step(step);
  }

  // The bare lane has opened nothing that could be lost.
  void see_if_alive(Watch& watch) {
    if (options_.lane == "bare") return;
    try {
      const std::unique_ptr<Scope> scope = lane_->scope(0x11);
      const Json says = scope->step({{"do", "alive"}});
      scope->finish();
      if (!says.value("same", false))
        watch.set_lost("a copy there and back: " + says.value("message", "other bytes"));
    } catch (const Error& error) {
      watch.set_lost(error.what());
    }
  }

  // What is above its base after the script. Something that is made once, when first needed, is not a leak: what grows again
  // and again while the same script is repeated is.
  Json find_leaks(const Json& request, const Counters& before, const Counters& after,
                  std::uint64_t place) {
    if (options_.lane == "bare" || request.value("once", false)) return Json::object();
    // malloc keeps up to 7 freed pieces of each size for a thread, and counts them as used: it may grow as often. And a pool's thread
    // that has its first part of such a call may take memory that it keeps.
    const auto repetitions = 10 + static_cast<int>(std::thread::hardware_concurrency());
    Json leaks = grown(before, after);
    for (int again = 0; again < repetitions && !leaks.empty(); ++again) {
      lane_->return_to(place);
      const Counters now = lane_->counters();
      run(request);
      const Json more = grown(now, lane_->counters());
      for (auto each = leaks.begin(); each != leaks.end();)
        each = more.contains(each.key()) ? std::next(each) : leaks.erase(each);
    }
    return leaks;
  }

  static Json grown(const Counters& before, const Counters& after) {
    // Freed pieces that malloc keeps at hand count as used: little says nothing.
    constexpr std::int64_t much = 8192;
    const Json growth = growth_json(before, after);
    Json leaks = Json::object();
    for (const auto& [name, rise] : growth.items())
      if (rise > (name == "heap" ? much : 0)) leaks[name] = rise;
    return leaks;
  }

  const WorkerOptions options_;
  std::unique_ptr<LaneDriver> lane_;
};

// One write: other workers append to the same file.
void note_begin(int journal, const Json& request) {
  if (journal < 0) return;
  const Json line = {{"begin", request.value("case", std::string())},
                     {"worker", static_cast<int>(getpid())}};
  const std::string text = line.dump() + "\n";
  // A full disk is the parent's to find out and to say.
  if (write(journal, text.data(), text.size()) < 0) return;
}

}  // namespace

std::string worker_lane(const Case& one, const Json& script) {
  if (one.lane == Lane::direct) return "direct";
  if (one.lane == Lane::core) return "core";
  return script.value("lane", "direct");
}

int run_worker(int requests, int answers, const WorkerOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a parent that is gone is an end, not a crash
  Worker worker(options);
  try {
    Json request;
    while (receive(requests, request)) {
      note_begin(options.journal, request);
      std::function<void(const Json&)> tell;
      if (request.value("telling", false))
        tell = [&](const Json& result) { send(answers, {{"told", result}}); };
      if (!send(answers, worker.answer(request, tell))) break;
    }
  } catch (const std::exception& error) {
    const std::string text = std::string("worker: ") + error.what() + "\n";
    return write(STDERR_FILENO, text.data(), text.size()) < 0 ? 2 : 1;
  }
  return 0;
}

namespace {

constexpr std::size_t most_entries = 6;  // of a kind: one is enough to fail, a few to see a pattern

std::int64_t count_entries(const char* folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  return error ? -1 : std::distance(begin(entries), end(entries));
}

// All mappings together. statm would count an emulator's own ones as well.
std::int64_t address_space() {
  std::ifstream maps("/proc/self/maps");
  if (!maps) return -1;
  std::int64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &begin, &end) == 2)
      bytes += static_cast<std::int64_t>(end - begin);
  }
  return bytes;
}

}  // namespace

void Watch::add(const char* kind, Json entry) {
  Json& list = seen_[kind];
  if (list.is_null()) list = Json::array();
  if (list.size() < most_entries) list.push_back(std::move(entry));
}

void Watch::merge(const Watch& other) {
  for (const auto& [kind, list] : other.seen_.items())
    for (const Json& entry : list) add(kind.c_str(), entry);
  if (!other.lost_.empty()) lost_ = other.lost_;
}

Json Watch::json() const {
  Json all = seen_;
  if (!lost_.empty()) all["lost"] = lost_;
  return all;
}

Counters process_counters() {
  Counters now;
  now.files = count_entries("/proc/self/fd");
  now.threads = count_entries("/proc/self/task");
  const struct mallinfo2 heap = mallinfo2();
  now.heap = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  return now;
}

Counters with_address_space(Counters counters) {
  counters.address = address_space();
  return counters;
}

Json growth_json(const Counters& from, const Counters& to) {
  const Json base = from;
  Json growth = to;
  for (auto& [key, value] : growth.items())
    value = value.get<std::int64_t>() - base[key].get<std::int64_t>();
  return growth;
}

Json growth_by_quarters(const Counters& base, const std::vector<Counters>& marks) {
  Json growth = Json::object();
  for (std::size_t quarter = 1; quarter <= 4 && marks.size() >= 4; ++quarter) {
    const Json grown = growth_json(base, marks[marks.size() * quarter / 4 - 1]);
    for (const auto& [key, value] : grown.items()) growth[key].push_back(value);
  }
  return growth;
}

Repetitions::Repetitions(const Json& step)
    : times(step.at("times")), at_least(step.value("at_least", times)),
      milliseconds(step.value("milliseconds", 0.0)) {}

bool Repetitions::go_on(std::int64_t done, int every) const {
  if (done >= times || done < at_least || milliseconds <= 0 || done % every != 0)
    return done < times;
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() <= milliseconds;
}

Json failure_json(const Error& error) {
  return {{"code", static_cast<bp_code>(error.error_class())}, {"message", error.what()}};
}

Json there_and_back(const std::function<void(const void*)>& write,
                    const std::function<void(void*)>& read) {
  std::uint8_t sent[num_sent], came[num_sent] = {};
  for (int i = 0; i < num_sent; ++i) sent[i] = static_cast<std::uint8_t>(i * 7 + 1);
  write(sent);
  read(came);
  return {{"same", std::memcmp(sent, came, sizeof sent) == 0}};
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (; bytes >= 8; bytes -= 8, from += 8) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    hash = (hash ^ word) * 0x100000001b3ull;
    hash ^= hash >> 29;  // FNV alone carries no bit downwards
  }
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ from[i]) * 0x100000001b3ull;
  return hash ^ (hash >> 32);
}

}  // namespace bp::conform
