// The same call gives the same bits: again and again ("repeat"), and from several threads at once ("threads").
#include <algorithm>
#include <fmt/format.h>

#include "inputs/element.hpp"
#include "inputs/layouts.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

constexpr int times_at_stress = 1200;
constexpr int threads_at_stress = 4;

// Many calls: all distinct hashes of their results are reported, and there may be one.
class RepeatTrial : public RowTrial {
 public:
  using RowTrial::RowTrial;

  int timeout_seconds() const override { return 60; }

  Json script(int index) override {
    Json script = new_script(one_, index);
    add_tensors(script);
    const Json row = row_step(problem_, first_result);
    first_ = add_step(script, row);
    values_.clear();
    for (const Json& object : row["results"])
      values_.push_back(add_step(script, {{"do", "values"}, {"object", object}}));
    const int threads = one_.form == "threads" ? threads_at_stress : 1;
    repeat_ = add_step(script, {{"do", "repeat"},
                                {"times", index == 0 ? times_at_stress / threads : 10},
                                {"threads", threads},
                                {"steps", Json::array({row})},
                                {"hash", row["results"]}});
    return script;
  }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rung = served_rung(result_of(answers.at(0), first_), one_.op);
    verdict.rule = "the same bits each time";
    for (const Json& answer : answers) {
      if (const std::string complaint = complaint_of(answer); !complaint.empty())
        fail_with(verdict, complaint);
      has_succeeded(verdict, result_of(answer, first_));
      if (verdict.outcome == Outcome::unsupported) return verdict;
      judge_values(verdict, answer);
      judge_hashes(verdict, result_of(answer, repeat_));
    }
    return verdict;
  }

 private:
  void judge_values(Verdict& verdict, const Json& answer) const {
    const std::string rule = verdict.rule;
    const std::size_t count = std::min(expected_.results.size(), num_results());
    for (std::size_t i = 0; i < count && verdict.outcome == Outcome::pass; ++i) {
      const std::vector<unsigned char>* bytes = bytes_of(result_of(answer, values_[i]));
      if (!bytes) return fail_with(verdict, fmt::format("result {} cannot be read", i));
      judge_result(verdict, *bytes, expected_.results[i], fmt::format("result {}", i));
    }
    verdict.rule = rule;
  }

  void judge_hashes(Verdict& verdict, const Json& result) const {
    if (verdict.outcome != Outcome::pass) return;
    if (code_of(result) != BP_OK)
      return fail_with(verdict, fmt::format("error {} among many calls: {}", code_of(result),
                                            message_of(result)));
    const auto hashes = result.find("hashes");
    if (hashes == result.end() || hashes->empty())
      return fail_with(verdict, "no call was repeated");
    if (hashes->size() > 1 && !may_vary())
      fail_with(verdict, "not the same result each time: " + hashes->dump());
  }

  // A kernel that does not declare BP_KERNEL_DETERMINISTIC may sum up in another order each time.
  bool may_vary() const { return !subject_.repeats_bits(one_.op); }

  std::size_t first_ = 0, repeat_ = 0;
  std::vector<std::size_t> values_;
};

}  // namespace

std::unique_ptr<Trial> make_repeat_trial(const Case& one, const Subject& subject) {
  if (one.lane != Lane::core) refuse_case(one, "only the core lane repeats calls");
  return std::make_unique<RepeatTrial>(one, subject);
}

}  // namespace bp::conform
