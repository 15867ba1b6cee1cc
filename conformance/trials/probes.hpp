// What the probes are made of: a plan of steps, and what their answers must say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trials/trial.hpp"

namespace bp::conform {

struct ProbePlan {
  std::string lane = "direct";
  Json steps = Json::array();
  // A sentence if the answer is wrong, else empty. The instruments' complaints come first and need no word here.
  std::function<std::string(const Json& answer)> judge;
  int scripts = 2;  // each with another poison
  int timeout_seconds = 20;
  bool once = false;        // not to be run again in search of leaks
  std::string unsupported;  // why the device need not do this: the outcome is then "unsupported"

  // Appends and returns the position of its result.
  std::size_t add(Json step);
};

struct Probe {
  const char* name;  // after the family's: "copy"
  std::vector<std::string> (*variants)(const Subject& subject, int profile);
  ProbePlan (*plan)(const std::string& variant, const Subject& subject);
};

std::vector<Case> cases_of_probes(const char* family, const std::vector<Probe>& probes,
                                  const Subject& subject, int profile);
std::unique_ptr<Trial> make_probe(const char* family, const std::vector<Probe>& probes,
                                  const Case& one, const Subject& subject);

// The families, each in its file.
const std::vector<Probe>& load_probes();
const std::vector<Probe>& memory_probes();
const std::vector<Probe>& stream_probes();
const std::vector<Probe>& async_probes();
const std::vector<Probe>& negative_probes();
const std::vector<Probe>& counter_probes();
const std::vector<Probe>& stress_probes();
const std::vector<Probe>& together_probes();

// ---- Pieces of plans -------------------------------------------------------------------------------------

// Bytes that differ from their neighbours and for each seed.
std::vector<std::uint8_t> pattern_bytes(std::size_t count, unsigned seed);
Json allocate_step(int object, std::uint64_t bytes, std::uint64_t alignment = 1);
Json write_step(int object, std::uint64_t offset, std::vector<std::uint8_t> bytes);
Json read_step(int object, std::uint64_t offset, std::uint64_t count);
Json copy_step(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
               std::uint64_t count, int stream = 0);
Json fill_step(int object, std::uint64_t offset, std::uint64_t count,
               std::vector<std::uint8_t> pattern, int stream = 0);
Json simple_step(const char* what, int stream = 0);

// "step 3 (copy): BP_INTERNAL ..." for the first step that failed; empty if none did.
std::string first_failure(const Json& answer, const Json& steps);
// Compares what a step read; empty if equal.
std::string differs(const Json& answer, std::size_t step, const std::vector<std::uint8_t>& expected,
                    const std::string& what);
// Does a counter grow all the time? `growth` is repeat's; `heap_bytes`: of malloc that one repetition may not keep.
std::string grows(const Json& growth, double times, double heap_bytes = 8);

std::vector<std::string> one_variant(const Subject& subject, int profile);

}  // namespace bp::conform
