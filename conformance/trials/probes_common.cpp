// Probes as cases and trials, and the pieces that their plans share.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/axes.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "trials/probes.hpp"

namespace bp::conform {
namespace {

class ProbeTrial : public Trial {
 public:
  ProbeTrial(Case one, ProbePlan plan) : one_(std::move(one)), plan_(std::move(plan)) {}

  int num_scripts() const override { return plan_.unsupported.empty() ? plan_.scripts : 0; }
  int timeout_seconds() const override { return plan_.timeout_seconds; }

  Json script(int index) override {
    Json script = new_script(one_, index);
    script["lane"] = plan_.lane;
    script["steps"] = plan_.steps;
    if (plan_.once) script["once"] = true;
    return script;
  }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rule = "probe";
    if (!plan_.unsupported.empty()) {
      verdict.rule = "does not apply: " + plan_.unsupported;
      return verdict;
    }
    for (const Json& answer : answers) {
      if (const std::string complaint = complaint_of(answer); !complaint.empty())
        fail_with(verdict, complaint);
      if (verdict.outcome != Outcome::pass) continue;
      if (const std::string why = plan_.judge(answer); !why.empty()) fail_with(verdict, why);
    }
    return verdict;
  }

 private:
  const Case one_;
  const ProbePlan plan_;
};

}  // namespace

std::size_t ProbePlan::add(Json step) {
  steps.push_back(std::move(step));
  return steps.size() - 1;
}

void ProbePlan::run_once(int timeout) {
  scripts = 1;
  once = true;
  timeout_seconds = timeout;
}

void ProbePlan::judge_after_success(std::function<std::string(const Json&)> next) {
  judge = [steps_of = steps, next = std::move(next)](const Json& answer) {
    const std::string failure = first_failure(answer, steps_of);
    return failure.empty() ? next(answer) : failure;
  };
}

void ProbePlan::expect_reads(std::vector<Expectation> reads) {
  judge_after_success(
      [reads = std::move(reads)](const Json& answer) { return differs(answer, reads); });
}

void PicturedPlan::allocate(int object, std::uint64_t bytes, std::uint64_t alignment,
                            std::uint32_t space) {
  Json step = allocate_step(object, bytes, alignment);
  plan.add(space == 0 ? std::move(step) : in_space(std::move(step), space));
  pictures_[object].assign(bytes, 0);
}

void PicturedPlan::write(int object, std::uint64_t offset, const Bytes& data, int stream) {
  plan.add(on_stream(write_step(object, offset, data), stream));
  std::ranges::copy(data, pictures_.at(object).data() + offset);
}

void PicturedPlan::make(int object, const Bytes& data, std::uint64_t alignment,
                        std::uint32_t space) {
  allocate(object, data.size(), alignment, space);
  write(object, 0, data);
}

void PicturedPlan::copy(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
                        std::uint64_t count, int stream) {
  plan.add(copy_step(to, to_offset, from, from_offset, count, stream));
  std::copy_n(pictures_.at(from).data() + from_offset, count, pictures_.at(to).data() + to_offset);
}

void PicturedPlan::fill(int object, std::uint64_t offset, std::uint64_t count, const Bytes& pattern,
                        int stream) {
  plan.add(fill_step(object, offset, count, pattern, stream));
  for (std::uint64_t i = 0; i < count; ++i)
    pictures_.at(object)[offset + i] = pattern[i % pattern.size()];
}

void PicturedPlan::expect_part(int object, std::uint64_t offset, std::uint64_t count,
                               const std::string& what, int stream) {
  const std::uint8_t* const from = pictures_.at(object).data() + offset;
  reads_.push_back(
      {plan.add(on_stream(read_step(object, offset, count), stream)), {from, from + count}, what});
}

void PicturedPlan::expect(int object, const std::string& what, int stream) {
  expect_part(object, 0, pictures_.at(object).size(), what, stream);
}

ProbePlan PicturedPlan::take() {
  plan.expect_reads(std::move(reads_));
  return std::move(plan);
}

