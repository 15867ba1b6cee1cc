// For plugins that know several ways to do the same: which is the fastest here, by the host's tuner (extensions/tuner.h). Not
// part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_TUNER_HPP
#define BACKPLANE_PLUGIN_TUNER_HPP

#include <string>

#include <backplane/extensions/tuner.h>
#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

struct Choice {
  std::string what;      // the decision, the version of its list of ways, the class of shapes
  std::string identity;  // the device, its driver, how many threads
  uint32_t num_ways = 0;
  double least_gain = 0;  // 0: the host's own
  double budget = 0;      // seconds; 0: the host's own
  uint32_t flags = 0;     // BP_TUNER_ON_REQUEST
};

namespace detail {

inline const bp_tuner* tuner() {
  const bp_header* found = host().extension(&host(), BP_TUNER, BP_TUNER_VERSION);
  return reinterpret_cast<const bp_tuner*>(found);
}

inline bp_tuner_question question_of(const Choice& choice) {
  bp_tuner_question question{};
  question.h = {sizeof question, BP_TYPE_TUNER_QUESTION, nullptr};
  question.what = choice.what.c_str();
  question.identity = choice.identity.c_str();
  question.num_ways = choice.num_ways;
  question.least_gain = choice.least_gain;
  question.budget = choice.budget;
  question.flags = choice.flags;
  return question;
}

}  // namespace detail

// The number of the fastest way. `measure(uint32_t way, double& seconds)` does the work that way once, waits for it, and returns a
// Status. With a host that has no tuner: 0, and nothing is measured. Threads: any.
template <class Measure> uint32_t fastest_way(const Choice& choice, Measure measure) {
  const bp_tuner* const tuner = detail::tuner();
  if (tuner == nullptr) return 0;
  bp_tuner_question question = detail::question_of(choice);
  question.context = &measure;
  question.measure = [](void* context, uint32_t way, double* seconds) {
    return guarded([&] { return (*static_cast<Measure*>(context))(way, *seconds); });
  };
  return tuner->ask(&host(), &question);
}

// The same for callers that compare the ways themselves: `decide(uint32_t& way)` returns a Status; what is decided is kept.
template <class Decide> uint32_t kept_way(const Choice& choice, Decide decide) {
  const bp_tuner* const tuner = detail::tuner();
  if (tuner == nullptr) {
    uint32_t way = 0;
    return decide(way).is_ok() ? way : 0;
  }
  bp_tuner_question question = detail::question_of(choice);
  question.context = &decide;
  question.decide = [](void* context, uint32_t* way) {
    return guarded([&] { return (*static_cast<Decide*>(context))(*way); });
  };
  return tuner->ask(&host(), &question);
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_TUNER_HPP
