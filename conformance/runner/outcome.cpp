// What an outcome is called, and what counts as native.
#include "trials/trial.hpp"

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

bool Verdict::native() const {
  return outcome == Outcome::pass && rung != "host";
}

}  // namespace bp::conform
