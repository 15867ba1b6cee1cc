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
  ProbeTrial(const Case& one, const Probe& probe, const Subject& subject)
      : one_(one), plan_(one.shape, subject) {
    probe.make(plan_);
  }

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
    verdict.rule = plan_.unsupported.empty() ? "probe" : "does not apply: " + plan_.unsupported;
    for (const Json& answer : answers) {
      if (const std::string complaint = complaint_of(answer); !complaint.empty())
        fail_with(verdict, complaint);
      if (verdict.outcome != Outcome::pass) continue;
      if (const std::string why = plan_.fault_of(answer); !why.empty()) fail_with(verdict, why);
    }
    return verdict;
  }

 private:
  const Case one_;
  ProbePlan plan_;
};

}  // namespace

// ---- Judging

void demand_refusal(const Json& result, int code, const std::string& what) {
  demand(code_of(result) == code, "{}: code {} instead of {}: {}", what, code_of(result), code,
         message_of(result));
  demand(!message_of(result).empty(), "{}: it fails without a message", what);
}

bool Answer::same_bytes(const std::vector<std::size_t>& some,
                        const std::vector<std::size_t>& others) const {
  return std::ranges::equal(some, others, [&](std::size_t one, std::size_t other) {
    return (*this)[one].value("bytes", Json()) == (*this)[other].value("bytes", Json());
  });
}

void Answer::demand_codes() const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const std::string what =
        fmt::format("step {} ({})", i, plan_.steps[i]["do"].get<std::string>());
    const int wanted = plan_.codes_[i];
    if (wanted == BP_OK || wanted == ProbePlan::ok_or_retry)
      demand(code(i) == BP_OK || (wanted != BP_OK && code(i) == BP_RETRY), "{}: {}", what,
             error_of((*this)[i]));
    else
      demand_refusal((*this)[i], wanted, what);
  }
}

void Answer::demand_bytes(std::size_t step, const Bytes& expected, const std::string& what) const {
  const Bytes* const found = bytes_of((*this)[step]);
  if (!found) throw Wrong{fmt::format("{}: cannot be read: {}", what, message_of((*this)[step]))};
  if (*found == expected) return;
  const Bytes& bytes = *found;
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(bytes, expected).in1 - bytes.begin());
  demand(at < std::min(bytes.size(), expected.size()), "{}: {} bytes came, expected {}", what,
         bytes.size(), expected.size());
  demand(false, "{}: byte {} of {} is {:#x}, expected {:#x}", what, at, expected.size(), bytes[at],
         expected[at]);
}

void Answer::demand_exhausted(std::size_t asked, std::size_t alive, const std::string& what) const {
  if (code(asked) != BP_OK) {
    demand(code(asked) == BP_OUT_OF_MEMORY, "{} says {} instead of BP_OUT_OF_MEMORY: {}", what,
           code(asked), message_of((*this)[asked]));
    demand(!message_of((*this)[asked]).empty(), "BP_OUT_OF_MEMORY came without a message");
  }
  demand((*this)[alive].value("same", false), "after BP_OUT_OF_MEMORY a copy there and back fails");
}

std::string ProbePlan::fault_of(const Json& json) const try {
  const Answer answer(json, *this);
  for (std::size_t i = 0; may_decline && i < steps.size(); ++i)
    if (is_refused(answer[i])) return {};
  if (!judges_alone_) answer.demand_codes();
  for (const Read& read : reads_) answer.demand_bytes(read.step, read.bytes, read.what);
  if (judge) judge(answer);
  return {};
} catch (const Wrong& wrong) {
  return wrong.why;
}

// ---- Plans

std::size_t ProbePlan::add(Json step, int code) {
  codes_.push_back(code);
  steps.push_back(std::move(step));
  return steps.size() - 1;
}

void ProbePlan::run_once(int timeout) {
  scripts = 1;
  once = true;
  timeout_seconds = timeout;
}

void ProbePlan::judge_alone(std::function<void(const Answer&)> by) {
  judges_alone_ = true;
  judge = std::move(by);
}

void ProbePlan::each(const char* what, std::initializer_list<int> objects) {
  for (const int object : objects) add(object_step(what, object));
}

std::size_t ProbePlan::on_stream(const char* what, int stream, int code) {
  return add(stream_step(what, stream), code);
}

std::size_t ProbePlan::synchronize(int stream, int code) {
  return on_stream("synchronize", stream, code);
}

std::size_t ProbePlan::on_event(const char* what, int event, int stream, int code) {
  return add(event_step(what, event, stream), code);
}

std::size_t ProbePlan::is_alive() {
  return add({{"do", "alive"}});
}

void ProbePlan::allocate(int object, std::uint64_t bytes, std::uint64_t alignment,
                         std::uint32_t space) {
  add(in_space(allocate_step(object, bytes, alignment), space));
  pictures_[object].assign(bytes, 0);
}

void ProbePlan::write(int object, std::uint64_t offset, const Bytes& data, int stream) {
  add(conform::on_stream(write_step(object, offset, data), stream));
  std::ranges::copy(data, pictures_.at(object).data() + offset);
}