ProbePlan ask_bare(Json step, std::function<std::string(const Json& result)> judge) {
  ProbePlan plan;
  plan.lane = "bare";
  plan.run_once(20);
  plan.add(std::move(step));
  plan.judge_after_success(
      [judge = std::move(judge)](const Json& answer) { return judge(result_of(answer, 0)); });
  return plan;
}

const std::vector<ProbeFamily>& probe_families() {
  static const std::vector<ProbeFamily> families = {{"load", 0, load_probes},
                                                    {"memory", 1, memory_probes},
                                                    {"spaces", 1, space_probes},
                                                    {"host_memory", 1, host_memory_probes},
                                                    {"facts", 1, facts_probes},
                                                    {"stream", 1, stream_probes},
                                                    {"async", 1, async_probes},
                                                    {"order", 1, order_probes},
                                                    {"stream_memory", 1, stream_memory_probes},
                                                    {"waits", 1, wait_probes},
                                                    {"busy", 1, busy_probes},
                                                    {"late", 5, late_probes},
                                                    {"capture", 2, capture_probes},
                                                    {"negative", 1, negative_probes},
                                                    {"plan", 2, plan_probes},
                                                    {"counters", 5, counter_probes},
                                                    {"stress", 5, stress_probes},
                                                    {"together", 5, together_probes}};
  return families;
}

std::vector<Case> ProbeFamily::cases(const Subject& subject, int profile) const {
  std::vector<Case> all;
  for (const Probe& probe : probes())
    for (const std::string& variant : probe.variants(subject, profile)) {
      Case& one = all.emplace_back();
      one.lane = Lane::probe;
      one.op = fmt::format("{}.{}", name, probe.name);
      one.shape = variant;
    }
  return all;
}

std::unique_ptr<Trial> make_probe(const Case& one, const Subject& subject) {
  const std::string word = one.op.substr(0, one.op.find('.'));
  for (const ProbeFamily& family : probe_families()) {
    if (word != family.name) continue;
    for (const Probe& probe : family.probes())
      if (one.op == fmt::format("{}.{}", word, probe.name))
        return std::make_unique<ProbeTrial>(one, probe.plan(one.shape, subject));
    refuse_case(one, "the family '" + word + "' has no such probe");
  }
  refuse_case(one, "there is no family '" + word + "' of probes");
}

Bytes pattern_bytes(std::size_t count, unsigned seed) {
  Bytes bytes(count);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return bytes;
}

Json on_stream(Json step, int stream) {
  step["stream"] = stream;
  return step;
}
Json in_space(Json step, std::uint32_t space) {
  step["space"] = space;
  return step;
}
Json copy_step(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
               std::uint64_t count, int stream) {
  return {{"do", "copy"},
          {"to", to},
          {"to_offset", to_offset},
          {"from", from},
          {"from_offset", from_offset},
          {"count", count},
          {"stream", stream}};
}
Json fill_step(int object, std::uint64_t offset, std::uint64_t count, Bytes pattern, int stream) {
  return {{"do", "fill"},
          {"object", object},
          {"offset", offset},
          {"count", count},
          {"pattern", Json::binary(std::move(pattern))},
          {"stream", stream}};
}
Json simple_step(const char* what, int stream) {
  return {{"do", what}, {"stream", stream}};
}
Json object_step(const char* what, int object) {
  return {{"do", what}, {"object", object}};
}
Json event_step(const char* what, int event, int stream) {
  return {{"do", what}, {"event", event}, {"stream", stream}};
}
Json raw_allocate_step(std::uint64_t bytes, std::uint64_t alignment) {
  return {{"do", "raw"}, {"what", "allocate"}, {"bytes", bytes}, {"alignment", alignment}};
}

Json core_vector(int object, const char* dtype, std::size_t count, const Bytes& bytes) {
  return {{"do", "tensor"},
          {"object", object},
          {"dtype", dtype},
          {"shape", {count}},
          {"strides", {1}},
          {"offset", 0},
          {"storage", Json::binary(bytes)}};
}

