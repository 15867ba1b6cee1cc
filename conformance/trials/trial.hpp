// A case brought to trial: what a worker is to do, and the verdict on what it answered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "cases/subject.hpp"
#include "protocol/script.hpp"

namespace bp::conform {

enum class Outcome : std::uint8_t {
  pass,
  fail,
  unsupported,  // the plugin said so, as it may; counted, and it costs the level where the level asks for it
  mistrusted,  // the output proves nothing (all of it equal, say)
  crash,
  timeout,
  flaky,  // passed only on a retry; a failure
};
const char* name(Outcome outcome);
bool is_failure(Outcome outcome);  // anything but pass and unsupported

struct Verdict {
  Outcome outcome = Outcome::pass;
  std::string
      rung;  // that served the row: native, legalized, generated, decomposed, host, view; empty for probes
  std::string why;         // a sentence for anything but pass
  std::string rule;        // how it was decided
  double worst_ulp = 0;    // of all results
  double worst_share = 0;  // of the bound
  double bias = 0;         // see Comparison
  std::string hash;        // of the outputs' bytes
  bool native() const;     // kernel, legalized, generated, decomposed or view: not the host
};

class Trial {
 public:
  virtual ~Trial() = default;
  // Scripts are run in order, each on the same worker; outputs of the first two must agree (they differ in poison).
  virtual int num_scripts() const { return 2; }
  virtual Json script(int index) = 0;
  // Do the answers leave open what the last script tells once more? Then judge() gets its second answer as well.
  virtual bool asks_again(const std::vector<Json>&) { return false; }
  // While the worker runs: computes what is expected.
  virtual void prepare() {}
  virtual Verdict judge(const std::vector<Json>& answers) = 0;
  virtual int timeout_seconds() const { return 20; }
};

// Throws bad_argument for a case that cannot be made.
std::unique_ptr<Trial> make_trial(const Case& one, const Subject& subject);

struct Probe;
// Probes, by hand: every family has some (trials/probes_*.cpp).
struct ProbeFamily {
  const char* name;  // "memory"
  int level;
  const std::vector<Probe>& (*probes)();
  std::vector<Case> cases(const Subject& subject, int profile) const;
};
const std::vector<ProbeFamily>& probe_families();
// Throws bad_argument for a case that no probe stands for.
std::unique_ptr<Trial> make_probe(const Case& one, const Subject& subject);

}  // namespace bp::conform
