#include "trials/trial.hpp"

#include <algorithm>

#include "cases/axes.hpp"
#include "cases/kernels.hpp"
#include "cases/special_cases.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"

namespace bp::conform {

namespace {

constexpr const char* outcome_names[] = {"pass",  "fail",    "unsupported", "mistrusted",
                                         "crash", "timeout", "flaky"};

}  // namespace

const char* name(Outcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

Outcome outcome_named(std::string_view text) {
  const auto* const found = std::ranges::find(outcome_names, text);
  if (found == std::end(outcome_names)) refuse("\"{}\" is not an outcome", text);
  return static_cast<Outcome>(found - std::begin(outcome_names));
}

bool is_failure(Outcome outcome) {
  return outcome != Outcome::pass && outcome != Outcome::unsupported;
}

bool Verdict::native() const {
  return outcome == Outcome::pass && rung != "host";
}

std::unique_ptr<Trial> make_trial(const Case& one, const Subject& subject) {
  if (one.lane == Lane::probe) return make_probe(one, subject);
  if (one.form == "error") return make_refusal_trial(one, subject);
  if (one.form == "grad") return make_gradient_trial(one, subject);
  if (one.form == "repeat" || one.form == "threads") return make_repeat_trial(one, subject);
  if (is_relation(one.form)) return make_relation_trial(one, subject);
  const bool is_of_kernel = one.form.starts_with(form_of_kernel) && one.lane == Lane::direct;
  if (!is_of_kernel &&
      !is_one_of(one.form, {"call", "out", "in_place", "aliased", "stream", "recycled"}))
    refuse_case(one, "there is no form '" + one.form + "'");
  return make_call_trial(one, subject);
}

namespace {

std::size_t rank_of(std::string_view rung) {
  static constexpr std::string_view ranks[] = {"view",       "native", "legalized", "generated",
                                               "decomposed", "host",   "none"};
  const auto* const found = std::ranges::find(ranks, rung);
  return found == std::end(ranks) ? 0 : static_cast<std::size_t>(found - ranks);
}

}  // namespace

Json new_script(const Case& one, int index) {
  return {{"case", name_of(one)},
          {"poison", poisons[index % 2]},
          {"seed", one.seed},
          {"steps", Json::array()}};
}

std::size_t add_step(Json& script, Json step) {
  script["steps"].push_back(std::move(step));
  return script["steps"].size() - 1;
}

const Json& result_of(const Json& answer, std::size_t step) {
  static const Json nothing = {{"code", BP_INTERNAL},
                               {"message", "the worker did not answer this step"}};
  const auto steps = answer.find("steps");
  if (steps == answer.end() || !steps->is_array() || step >= steps->size()) return nothing;
  return (*steps)[step];
}

int code_of(const Json& result) {
  return result.value("code", 0);
}

std::string message_of(const Json& result) {
  return result.value("message", std::string());
}

std::string error_of(const Json& result) {
  return fmt::format("error {}: {}", code_of(result), message_of(result));
}

bool is_refused(const Json& result) {
  return message_of(result).find("no declared kernel takes this call") != std::string::npos;
}

const Bytes* bytes_of(const Json& result) {
  const auto found = result.find("bytes");
  return found == result.end() || !found->is_binary() ? nullptr : &found->get_binary();
}

std::string complaint_of(const Json& answer, const std::vector<int>& written) {
  if (const auto failed = answer.find("failed"); failed != answer.end() && failed->is_string())
    return failed->get<std::string>();
  const auto watch = answer.find("watch");
  if (watch == answer.end() || !watch->is_object()) return {};
  static const std::pair<const char*, const char*> meanings[] = {
      {"lost", "the device no longer answers"},
      {"zones", "wrote outside of its memory"},
      {"inputs", "changed an input"},
      {"gaps", "wrote between the elements of its output"},
      {"failed", "failed, and changed memory nevertheless"},
      {"promises", "said UNSUPPORTED after it had said that it takes the call"},
      {"leaks", "keeps more than it had before"}};
  const auto is_empty = [](const Json& seen) {
    return seen.is_null() || (seen.is_string() ? seen.get<std::string>().empty() : seen.empty());
  };
  Json all = *watch;
  if (const auto inputs = all.find("inputs"); inputs != all.end() && !written.empty())
    std::erase_if(inputs->get_ref<Json::array_t&>(), [&](const Json& each) {
      return std::ranges::find(written, each.value("object", -1)) != written.end();
    });
  for (const auto& [kind, meaning] : meanings)
    if (const auto seen = all.find(kind); seen != all.end() && !is_empty(*seen))
      return fmt::format("{}: {}", meaning, seen->dump());
  for (const auto& [kind, seen] : all.items())
    if (!is_empty(seen)) return fmt::format("{}: {}", kind, seen.dump());
  return {};
}

bool repeats_bits(const Json& answer) {
  return !answer.value("varies", false);
}

bool repeats_bits(const std::vector<Json>& answers) {
  return std::ranges::all_of(answers, [](const Json& answer) { return repeats_bits(answer); });
}

const char* disagreement(bool changes) {
  return changes ? "the same call gives other bits each time, though its kernels declare that they "
                   "are deterministic"
                 : "two runs give different results: it reads unwritten memory, or leaves elements "
                   "unwritten";
}

void fail_with(Verdict& verdict, const std::string& why) {
  if (verdict.outcome == Outcome::fail) return;
  verdict.outcome = Outcome::fail;
  verdict.why = why;
}

bool has_succeeded(Verdict& verdict, const Json& result) {
  demand(code_of(result) == BP_OK || code_of(result) == BP_UNSUPPORTED, "{}", error_of(result));
  if (code_of(result) == BP_UNSUPPORTED && verdict.outcome == Outcome::pass) {
    verdict.outcome = Outcome::unsupported;
    verdict.why = message_of(result);
  }
  return code_of(result) == BP_OK;
}

std::string served_rung(const Json& result, const std::string& op) {
  const auto served = result.find("served");
  if (served == result.end() || !served->is_object() || served->empty()) return {};
  if (const auto own = served->find(op); own != served->end()) return own->get<std::string>();
  std::string worst = "view";
  // An excused row is so inside of others too: index_put finds the places of a mask by nonzero.
  for (const auto& [row, rung] : served->items())
    if (!is_excused_row(row) && rank_of(rung.get_ref<const std::string&>()) > rank_of(worst))
      worst = rung.get<std::string>();
  return worst;
}

void judge_result(Verdict& verdict, const Bytes& bytes, const ExpectedTensor& expected,
                  const std::string& what) {
  verdict.rule = expected.rule;
  const std::int64_t count = numel_of(expected.shape) * itemsize(expected.dtype);
  if (bytes.size() != static_cast<std::size_t>(count))
    return fail_with(verdict,
                     fmt::format("{} has {} bytes, expected {}", what, bytes.size(), count));
  if (expected.only_shape) return;
  const Comparison comparison = compare(bytes, expected);
  verdict.worst_ulp = std::max(verdict.worst_ulp, comparison.worst);
  verdict.worst_share = std::max(verdict.worst_share, comparison.worst_share);
  if (std::abs(comparison.bias) > std::abs(verdict.bias)) verdict.bias = comparison.bias;
  if (!comparison.ok) fail_with(verdict, what + ", " + comparison.why);
  if (comparison.unbounded == 0 || verdict.outcome != Outcome::pass) return;
  const std::uint64_t parts = comparison.of * parts_of(expected.dtype);
  verdict.rule +=
      fmt::format("; {} of {} elements are past any bound", comparison.unbounded, parts);
  if (comparison.unbounded < parts) return;
  verdict.outcome = Outcome::mistrusted;
  verdict.why = what +
                ": anything would be right, since the reference overflows on the way or "
                "rounding may change all of it: other values would prove more";
}

Verdict RowTrial::judge(const std::vector<Json>& answers) {
  Verdict verdict;
  seen_.clear();
  verdict.rung = rung_of(answers.at(0));
  try {
    for (std::size_t run = 0; run < std::min<std::size_t>(answers.size(), 2); ++run) {
      demand_none(complaint_of(answers[run], written_tensors()));
      judge_run(verdict, answers[run], run);
      if (verdict.outcome == Outcome::fail) break;
    }
  } catch (const Wrong& wrong) {
    fail_with(verdict, wrong.why);
  }
  conclude(verdict, answers);
  return verdict;
}

const Bytes& RowTrial::read_of(const Json& answer, std::size_t step, const std::string& what) {
  const Bytes* const bytes = bytes_of(result_of(answer, step));
  demand(bytes != nullptr, "{} cannot be read: {}", what, error_of(result_of(answer, step)));
  return *bytes;
}

std::string hash_of(const std::vector<Bytes>& all) {
  std::uint64_t first = 0x9e3779b97f4a7c15ull, second = 0xcbf29ce484222325ull;
  for (const Bytes& bytes : all) {
    for (const unsigned char byte : bytes) second = (second ^ byte) * 0x100000001b3ull;
    first = mix(first, second);
  }
  return fmt::format("{:016x}{:016x}", first, mix(second));
}

}  // namespace bp::conform