Json core_call(const char* op, Json args, int result) {
  return {{"do", "row"}, {"op", op}, {"args", std::move(args)}, {"results", {result}}};
}

std::string first_failure(const Json& answer, const Json& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Json& result = result_of(answer, i);
    if (code_of(result) != BP_OK)
      return fmt::format("step {} ({}): {}", i, steps[i]["do"].get<std::string>(),
                         error_of(result));
  }
  return {};
}

std::string refused(const Json& result, int code, const std::string& what) {
  if (code_of(result) != code)
    return fmt::format("{}: code {} instead of {}: {}", what, code_of(result), code,
                       message_of(result));
  return message_of(result).empty() ? what + ": it fails without a message" : "";
}

std::string exhausted(const Json& answer, std::size_t asked, std::size_t alive,
                      const std::string& what) {
  const Json& result = result_of(answer, asked);
  if (code_of(result) != BP_OK && code_of(result) != BP_OUT_OF_MEMORY)
    return fmt::format("{} says {} instead of BP_OUT_OF_MEMORY: {}", what, code_of(result),
                       message_of(result));
  if (code_of(result) != BP_OK && message_of(result).empty())
    return "BP_OUT_OF_MEMORY came without a message";
  return result_of(answer, alive).value("same", false)
             ? ""
             : "after BP_OUT_OF_MEMORY a copy there and back fails";
}

std::string differs(const Json& answer, std::size_t step, const Bytes& expected,
                    const std::string& what) {
  const Bytes* bytes = bytes_of(result_of(answer, step));
  if (!bytes)
    return fmt::format("{}: cannot be read: {}", what, message_of(result_of(answer, step)));
  if (*bytes == expected) return {};
  const std::size_t shared = std::min(bytes->size(), expected.size());
  const auto at = static_cast<std::size_t>(
      std::mismatch(bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(shared),
                    expected.begin())
          .first -
      bytes->begin());
  if (at == shared)
    return fmt::format("{}: {} bytes came, expected {}", what, bytes->size(), expected.size());
  return fmt::format("{}: byte {} of {} is {:#x}, expected {:#x}", what, at, expected.size(),
                     (*bytes)[at], expected[at]);
}

std::string differs(const Json& answer, const std::vector<Expectation>& reads) {
  for (const Expectation& each : reads)
    if (std::string why = differs(answer, each.step, each.bytes, each.what); !why.empty())
      return why;
  return {};
}

// A quarter's growth below these is noise: what malloc keeps at hand, a page here and there.
std::string grows(const Json& growth, double times, double heap_bytes) {
  const std::pair<const char*, double> kinds[] = {
      {"host_allocations", 0.2}, {"device_allocations", 0.2}, {"files", 0.2},
      {"threads", 0.2},          {"heap", heap_bytes},        {"address", 4096}};
  for (const auto& [kind, each] : kinds) {
    const auto found = growth.find(kind);
    if (found == growth.end() || found->size() < 4) continue;
    const double least = times / 4 * each;
    bool always = true;
    // Things that are counted: a few dozen more are too many, however they came.
    constexpr double too_many = 24;
    if (each < 1 && (*found)[3].get<double>() >= too_many)
      return fmt::format("leak: {} grows by {} in {} repetitions", kind,
                         (*found)[3].get<std::int64_t>(), times);
    for (std::size_t i = 1; i < 4; ++i)
      always = always && (*found)[i].get<double>() - (*found)[i - 1].get<double>() >= least;
    if (always)
      return fmt::format(
          "leak: {} grows all the time while the same is repeated: by {} in {} repetitions", kind,
          (*found)[3].get<std::int64_t>(), times);
  }
  return {};
}

std::vector<std::string> with_events(const Subject& subject, int) {
  if (subject.has_streams && subject.has_events) return {""};
  return {};
}

std::vector<std::string> one_variant(const Subject&, int) {
  return {""};
}

// ---- Small calls

