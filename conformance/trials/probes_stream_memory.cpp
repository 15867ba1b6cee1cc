// L1: memory in the order of a stream. It is nobody else's before the work on it is done, and nothing waits for that.
#include <fmt/format.h>

#include "trials/probes.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

std::vector<std::string> pooled_sizes(const Subject& subject, int) {
  if (!subject.has_stream_memory || !subject.has_streams || subject.synchronous()) return {};
  return {"100", "70001", "12000000"};
}

bool is_on_device(const Json& result) {
  return result["code"] != BP_UNSUPPORTED;
}

ProbePlan plan_of(const char* what, const std::string& variant, const Subject& subject,
                  std::function<std::string(const Json& result)> fault) {
  ProbePlan plan;
  if (!subject.has_host_calls)
    plan.unsupported = "it offers no bp.host_calls, with which a stream could be held";
  const std::size_t step =
      plan.add({{"do", "stream_memory"}, {"what", what}, {"bytes", std::stoull(variant)}});
  plan.timeout_seconds = 60;
  plan.judge = [=, steps = plan.steps](const Json& answer) -> std::string {
    if (!is_on_device(result_of(answer, step))) return {};
    if (std::string failure = first_failure(answer, steps); !failure.empty()) return failure;
    return fault(result_of(answer, step));
  };
  return plan;
}

ProbePlan reuse_of_pool(const std::string& variant, const Subject& subject) {
  return plan_of("order", variant, subject, [](const Json& result) -> std::string {
    if (!result["earlier"].get<bool>())
      return "memory that was released in the order of a stream changed before the work that the "
             "stream had been given before was done";
    if (!result["others"].get<bool>())
      return "memory of a stream was written by the work of another one, which had it before";
    return result["next"].get<bool>() ? "" : "memory does not hold what its stream wrote last";
  });
}

ProbePlan waits_of_pool(const std::string& variant, const Subject& subject) {
  return plan_of("waits", variant, subject, [](const Json& result) -> std::string {
    const std::string waited = result["waited"].get<std::string>();
    if (waited.empty()) return {};
    return fmt::format("{} waited for a stream that was given work which does not end soon",
                       waited);
  });
}

ProbePlan ends(const std::string& variant, const Subject& subject) {
  return plan_of("ends", variant, subject, [](const Json& result) -> std::string {
    if (const auto place = result["misplaced"].get<std::uint64_t>())
      return fmt::format("address {:#x} of a stream's memory is not aligned to 4096 bytes", place);
    return result["same"].get<bool>() ? "" : "memory does not hold what was written into it";
  });
}

}  // namespace

std::vector<Probe> stream_memory_probes() {
  return {{"reuse", pooled_sizes, reuse_of_pool},
          {"waits", pooled_sizes, waits_of_pool},
          {"ends", pooled_sizes, ends}};
}

}  // namespace bp::conform
