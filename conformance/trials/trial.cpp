#include "trials/trial.hpp"

#include "cases/kernels.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return "pass";
    case Outcome::fail: return "fail";
    case Outcome::unsupported: return "unsupported";
    case Outcome::mistrusted: return "mistrusted";
    case Outcome::crash: return "crash";
    case Outcome::timeout: return "timeout";
    case Outcome::flaky: return "flaky";
  }
  return "fail";
}

bool is_failure(Outcome outcome) {
  return outcome != Outcome::pass && outcome != Outcome::unsupported;
}

bool Verdict::native() const {
  return outcome == Outcome::pass && rung != "host";
}

std::unique_ptr<Trial> make_trial(const Case& one, const Subject& subject) {
  if (one.lane == Lane::probe) return make_probe(one, subject);
  if (one.form == "error") return make_refusal_trial(one, subject);
  if (one.form == "grad") return make_gradient_trial(one, subject);
  if (one.form == "repeat" || one.form == "threads") return make_repeat_trial(one, subject);
  if (one.form == "forms" || one.form == "layouts") return make_same_values_trial(one, subject);
  if (one.form == "batch" || one.form == "joined") return make_parts_trial(one, subject);
  if (one.form == "round_trip") return make_round_trip_trial(one, subject);
  if (one.form.starts_with(form_of_kernel) && one.lane == Lane::direct)
    return make_direct_trial(one, subject);
  if (one.form != "call" && one.form != "out" && one.form != "in_place" && one.form != "aliased" &&
      one.form != "stream" && one.form != "recycled")
    refuse_case(one, "there is no form '" + one.form + "'");
  return one.lane == Lane::direct ? make_direct_trial(one, subject) : make_core_trial(one, subject);
}

}  // namespace bp::conform
