// Derivatives: what backward gives on the device, against the oracle's, and these against differences.
#include <cmath>
#include <fmt/format.h>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "trials/gradient_identity.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

constexpr int first_cotangent = 400;
constexpr int first_gradient = 500;

class GradientTrial : public RowTrial {
 public:
  GradientTrial(const Case& one, const Subject& subject) : RowTrial(one, subject) {
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i)
      if (takes_part(problem_, i)) inputs_.push_back(static_cast<int>(i));
    if (inputs_.empty()) refuse_case(one, "no tensor has a derivative");
    // The gradients that backward starts with are needed for the script, and cost the same there.
    expected_ = expect(problem_, one_, subject_.numerics, true);
    cotangents_ = cotangents(expected_, one_);
  }

  Json script(int index) override {
    Json script = new_script(one_, index);
    steps_ = {};
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i)
      add_step(script,
               tensor_step(problem_.tensors[i], static_cast<int>(i), takes_part(problem_, i)));
    steps_.row = add_step(script, row_step(problem_, first_result));
    Json backward = {{"do", "backward"},
                     {"results", Json::array()},
                     {"cotangents", Json::array()},
                     {"inputs", inputs_},
                     {"gradients", Json::array()}};
    std::size_t next = 0;
    for (std::size_t i = 0; i < num_results() && next < cotangents_.size(); ++i) {
      if (!is_floating(expected_.results[i].dtype) && !is_complex(expected_.results[i].dtype))
        continue;
      add_step(script, tensor_step(cotangents_[next], object_at(first_cotangent, next), false));
      backward["results"].push_back(object_at(first_result, i));
      backward["cotangents"].push_back(object_at(first_cotangent, next++));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      backward["gradients"].push_back(object_at(first_gradient, i));
    steps_.backward = add_step(script, std::move(backward));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      steps_.values.push_back(
          add_step(script, {{"do", "values"}, {"object", object_at(first_gradient, i)}}));
    return script;
  }

  void prepare() override { identity_ = check_identity(problem_, one_, expected_, cotangents_); }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rung = served_rung(result_of(answers.at(0), steps_.row), one_.op);
    const std::string of_backward = served_rung(result_of(answers.at(0), steps_.backward), "");
    if (of_backward == "host" || of_backward == "none") verdict.rung = of_backward;
    if (!identity_.empty()) fail_with(verdict, identity_);
    repeats_ = repeats_bits(answers);
    for (std::size_t run = 0; run < answers.size(); ++run) judge_run(verdict, answers[run], run);
    verdict.hash = hash_of(first_);
    return verdict;
  }

 private:
  struct Steps {
    std::size_t row = 0, backward = 0;
    std::vector<std::size_t> values;
  };

  void judge_run(Verdict& verdict, const Json& answer, std::size_t run) {
    if (verdict.outcome != Outcome::pass) return;
    if (const std::string complaint = complaint_of(answer); !complaint.empty())
      return fail_with(verdict, complaint);
    for (const std::size_t step : {steps_.row, steps_.backward})
      if (!has_succeeded(verdict, result_of(answer, step))) return;
    if (expected_.results.size() < num_results() + inputs_.size())
      return fail_with(
          verdict, fmt::format("the suite expects {} results and gradients, the call has {} and {}",
                               expected_.results.size(), num_results(), inputs_.size()));
    for (std::size_t i = 0; i < inputs_.size() && verdict.outcome == Outcome::pass; ++i) {
      const std::vector<unsigned char>* bytes = bytes_of(result_of(answer, steps_.values[i]));
      if (!bytes)
        return fail_with(verdict, fmt::format("gradient {} cannot be read: {}", i,
                                              message_of(result_of(answer, steps_.values[i]))));
      if (run == 0) {
        first_.push_back(*bytes);
        judge_result(verdict, *bytes, expected_.results[num_results() + i],
                     fmt::format("gradient by tensor {}", inputs_[i]));
      } else if (first_[i] != *bytes && repeats_) {
        fail_with(verdict, "two runs give different gradients: it reads unwritten memory");
      }
    }
  }

  std::vector<int> inputs_;
  std::vector<Laid> cotangents_;
  Steps steps_;
  std::string identity_;
  bool repeats_ = true;
  std::vector<std::vector<unsigned char>> first_;
};

}  // namespace

std::unique_ptr<Trial> make_gradient_trial(const Case& one, const Subject& subject) {
  return std::make_unique<GradientTrial>(one, subject);
}

}  // namespace bp::conform
