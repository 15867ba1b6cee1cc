// All checks on a candidate before it is opened. Shared by the loader and `backplane doctor`, so that doctor
// reports exactly what the loader does.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <backplane/loading/discovery.hpp>
#include <backplane/loading/elf_lint.hpp>
#include <backplane/loading/environment.hpp>
#include <backplane/loading/probe.hpp>
#include <backplane/tensor/api.hpp>

namespace bp::loading {

struct Verdict {
  bool usable = false;
  bool no_device = false;             // fine, but it has no device on this machine: not an error
  std::string reason;                 // why it is not usable, in one sentence
  std::vector<std::string> warnings;  // sentences; usable candidates may have some too
  LintReport lint;                    // empty if an earlier step refused
  ProbeResult probe;                  // not_probed if an earlier step refused
};

// Checks, in this order, until the first refusal: discovery's own problem, trust, lint, sha256, probe.
BP_API Verdict check_candidate(const Candidate& candidate, const Environment& environment,
                               std::chrono::milliseconds limit = probe_limit);

}  // namespace bp::loading
