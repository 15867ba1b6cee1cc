// L1: host memory that the device copies from and to faster. It holds what is written, and the application's own stays its own.
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

std::vector<std::string> host_memory_sizes(const Subject& subject, int) {
  if (!subject.has_host_memory) return {};
  return {"1", "63", "4097", "100001"};
}

Json host_memory_step(std::uint64_t bytes, bool adopts) {
  return {{"do", "host_memory"}, {"object", 1}, {"bytes", bytes}, {"adopts", adopts}};
}

// Twice, so that what the first left behind shows.
ProbePlan plan_of(const std::string& variant, bool adopts,
                  std::function<std::string(const Json&)> fault) {
  const std::uint64_t bytes = std::stoull(variant);
  ProbePlan plan;
  plan.add(allocate_step(1, bytes));
  std::vector<std::size_t> steps;
  for (int i = 0; i < 2; ++i) steps.push_back(plan.add(host_memory_step(bytes, adopts)));
  plan.judge_after_success([=](const Json& answer) -> std::string {
    for (const std::size_t step : steps) {
      const Json& result = result_of(answer, step);
      if (result.contains("none")) return {};
      if (result.contains("null")) return "it succeeded without memory";
      if (!result["same"].get<bool>())
        return fmt::format("{} bytes there and back are not the same", bytes);
      if (std::string why = fault(result); !why.empty()) return why;
    }
    return {};
  });
  return plan;
}

ProbePlan pin(const std::string& variant, const Subject&) {
  return plan_of(variant, false, [](const Json& result) -> std::string {
    return result["aligned"].get<bool>() ? "" : "the memory is not aligned as was asked for";
  });
}

ProbePlan adopt_own(const std::string& variant, const Subject&) {
  return plan_of(variant, true, [](const Json& result) -> std::string {
    if (!result["kept"].get<bool>()) return "adopt changed the application's memory";
    if (!result["still_kept"].get<bool>()) return "forget changed the application's memory";
    return result["again"] == BP_OK ? "" : "what was forgotten cannot be adopted again";
  });
}

}  // namespace

std::vector<Probe> host_memory_probes() {
  return {{"pin", host_memory_sizes, pin}, {"adopt", host_memory_sizes, adopt_own}};
}

}  // namespace bp::conform
