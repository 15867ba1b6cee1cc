// L2: what is made once and serves many times. Work that is recorded once and replayed is done each time, all of it, once,
// and in order; a plan serves all calls of its class, whatever their memory, and several live side by side.
#include <cstring>
#include <fmt/format.h>
#include <tuple>

#include <backplane/dispatcher/registry.hpp>

#include "trials/probes.hpp"

namespace bp::conform {
namespace {

// ---- Recordings

constexpr std::size_t capture_count = 300;
constexpr int capture_times = 3;

Bytes bytes_of_floats(const std::vector<float>& values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::string> with_sums(const Subject& subject, int) {
  const bool has_kernels = !subject.kernels_of("add").empty() && !subject.kernels_of("mul").empty();
  if (has_kernels || subject.compiles) return {""};
  return {};
}

Json row_into(const char* op, int a, int b, int into) {
  Json row = core_call(op, {{{"tensor", a}}, {{"tensor", b}}}, 0);
  row["into"] = {into};
  row["in_place"] = a == into;
  return row;
}

// x = (x + y) * y, z = x + y: whatever is left out, done twice or done in another order gives other numbers.
ProbePlan replay(const std::string&, const Subject&) {
  std::vector<float> x(capture_count), y(capture_count), z(capture_count);
  for (std::size_t i = 0; i < capture_count; ++i) {
    x[i] = static_cast<float>(i % 7);
    y[i] = static_cast<float>(i % 3 + 2);
  }
  ProbePlan plan;
  plan.lane = "core";
  plan.add(core_vector(1, "f32", capture_count, bytes_of_floats(x)));
  plan.add(core_vector(2, "f32", capture_count, bytes_of_floats(y)));
  plan.add(core_vector(3, "f32", capture_count, bytes_of_floats(z)));
  const std::size_t replays = plan.add(
      {{"do", "replays"},
       {"times", capture_times},
       {"steps", {row_into("add", 1, 2, 1), row_into("mul", 1, 2, 1), row_into("add", 1, 2, 3)}}});
  const std::size_t first = plan.add(object_step("values", 1)),
                    second = plan.add(object_step("values", 3));
  for (int i = 0; i < capture_times; ++i)
    for (std::size_t k = 0; k < capture_count; ++k) {
      x[k] = (x[k] + y[k]) * y[k];
      z[k] = x[k] + y[k];
    }
  plan.judge = [=](const Json& answer) -> std::string {
    const Json& result = result_of(answer, replays);
    if (code_of(result) == BP_UNSUPPORTED)
      return {};  // served by the host, which no recording holds
    if (code_of(result) != BP_OK) return error_of(result);
    if (std::string why = differs(answer, first, bytes_of_floats(x), "x after three replays");
        !why.empty())
      return why;
    return differs(answer, second, bytes_of_floats(z), "z after three replays");
  };
  return plan;
}

// More nodes than a recording may hold in one piece, each with a number of its own, turned round now and then so that
// their order counts; what is set at the beginning of each replay, and what is copied in the middle of it.
ProbePlan long_replay(const std::string&, const Subject&) {
  constexpr int num_sums = 70, every = 9;
  std::vector<float> x(capture_count), y(capture_count), turns(capture_count), zeros(capture_count),
      middle(capture_count);
  for (std::size_t i = 0; i < capture_count; ++i) {
    x[i] = static_cast<float>(i % 7);
    y[i] = static_cast<float>(i % 3 + 2);
    turns[i] = i % 2 == 0 ? -1.0f : 1.0f;
  }
  std::vector<float> sum = x;
  ProbePlan plan;
  plan.lane = "core";
  int object = 0;
  for (const std::vector<float>* each : {&x, &y, &turns, &sum, &zeros})
    plan.add(core_vector(++object, "f32", capture_count, bytes_of_floats(*each)));
  constexpr int number = 6;
  Json single = core_vector(number, "f32", 1, bytes_of_floats({0}));
  single["shape"] = single["strides"] = Json::array();
  plan.add(single);
  Json rows = Json::array(
      {Json{{"do", "number"}, {"into", {number}}, {"value", 0.0}}, row_into("mul", 4, number, 4),
       Json{{"do", "number"}, {"into", {number}}, {"value", 5.0}}, row_into("add", 4, number, 4)});
  for (int k = 1; k <= num_sums; ++k) {
    Json row = row_into("add", 1, 2, 1);
    row["args"].push_back({{"f", static_cast<double>(k)}});
    rows.push_back(row);
    if (k % every == 0) rows.push_back(row_into("mul", 1, 3, 1));
    if (k % every == 0) rows.push_back(row_into("add", 4, 1, 4));
    if (k == num_sums / 2) rows.push_back({{"do", "copy"}, {"into", {5}}, {"from", 1}});
  }
  const std::size_t replays =
      plan.add({{"do", "replays"}, {"times", capture_times}, {"steps", rows}});
  const std::size_t first = plan.add(object_step("values", 1)),
                    second = plan.add(object_step("values", 4)),
                    third = plan.add(object_step("values", 5));
  for (int i = 0; i < capture_times; ++i)
    for (std::size_t n = 0; n < capture_count; ++n) {
      sum[n] = 5;
      for (int k = 1; k <= num_sums; ++k) {
        x[n] += static_cast<float>(k) * y[n];
        if (k % every == 0) x[n] *= turns[n];
        if (k % every == 0) sum[n] += x[n];
        if (k == num_sums / 2) middle[n] = x[n];
      }
    }
  plan.judge = [=](const Json& answer) -> std::string {
    const Json& result = result_of(answer, replays);
    if (code_of(result) == BP_UNSUPPORTED) return {};
    if (code_of(result) != BP_OK) return error_of(result);
    for (const auto& [step, values, what] :
         {std::tuple(first, &x, "what 70 sums were added to, after three replays"),
          std::tuple(second, &sum, "what each of three replays sets to 5, and adds to"),
          std::tuple(third, &middle, "what is copied in the middle of a replay")})
      if (std::string why = differs(answer, step, bytes_of_floats(*values), what); !why.empty())
        return why;
    return {};
  };
  return plan;
}

// ---- Plans

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

std::vector<Probe> capture_probes() {
  return {{"replay", with_sums, replay}, {"long_replay", with_sums, long_replay}};
}

std::vector<Probe> plan_probes() {
  return {{"reuse", planned_calls, one_plan_for_many}};
}

}  // namespace bp::conform