void ProbePlan::make(int object, const Bytes& data, std::uint64_t alignment, std::uint32_t space) {
  allocate(object, data.size(), alignment, space);
  write(object, 0, data);
}

void ProbePlan::copy(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
                     std::uint64_t count, int stream) {
  add(copy_step(to, to_offset, from, from_offset, count, stream));
  std::copy_n(pictures_.at(from).data() + from_offset, count, pictures_.at(to).data() + to_offset);
}

void ProbePlan::fill(int object, std::uint64_t offset, std::uint64_t count, const Bytes& pattern,
                     int stream) {
  add(fill_step(object, offset, count, pattern, stream));
  for (std::uint64_t i = 0; i < count; ++i)
    pictures_.at(object)[offset + i] = pattern[i % pattern.size()];
}

void ProbePlan::expect_part(int object, std::uint64_t offset, std::uint64_t count,
                            const std::string& what, int stream) {
  const std::uint8_t* const from = pictures_.at(object).data() + offset;
  expect_bytes(add(conform::on_stream(read_step(object, offset, count), stream)),
               {from, from + count}, what);
}

void ProbePlan::expect(int object, const std::string& what, int stream) {
  expect_part(object, 0, pictures_.at(object).size(), what, stream);
}

void ProbePlan::expect_bytes(std::size_t step, Bytes bytes, const std::string& what) {
  reads_.push_back({step, std::move(bytes), what});
}

void ask_bare(ProbePlan& plan, Json step, std::function<void(const Json& result)> judge) {
  plan.lane = "bare";
  plan.run_once(20);
  plan.add(std::move(step));
  plan.judge = [judge = std::move(judge)](const Answer& answer) { judge(answer[0]); };
}

void set_up(ProbePlan& plan, const Json& setup) {
  for (const Json& step : setup) plan.add(step);
}

std::vector<std::size_t> read_all(ProbePlan& plan, const std::vector<int>& objects) {
  std::vector<std::size_t> reads;
  for (const int object : objects) reads.push_back(plan.add(object_step("read", object)));
  return reads;
}

// ---- Families

const std::vector<ProbeFamily>& probe_families() {
  static const std::vector<ProbeFamily> families = [] {
    std::vector<ProbeFamily> all;
    for (const auto of_file :
         {load_families, memory_families, facts_families, stream_families, busy_families,
          late_families, replay_families, negative_families, stress_families})
      std::ranges::move(of_file(), std::back_inserter(all));
    return all;
  }();
  return families;
}

static std::vector<std::string> variants_for(const Variants& variants, const Subject& subject,
                                             int profile) {
  if (variants.applies && !variants.applies(subject)) return {};
  if (variants.find) return variants.find(subject, profile);
  std::vector<std::string> all = variants.names;
  if (profile > 0) std::ranges::copy(variants.in_normal, std::back_inserter(all));
  if (profile > 1) std::ranges::copy(variants.in_full, std::back_inserter(all));
  return all;
}

std::vector<Case> ProbeFamily::cases(const Subject& subject, int profile) const {
  std::vector<Case> all;
  for (const Probe& probe : probes)
    for (const std::string& variant : variants_for(probe.variants, subject, profile)) {
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
    for (const Probe& probe : family.probes)
      if (one.op == fmt::format("{}.{}", word, probe.name))
        return std::make_unique<ProbeTrial>(one, probe, subject);
    refuse_case(one, "the family '" + word + "' has no such probe");
  }
  refuse_case(one, "there is no family '" + word + "' of probes");
}

// ---- Steps

Bytes pattern_bytes(std::size_t count, std::uint64_t seed) {
  Bytes bytes(count);
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761u + 12345u;
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
Json stream_step(const char* what, int stream) {
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
    Case one = case_of(op, dtype, axes.shapes[(turn + i) % axes.shapes.size()], axes.layouts.at(0),
                       axes.values.at(0), "call");
    one.seed = 1 + turn;
    one.lane = Lane::direct;
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
  std::vector<Dtype> all = axes.all_dtypes();
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

std::vector<std::string> some_small_calls(const Subject& subject, int profile, std::size_t most) {
  const std::vector<std::string> all = small_calls(subject, profile);
  std::vector<std::string> some;
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(all.size() / most, 1))
    some.push_back(all[i]);
  return some;
}

const Operator* row_of_call(const std::string& call) {
  return find_operator(call.substr(0, call.find('[')));
}

SmallCall small_call(const std::string& name, const Subject& subject, std::size_t turn,
                     int first_object) {
  ensure_operators();
  SmallCall made;
  const Operator* op = row_of_call(name);
  const std::size_t bracket = name.find('[');
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
    if (!call.is_allocated_by_kernel()) add_memory(made.setup, laid, made.outputs.back(), false);
  }
  made.call = call_step(call.problem, call.outputs, made.outputs, first_object);
  return made;
}

}  // namespace bp::conform
