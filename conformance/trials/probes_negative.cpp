// What must fail: with the code that is said, with a message, with nothing touched, and with a device that goes on. That
// rows refuse bad arguments is the cases' of rows.
#include <fmt/format.h>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

void fill_pattern(ProbePlan& plan) {
  const std::size_t width = plan.number();
  const Bytes before = pattern_bytes(240, 4);
  plan.make(1, before, 16);
  const std::size_t fill = plan.add(fill_step(1, 0, width * 8, pattern_bytes(width, 9))),
                    read = plan.add(read_step(1, 0, before.size()));
  plan.judge_alone([=](const Answer& answer) {
    demand_refusal(answer[fill], BP_BAD_ARGUMENT,
                   fmt::format("fill with a pattern of {} bytes", width));
    answer.demand_bytes(read, before, "the target of a fill that failed");
  });
}

std::vector<std::string> stale_kinds(const Subject& subject, int) {
  if (!subject.numerics.checks_handles) return {};
  if (subject.has_fill) return {"stale_copy", "stale_fill"};
  return {"stale_copy"};
}

// Adds a step that must be refused, and judges by that alone.
void refuse_last(ProbePlan& plan, Json step, const std::string& what) {
  const std::size_t last = plan.add(std::move(step));
  plan.judge_alone(
      [=](const Answer& answer) { demand_refusal(answer[last], BP_BAD_ARGUMENT, what); });
}

void stale(ProbePlan& plan) {
  refuse_last(plan, {{"do", "raw"}, {"what", plan.variant}}, plan.variant + " of released memory");
}

void demand_name(const Json& error, const char* row) {
  demand(message_of(error).find(row) != std::string::npos,
         "the error does not name the operator: {}", message_of(error));
}

void unknown_operator(ProbePlan& plan) {
  plan.lane = "core";
  const std::size_t row = plan.add(core_call("no_such_row", Json::array(), 1));
  plan.judge_alone([=](const Answer& answer) {
    demand_refusal(answer[row], BP_BAD_ARGUMENT, "an unknown operator");
    demand_name(answer[row], "no_such_row");
  });
}

constexpr std::size_t num_floats = 5;
Json core_floats(int object) {
  return core_vector(object, "f32", num_floats, Bytes(num_floats * 4));
}

// A bad index is found on the device: the error comes out once, names the operator, and the stream goes on.
void error_once(ProbePlan& plan) {
  plan.lane = "core";
  plan.add(core_floats(1));
  Bytes index(16);
  index[0] = 99;
  plan.add(core_vector(2, "i64", 2, index));
  const Json args = Json::array({{{"tensor", 1}}, {{"i", 0}}, {{"tensor", 2}}});
  Json gather = core_call("gather", args, 3);
  gather["synchronize"] = false;
  const std::size_t row = plan.add(gather), first = plan.synchronize(), second = plan.synchronize(),
                    good = plan.add(core_call("add", {{{"tensor", 1}}, {{"tensor", 1}}}, 4));
  plan.judge_alone([=](const Answer& answer) {
    const bool at_once = answer.code(row) != BP_OK;
    const Json& error = answer[at_once ? row : first];
    demand_refusal(error, BP_BAD_ARGUMENT, "gather with index 99 of 5");
    demand_name(error, "gather");
    demand(!at_once || answer.code(first) == BP_OK,
           "the error comes out again at the next synchronize");
    demand(answer.code(second) == BP_OK,
           "the error comes out again at the synchronize after the next");
    demand(answer.code(good) == BP_OK, "the next call fails as well: {}", message_of(answer[good]));
  });
}

// A tensor of another device among the arguments.
void other_device(ProbePlan& plan) {
  plan.lane = "core";
  plan.add(core_floats(1));
  Json elsewhere = core_floats(2);
  elsewhere["on"] = "meta";
  plan.add(elsewhere);
  refuse_last(plan, core_call("add", {{{"tensor", 1}}, {{"tensor", 2}}}, 3),
              "add of tensors of two devices");
}

// No kernel ever sees a stride below 0: the core makes no such tensor.
void negative_stride(ProbePlan& plan) {
  plan.lane = "core";
  plan.add(core_floats(1));
  refuse_last(
      plan,
      core_call("as_strided", {{{"tensor", 1}}, {{"ints", {5}}}, {{"ints", {-1}}}, {{"i", 4}}}, 2),
      "as_strided with a stride of -1");
}

}  // namespace

std::vector<ProbeFamily> negative_families() {
  return {{"negative",
           1,
           {{"fill_pattern", fill_pattern, {{"3", "5", "6", "7", "12"}, has<&Subject::has_fill>}},
            {"stale_handle", stale, {.find = stale_kinds}},
            {"unknown_operator", unknown_operator},
            {"error_once", error_once},
            {"other_device", other_device},
            {"negative_stride", negative_stride}}}};
}

}  // namespace bp::conform
