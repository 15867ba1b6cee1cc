// L2: what is made once and serves many times. Work that is recorded once and replayed is done each time, all of it, once,
// and in order; a plan serves all calls of its class, whatever their memory, and several live side by side.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

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

bool has_sums(const Subject& subject) {
  const bool has_kernels = !subject.kernels_of("add").empty() && !subject.kernels_of("mul").empty();
  return has_kernels || subject.compiles;
}

using Floats = std::vector<float>;

template <class Make> Floats floats(Make make) {
  Floats values(capture_count);
  for (std::size_t i = 0; i < capture_count; ++i) values[i] = make(i);
  return values;
}
float small_float(std::size_t i) {
  return static_cast<float>(i % 7);
}
float small_factor(std::size_t i) {
  return static_cast<float>(i % 3 + 2);
}

// Vectors as the objects 1 and up.
void add_vectors(ProbePlan& plan, const std::vector<Floats>& all) {
  plan.lane = "core";
  int object = 0;
  for (const Floats& each : all)
    plan.add(core_vector(++object, "f32", capture_count, bytes_of_floats(each)));
}

Json row_into(const char* op, int a, int b, int into) {
  Json row = core_call(op, {{{"tensor", a}}, {{"tensor", b}}}, 0);
  row["into"] = {into};
  row["in_place"] = a == into;
  return row;
}

// What an object must hold after the replays.
struct Replayed {
  int object;
  Floats values;
  const char* what;
};

void replay_steps(ProbePlan& plan, Json steps, const std::vector<Replayed>& expected) {
  const std::size_t replays =
      plan.add({{"do", "replays"}, {"times", capture_times}, {"steps", std::move(steps)}});
  for (const Replayed& each : expected) plan.add(object_step("values", each.object));
  plan.judge_alone([=](const Answer& answer) {
    if (answer.code(replays) == BP_UNSUPPORTED)
      return;  // served by the host, which no recording holds
    demand(answer.code(replays) == BP_OK, "{}", error_of(answer[replays]));
    for (std::size_t i = 0; i < expected.size(); ++i)
      answer.demand_bytes(replays + 1 + i, bytes_of_floats(expected[i].values), expected[i].what);
  });
}

// x = (x + y) * y, z = x + y: whatever is left out, done twice or done in another order gives other numbers.
void replay(ProbePlan& plan) {
  Floats x = floats(small_float), z(capture_count);
  const Floats y = floats(small_factor);
  add_vectors(plan, {x, y, z});
  for (int i = 0; i < capture_times; ++i)
    for (std::size_t k = 0; k < capture_count; ++k) {
      x[k] = (x[k] + y[k]) * y[k];
      z[k] = x[k] + y[k];
    }
  replay_steps(plan, {row_into("add", 1, 2, 1), row_into("mul", 1, 2, 1), row_into("add", 1, 2, 3)},
               {{1, x, "x after three replays"}, {3, z, "z after three replays"}});
}

// More nodes than a recording may hold in one piece, each with a number of its own, turned round now and then so that
// their order counts; what is set at the beginning of each replay, and what is copied in the middle of it.
void long_replay(ProbePlan& plan) {
  constexpr int num_sums = 70, every = 9;
  const int number = 6;
  Floats x = floats(small_float), sum = x, middle(capture_count);
  const Floats y = floats(small_factor),
               turns = floats([](std::size_t i) { return i % 2 == 0 ? -1.0f : 1.0f; });
  add_vectors(plan, {x, y, turns, sum, middle});
  Json single = core_vector(number, "f32", 1, bytes_of_floats({0}));
  single["shape"] = single["strides"] = Json::array();
  plan.add(single);
  const auto set_number = [number](double value) -> Json {
    return {{"do", "number"}, {"into", {number}}, {"value", value}};
  };
  Json rows = Json::array(
      {set_number(0), row_into("mul", 4, number, 4), set_number(5), row_into("add", 4, number, 4)});
  for (int k = 1; k <= num_sums; ++k) {
    rows.push_back(row_into("add", 1, 2, 1));
    rows.back()["args"].push_back({{"f", static_cast<double>(k)}});
    if (k % every == 0) rows.push_back(row_into("mul", 1, 3, 1));
    if (k % every == 0) rows.push_back(row_into("add", 4, 1, 4));
    if (k == num_sums / 2) rows.push_back({{"do", "copy"}, {"into", {5}}, {"from", 1}});
  }
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
  replay_steps(plan, std::move(rows),
               {{1, x, "what 70 sums were added to, after three replays"},
                {4, sum, "what each of three replays sets to 5, and adds to"},
                {5, middle, "what is copied in the middle of a replay"}});
}

// ---- Plans

constexpr int other_memory = 1000;  // added to the objects of the second call

// "exp[f32]": small calls of rows that a planning kernel may take.
std::vector<std::string> planned_calls(const Subject& subject, int profile) {
  std::vector<std::string> calls;
  const auto plans = [](const DeclaredKernel& kernel) { return kernel.plans; };
  if (std::ranges::none_of(subject.kernels, plans)) return calls;
  calls = small_calls(subject, profile);
  std::erase_if(calls, [&](const std::string& call) {
    const Operator* row = row_of_call(call);
    return !row || (row->flags & BP_OP_SHAPE_DATA) ||
           std::ranges::none_of(subject.kernels, [&](const DeclaredKernel& kernel) {
             return kernel.op == row->name() && kernel.plans;
           });
  });
  return calls;
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
void one_plan_for_many(ProbePlan& plan) {
  const SmallCall small = small_call(plan.variant, plan.subject);
  set_up(plan, small.setup);
  set_up(plan, on_other_objects(small.setup));
  std::vector<std::vector<std::size_t>> reads;
  std::vector<std::size_t> calls;
  const auto call_and_read = [&](Json call, int added, int number) {
    if (number >= 0) call["plan"] = number;
    std::vector<int> outputs = small.outputs;
    for (int& output : outputs) output += added;
    // What the call before has left is not a result of this one.
    for (const int output : outputs) plan.add(object_step("poison", output));
    calls.push_back(plan.add(std::move(call)));
    reads.push_back(read_all(plan, outputs));
  };
  for (const int number : {-1, 1, 2, 1}) call_and_read(small.call, 0, number);
  for (const Json& each : small.setup)
    if (each.at("do") == "write") plan.add(object_step("poison", each.at("object")));
  call_and_read(on_other_objects(small.call), other_memory, 1);
  plan.judge_alone([calls, reads](const Answer& answer) {
    if (is_refused(answer[calls[0]])) return;
    answer.demand_codes();
    if (!answer.repeats_bits()) return;
    const char* const how[] = {"", "a kept plan", "a second plan", "a plan that has served before",
                               "a plan that was made for other memory"};
    for (std::size_t i = 1; i < reads.size(); ++i)
      demand(answer.same_bytes(reads[0], reads[i]),
             "with {} the call gives another result than with a fresh one", how[i]);
  });
}

}  // namespace

std::vector<ProbeFamily> replay_families() {
  const Variants sums = {.applies = has_sums};
  return {{"capture", 2, {{"replay", replay, sums}, {"long_replay", long_replay, sums}}},
          {"plan", 2, {{"reuse", one_plan_for_many, {.find = planned_calls}}}}};
}

}  // namespace bp::conform
