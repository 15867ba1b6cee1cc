// The tuner as plugins find it: bp.tuner.
#include <fmt/format.h>

#include <backplane/extensions/tuner.h>
#include <backplane/loading/host_extension.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tuning/tuner.hpp>

namespace bp::tuner {
namespace {

// What a plugin tells of a way that does not work is for its own log; here it only ends the trial.
void check(bp_code code) {
  if (code != BP_OK) throw_error(ErrorClass::unsupported, "the plugin cannot do the work this way");
}

std::size_t choose_by(const Question& question, const bp_tuner_question& asked) {
  if (asked.measure)
    return choose(question, [&](std::size_t way) {
      double seconds = 0;
      check(asked.measure(asked.context, static_cast<std::uint32_t>(way), &seconds));
      return seconds;
    });
  return keep(question, [&] {
    std::uint32_t way = 0;
    check(asked.decide(asked.context, &way));
    return std::size_t{way};
  });
}

std::uint32_t ask(const bp_host* host, const bp_tuner_question* asked) {
  if (!asked || !BP_HAS(asked, bp_tuner_question, context)) return 0;
  if (!asked->what || !asked->identity || (!asked->measure && !asked->decide)) return 0;
  try {
    const std::string identity = fmt::format("{}; {}", loading::plugin_of(host), asked->identity);
    Question question{.what = asked->what,
                      .identity = identity,
                      .num_ways = asked->num_ways,
                      .on_request = (asked->flags & BP_TUNER_ON_REQUEST) != 0};
    if (asked->least_gain > 0) question.least_gain = asked->least_gain;
    if (asked->budget > 0) question.budget_seconds = asked->budget;
    return static_cast<std::uint32_t>(choose_by(question, *asked));
  } catch (const std::exception&) {  // no memory for a name
    return 0;
  }
}

constexpr bp_tuner table = {{sizeof(bp_tuner), BP_TYPE_EXTENSION, nullptr}, ask};

[[maybe_unused]] const bool offered = [] {
  loading::offer_to_plugins({BP_TUNER, BP_TUNER_VERSION, 2, &table.h});
  return true;
}();

}  // namespace
}  // namespace bp::tuner
