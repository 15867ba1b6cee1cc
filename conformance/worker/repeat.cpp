// The same calls many times, on one thread or several: hashes of what came, codes, and whether anything grows.
//
//   {"do":"repeat", "times":T, "threads":H, "setup":[...], "steps":[...], "hash":[N...], "milliseconds":M?, "at_least":A?}
//   -> "hashes": {HEX: COUNT}, "codes": {CODE: COUNT}, "message", "times": of all threads,
//      "growth": {COUNTER: [after a quarter, two, three and all of the repetitions, over the beginning]}
//      "each": [{HEX: COUNT}], for each thread
// Each thread has objects of its own, made by "setup", and reads those of the script. With "by_thread", a list, each has also
// a "setup", "steps" and "hash" of its own. With "milliseconds" it stops after at least A repetitions once
// that time has passed. "settle": the device is waited for before each hash (asynchronous ones in one thread too).
#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>

#include <backplane/tensor/error.hpp>

#include "worker/crew.hpp"
#include "worker/scope.hpp"

namespace bp::conform {
namespace {

using Hashes = std::map<std::uint64_t, std::uint64_t>;  // how often each

// One thread's repetitions, and what came of them.
class Runner {
 public:
  // `whole`: the step; `mine`: what this thread does.
  Runner(LaneDriver& lane, Scope& within, const Json& whole, const Json& mine, std::uint8_t poison)
      : lane_(lane), whole_(whole), mine_(mine), scope_(lane.scope(poison, &within)) {
    // The instruments look at the beginning and at the end; each call is read once.
    for (std::size_t i = 0; i < mine_.at("steps").size(); ++i) {
      Json each = mine_["steps"][i];
      each["quiet"] = true;
      if (each.at("do") == "call") each["kept"] = fmt::format("{}", i);
      steps_.push_back(std::move(each));
    }
  }

  void run() {
    try {
      bool prepared = true;
      for (const Json& each : mine_.value("setup", Json::array()))
        prepared = note(scope_->step(each), true) && prepared;
      if (prepared) repeat();
    } catch (const Error& error) {
      note(failure_json(error), true);
    }
    scope_->finish();
  }

  const Watch& watch() const { return scope_->watch; }
  Hashes hashes;
  std::map<std::int64_t, std::uint64_t> codes;
  std::string message;
  std::int64_t done = 0;
  Json growth = Json::object();

 private:
  void repeat() {
    const Repetitions wanted(whole_);
    const bool watches_growth = whole_.value("growth", false) && whole_.value("threads", 1) == 1;
    std::vector<Counters> marks;
    Counters base;
    if (watches_growth) {
      for (int i = 0; i < 10; ++i)
        once(true);      // what is made once, when first needed, is not growth
      marks.reserve(8);  // the list of the marks is none either
      base = with_address_space(lane_.counters());
    }
    while (wanted.go_on(done, 16)) {
      once(watches_growth);
      ++done;
      // Counters are read seldom: a quarter is known only where no time limit cuts the run short.
      if (watches_growth && done % std::max<std::int64_t>(wanted.times / 4, 1) == 0)
        marks.push_back(with_address_space(lane_.counters()));
    }
    growth = growth_by_quarters(base, marks);
  }

  void once(bool watches_growth) {
    if (watches_growth) lane_.return_to(place_);
    for (const Json& each : steps_) {
      try {
        note(scope_->step(each), false);
      } catch (const Error& error) {
        note(failure_json(error), false);
      }
    }
    if (hashed_.empty()) return;
    std::uint64_t all = 0;
    for (const Json& object : hashed_) all = all * 31 + scope_->hash(object.get<int>());
    ++hashes[all];
  }

  bool note(const Json& result, bool only_failures) {
    const bp_code code = result.is_object() ? result.value("code", BP_OK) : BP_OK;
    if (code != BP_OK && message.empty()) message = result.value("message", std::string());
    if (code != BP_OK || !only_failures) ++codes[code];
    return code == BP_OK;
  }

  LaneDriver& lane_;
  const Json &whole_, &mine_;
  const Json hashed_ = mine_.value("hash", Json::array());
  std::vector<Json> steps_;
  const std::uint64_t place_ = lane_.staging_place();
  std::unique_ptr<Scope> scope_;
};

Json hashes_json(const Hashes& hashes) {
  Json json = Json::object();
  for (const auto& [hash, count] : hashes) json[fmt::format("{:016x}", hash)] = count;
  return json;
}

}  // namespace

Json run_repeat(LaneDriver& lane, Scope& within, const Json& step, std::uint8_t poison,
                Watch& watch) {
  const int num_threads = step.value("threads", 1);
  std::deque<Runner> runners;
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_threads); ++i)
    runners.emplace_back(lane, within, step,
                         step.contains("by_thread") ? step["by_thread"].at(i) : step, poison);
  if (num_threads == 1) {
    runners[0].run();
  } else {
    static Crew crew;
    crew.run(num_threads, [&](int i) { runners[static_cast<std::size_t>(i)].run(); });
  }
  Hashes hashes;
  std::map<std::int64_t, std::uint64_t> codes;
  std::string message;
  std::int64_t times = 0;
  Json each = Json::array(), codes_json = Json::object();
  for (const Runner& one : runners) {
    for (const auto& [hash, count] : one.hashes) hashes[hash] += count;
    for (const auto& [code, count] : one.codes) codes[code] += count;
    each.push_back(hashes_json(one.hashes));
    if (message.empty()) message = one.message;
    times += one.done;
    watch.merge(one.watch());
  }
  for (const auto& [code, count] : codes) codes_json[fmt::format("{}", code)] = count;
  return {{"hashes", hashes_json(hashes)},
          {"each", each},
          {"codes", codes_json},
          {"message", message},
          {"times", times},
          {"growth", runners[0].growth}};
}

}  // namespace bp::conform
