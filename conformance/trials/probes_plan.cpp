// L2: kernels that plan. A plan serves all calls of its class, whatever their memory; several live side by side.
#include <fmt/format.h>

#include <backplane/dispatcher/registry.hpp>

#include "trials/probes.hpp"
#include "trials/small_calls.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

constexpr int other_memory = 1000;  // added to the objects of the second call

// "exp[f32]": small calls of rows that a planning kernel may take.
std::vector<std::string> planned_calls(const Subject& subject, int profile) {
  std::vector<std::string> planned;
  bool plans = false;
  for (const DeclaredKernel& kernel : subject.kernels) plans = plans || kernel.plans;
  if (!plans) return {};
  for (const std::string& call : small_calls(subject, profile)) {
    const std::string op = call.substr(0, call.find('['));
    const Operator* row = find_operator(op);
    if (!row || (row->flags & BP_OP_SHAPE_DATA)) continue;
    for (const DeclaredKernel* kernel : subject.kernels_of(op))
      if (kernel->plans) {
        planned.push_back(call);
        break;
      }
  }
  return planned;
}

// The same steps on other objects.
Json on_other_objects(Json steps) {
  if (steps.is_array()) {
    for (Json& each : steps) each = on_other_objects(each);
  } else if (steps.is_object()) {
    for (auto& [key, value] : steps.items())
      value = key == "object" ? Json(value.get<int>() + other_memory) : on_other_objects(value);
  }
  return steps;
}

// Calls with a fresh plan, with two that are kept, with one of them again, and in other memory, when the first is gone: the
// same bits.
ProbePlan one_plan_for_many(const std::string& variant, const Subject& subject) {
  const SmallCall small = small_call(variant, subject);
  ProbePlan plan;
  plan.steps = small.setup;
  for (const Json& each : on_other_objects(small.setup)) plan.steps.push_back(each);
  std::vector<std::vector<std::size_t>> reads;
  std::vector<std::size_t> calls;
  const auto call_and_read = [&](Json call, int added, int number) {
    if (number >= 0) call["plan"] = number;
    // What the call before has left is not a result of this one.
    for (const int output : small.outputs) plan.add({{"do", "poison"}, {"object", output + added}});
    calls.push_back(plan.add(std::move(call)));
    auto& of_call = reads.emplace_back();
    for (const int output : small.outputs)
      of_call.push_back(plan.add({{"do", "read"}, {"object", output + added}}));
  };
  call_and_read(small.call, 0, -1);
  call_and_read(small.call, 0, 1);
  call_and_read(small.call, 0, 2);
  call_and_read(small.call, 0, 1);
  for (const Json& each : small.setup)
    if (each.at("do") == "write") plan.add({{"do", "poison"}, {"object", each.at("object")}});
  call_and_read(on_other_objects(small.call), other_memory, 1);
  plan.judge = [steps = plan.steps, calls, reads](const Json& answer) -> std::string {
    if (is_refused(result_of(answer, calls[0]))) return {};
    if (std::string failure = first_failure(answer, steps); !failure.empty()) return failure;
    if (!repeats_bits(answer)) return {};
    const char* const how[] = {"", "a kept plan", "a second plan", "a plan that has served before",
                               "a plan that was made for other memory"};
    for (std::size_t i = 1; i < reads.size(); ++i)
      for (std::size_t k = 0; k < reads[0].size(); ++k)
        if (result_of(answer, reads[0][k])["bytes"] != result_of(answer, reads[i][k])["bytes"])
          return fmt::format("with {} the call gives another result than with a fresh one", how[i]);
    return {};
  };
  return plan;
}

}  // namespace

std::vector<Probe> plan_probes() {
  return {{"reuse", planned_calls, one_plan_for_many}};
}

}  // namespace bp::conform