namespace {

constexpr std::size_t largest_small =
    64 << 10;  // bytes of all tensors: thousands of repetitions are to be cheap
constexpr int first_output = 100;

bool is_small(const DirectProblem& call) {
  std::size_t bytes = 0;
  for (const auto* tensors : {&call.problem.tensors, &call.outputs})
    for (const Laid& each : *tensors) {
      if (each.sparse_bytes) return false;
      bytes += each.storage.size();
    }
  return bytes <= largest_small && call.in_place_of < 0;
}

// The first of the row's shapes that a kernel takes in this dtype, counted from that whose turn it is.
bool find_call(const Operator& op, const Axes& axes, Dtype dtype, const Subject& subject,
               std::size_t turn, DirectProblem& out) {
  for (std::size_t i = 0; i < axes.shapes.size(); ++i) {
    const std::string& shape = axes.shapes[(turn + i) % axes.shapes.size()];
    Case one;
    one.seed = 1 + turn;
    one.lane = Lane::direct;
    one.op = op.name();
    one.dtype = dtype;
    one.shape = shape;
    one.layouts = axes.layouts.at(0);
    one.values = axes.values.at(0);
    one.form = "call";
    try {
      if (make_direct_call(one, make_problem(one), subject, out) && is_small(out)) return true;
    } catch (const Error&) {
      continue;  // a shape that this dtype does not go with
    }
  }
  return false;
}

// f32 and i64 first: what most rows are used in.
std::vector<Dtype> dtypes_in_turn(const Axes& axes) {
  std::vector<Dtype> all = axes.dtypes;
  all.insert(all.end(), axes.minor_dtypes.begin(), axes.minor_dtypes.end());
  const auto rank = [](Dtype dtype) { return dtype == f32 ? 0 : dtype == i64 ? 1 : 2; };
  std::ranges::stable_sort(all, [&](Dtype a, Dtype b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace

std::vector<std::string> small_calls(const Subject& subject, int profile) {
  ensure_operators();
  std::set<std::string> rows;
  for (const DeclaredKernel& kernel : subject.kernels) rows.insert(kernel.op);
  const std::size_t most = profile == 0 ? 1 : profile == 1 ? 2 : 100;
  std::vector<std::string> names;
  for (const std::string& row : rows) {
    const Operator* op = find_operator(row);
    if (!op || op->view || !op->infer) continue;
    const Axes axes = axes_of(*op, Profile::quick);
    if (axes.shapes.empty()) continue;
    std::size_t found = 0;
    for (const Dtype dtype : dtypes_in_turn(axes)) {
      DirectProblem call;
      if (found == most || !find_call(*op, axes, dtype, subject, 0, call)) continue;
      names.push_back(fmt::format("{}[{}]", row, short_name(dtype)));
      ++found;
    }
  }
  return names;
}

SmallCall small_call(const std::string& name, const Subject& subject, std::size_t turn,
                     int first_object) {
  ensure_operators();
  SmallCall made;
  const std::size_t bracket = name.find('[');
  made.op = name.substr(0, bracket);
  const Operator* op = find_operator(made.op);
  Dtype dtype = f32;
  DirectProblem call;
  const Axes axes = op ? axes_of(*op, Profile::quick) : Axes();
  if (!op || bracket == std::string::npos ||
      !dtype_of_short_name(name.substr(bracket + 1, name.size() - bracket - 2), dtype) ||
      !find_call(*op, axes, dtype, subject, turn, call))
    refuse("'{}' is not a row and dtype that a declared kernel takes", name);
  made.num_shapes = axes.shapes.size();
  for (std::size_t i = 0; i < call.problem.tensors.size(); ++i)
    add_memory(made.setup, call.problem.tensors[i], first_object + static_cast<int>(i), true);
  for (const Laid& laid : call.outputs) {
    made.outputs.push_back(first_object + first_output + static_cast<int>(made.outputs.size()));
    if (!(op->flags & BP_OP_SHAPE_DATA)) add_memory(made.setup, laid, made.outputs.back(), false);
  }
  made.call = call_step(call.problem, call.outputs, made.outputs, first_object);
  return made;
}

}  // namespace bp::conform
