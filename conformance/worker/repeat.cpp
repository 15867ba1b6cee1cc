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
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <mutex>

#include <backplane/tensor/error.hpp>

#include "worker/crew.hpp"
#include "worker/scope.hpp"

namespace bp::conform {
namespace {

using Clock = std::chrono::steady_clock;

struct Tally {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> hashes;
  std::vector<std::map<std::uint64_t, std::uint64_t>> each;  // of each thread
  std::map<std::int64_t, std::uint64_t> codes;
  std::string message;
  std::uint64_t times = 0;
  Json growth = Json::object();
};

struct Plan {
  std::int64_t times, at_least;
  double milliseconds;
  bool watches_growth;
};

class Runner {
 public:
  // `step`: what this thread does.
  Runner(LaneDriver& lane, Scope& within, const Json& step, const Plan& plan, std::uint8_t poison,
         std::size_t thread, Tally& tally)
      : lane_(lane), step_(step), plan_(plan), thread_(thread), scope_(lane.scope(poison, &within)),
        tally_(tally) {
    // The instruments look at the beginning and at the end; each call is read once.
    for (std::size_t i = 0; i < step_.at("steps").size(); ++i) {
      Json each = step_["steps"][i];
      each["quiet"] = true;
      if (each.at("do") == "call") each["kept"] = fmt::format("{}", i);
      steps_.push_back(std::move(each));
    }
  }

  Watch run() {
    try {
      bool prepared = true;
      for (const Json& each : step_.value("setup", Json::array()))
        prepared = note(scope_->step(each), true) && prepared;
      if (prepared) repeat();
    } catch (const Error& error) {
      note(failure_json(error), true);
    }
    scope_->finish();
    const std::lock_guard lock(tally_.mutex);
    for (const auto& [hash, count] : hashes_) tally_.hashes[hash] += count;
    tally_.each[thread_] = hashes_;
    for (const auto& [code, count] : codes_) tally_.codes[code] += count;
    if (tally_.message.empty()) tally_.message = message_;
    tally_.times += static_cast<std::uint64_t>(done_);
    if (plan_.watches_growth) add_growth();
    return scope_->watch;
  }

 private:
  void repeat() {
    const Clock::time_point begin = Clock::now();
    std::int64_t goal = plan_.times;
    const Json hashed = step_.value("hash", Json::array());
    if (plan_.watches_growth) {
      for (int i = 0; i < 10; ++i)
        once(hashed);     // what is made once, when first needed, is not growth
      marks_.reserve(8);  // the list of the marks is none either
      marks_.push_back(with_address_space(lane_.counters()));
    }
    for (done_ = 0; done_ < goal;) {
      once(hashed);
      ++done_;
      // Counters are read seldom: a quarter is known only where no time limit cuts the run short.
      if (plan_.watches_growth && done_ % std::max<std::int64_t>(plan_.times / 4, 1) == 0)
        marks_.push_back(with_address_space(lane_.counters()));
      if (plan_.milliseconds > 0 && done_ >= plan_.at_least && done_ % 16 == 0 &&
          std::chrono::duration<double, std::milli>(Clock::now() - begin).count() >
              plan_.milliseconds)
        goal = done_;
    }
  }

  void once(const Json& hashed) {
    if (plan_.watches_growth) lane_.return_to(place_);
    for (const Json& each : steps_) {
      try {
        note(scope_->step(each), false);
      } catch (const Error& error) {
        note(failure_json(error), false);
      }
    }
    if (hashed.empty()) return;
    std::uint64_t all = 0;
    for (const Json& object : hashed) all = all * 31 + scope_->hash(object.get<int>());
    ++hashes_[all];
  }

  bool note(const Json& result, bool only_failures) {
    const bp_code code = result.value("code", BP_OK);
    if (code != BP_OK && message_.empty()) message_ = result.value("message", std::string());
    if (code != BP_OK || !only_failures) ++codes_[code];
    return code == BP_OK;
  }

  void add_growth() {
    if (marks_.size() < 5) return;
    for (std::size_t i = 1; i < 5; ++i) conform::add_growth(tally_.growth, marks_[0], marks_[i]);
  }

  LaneDriver& lane_;
  const Json& step_;
  const Plan plan_;
  const std::size_t thread_;
  std::vector<Json> steps_;
  const std::uint64_t place_ = lane_.staging_place();
  std::unique_ptr<Scope> scope_;
  Tally& tally_;
  std::map<std::uint64_t, std::uint64_t> hashes_;
  std::map<std::int64_t, std::uint64_t> codes_;
  std::string message_;
  std::vector<Counters> marks_;
  std::int64_t done_ = 0;
};

Json hashes_json(const std::map<std::uint64_t, std::uint64_t>& hashes) {
  Json json = Json::object();
  for (const auto& [hash, count] : hashes) json[fmt::format("{:016x}", hash)] = count;
  return json;
}

Json tally_json(const Tally& tally) {
  Json each = Json::array(), codes = Json::object();
  for (const auto& hashes : tally.each) each.push_back(hashes_json(hashes));
  for (const auto& [code, count] : tally.codes) codes[fmt::format("{}", code)] = count;
  return {{"code", BP_OK},
          {"hashes", hashes_json(tally.hashes)},
          {"each", each},
          {"codes", codes},
          {"message", tally.message},
          {"times", tally.times},
          {"growth", tally.growth}};
}

}  // namespace

Json run_repeat(LaneDriver& lane, Scope& within, const Json& step, std::uint8_t poison,
                Watch& watch) {
  const int num_threads = step.value("threads", 1);
  const std::int64_t times = step.at("times").get<std::int64_t>();
  const Plan plan{times, step.value("at_least", times), step.value("milliseconds", 0.0),
                  num_threads == 1 && step.value("growth", false)};
  Tally tally;
  tally.each.resize(static_cast<std::size_t>(num_threads));
  std::vector<std::unique_ptr<Runner>> runners;
  for (std::size_t i = 0; i < tally.each.size(); ++i) {
    const Json& work = step.contains("by_thread") ? step["by_thread"].at(i) : step;
    runners.push_back(std::make_unique<Runner>(lane, within, work, plan, poison, i, tally));
  }
  if (num_threads == 1) {
    watch.merge(runners[0]->run());
    return tally_json(tally);
  }
  static Crew crew;
  std::vector<Watch> seen(runners.size());
  crew.run(num_threads, [&](int i) {
    const auto place = static_cast<std::size_t>(i);
    seen[place] = runners[place]->run();
  });
  for (const Watch& each : seen) watch.merge(each);
  return tally_json(tally);
}

}  // namespace bp::conform
