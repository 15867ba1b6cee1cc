// needs: cpu
// Trials of rows, judged on answers that the test makes up.
#include <cstring>
#include <gtest/gtest.h>

#include <backplane/tensor/error.hpp>

#include "cases/derive.hpp"
#include "cases/kernels.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

Subject plain_subject() {
  Subject subject;
  subject.device = "acme:0";
  return subject;
}

// What a worker that is right would answer to core:add[f32]/s2/plain/exact.
class AddOfTwo : public testing::Test {
 protected:
  AddOfTwo() : trial_(make_trial(read_case("core:add[f32]/s2/plain/exact/call@1"), subject_)) {
    for (int run = 0; run < 2; ++run) answers_.push_back(answer_to(trial_->script(run)));
    trial_->prepare();
  }

  static Json answer_to(const Json& script) {
    Json answer = {{"case", script["case"]}, {"steps", Json::array()}, {"watch", Json::object()}};
    float sum[2] = {0, 0};
    for (const Json& step : script["steps"]) {
      Json result = {{"code", 0}};
      if (step["do"] == "tensor") {
        float numbers[2];
        std::memcpy(numbers, step["storage"].get_binary().data(), sizeof numbers);
        for (int i = 0; i < 2; ++i) sum[i] += numbers[i];
      }
      if (step["do"] == "row") {
        result["shapes"] = {{2}};
        result["dtypes"] = {"f32"};
        result["served"] = {{"add", "native"}};
      }
      if (step["do"] == "values") {
        const auto* bytes = reinterpret_cast<const unsigned char*>(sum);
        result["bytes"] = Json::binary({bytes, bytes + sizeof sum});
      }
      answer["steps"].push_back(result);
    }
    return answer;
  }
  Json& step_with(int run, const char* key) {
    for (Json& step : answers_[static_cast<std::size_t>(run)]["steps"])
      if (step.contains(key)) return step;
    throw std::runtime_error(key);
  }
  void expect_failure(const char* word) {
    const Verdict verdict = trial_->judge(answers_);
    EXPECT_EQ(verdict.outcome, Outcome::fail);
    EXPECT_NE(verdict.why.find(word), std::string::npos) << verdict.why;
  }

  Subject subject_ = plain_subject();
  std::unique_ptr<Trial> trial_;
  std::vector<Json> answers_;
};

TEST_F(AddOfTwo, the_right_answer_passes_with_its_rung_and_a_hash) {
  const Verdict verdict = trial_->judge(answers_);
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.why;
  EXPECT_EQ(verdict.rung, "native");
  EXPECT_EQ(verdict.hash.size(), 32u);
}

TEST_F(AddOfTwo, a_wrong_element_fails) {
  for (int run = 0; run < 2; ++run) step_with(run, "bytes")["bytes"].get_binary()[6] ^= 1;
  expect_failure("element");
}

TEST_F(AddOfTwo, runs_that_differ_fail) {
  step_with(1, "bytes")["bytes"].get_binary()[0] ^= 1;
  EXPECT_TRUE(trial_->asks_again(answers_));
  // The second script says the same again: what was in memory decides.
  answers_.push_back(answers_[1]);
  expect_failure("unwritten memory");
}

TEST_F(AddOfTwo, runs_that_differ_with_the_same_poison_too_are_not_deterministic) {
  EXPECT_FALSE(trial_->asks_again(answers_));
  step_with(1, "bytes")["bytes"].get_binary()[0] ^= 1;
  answers_.push_back(answers_[0]);
  expect_failure("deterministic");
}

TEST_F(AddOfTwo, another_shape_or_dtype_fails) {
  step_with(0, "shapes")["shapes"] = {{1, 2}};
  expect_failure("shape");
  step_with(0, "shapes")["shapes"] = {{2}};
  step_with(0, "dtypes")["dtypes"] = {"f64"};
  trial_ = make_trial(read_case("core:add[f32]/s2/plain/exact/call@1"), subject_);
  for (int run = 0; run < 2; ++run) trial_->script(run);
  trial_->prepare();
  expect_failure("f64");
}

TEST_F(AddOfTwo, whatever_an_instrument_saw_fails) {
  answers_[1]["watch"]["zones"] = Json::array({{{"object", 200}, {"at", 8}}});
  expect_failure("outside");
}

TEST_F(AddOfTwo, an_answer_without_steps_fails) {
  answers_[0] = {{"case", "?"}};
  expect_failure("did not answer");
}

TEST_F(AddOfTwo, a_device_that_says_unsupported_is_counted_apart) {
  for (int run = 0; run < 2; ++run) {
    Json& row = step_with(run, "served");
    row = {{"code", BP_UNSUPPORTED}, {"message", "add: no kernel"}};
  }
  const Verdict verdict = trial_->judge(answers_);
  EXPECT_EQ(verdict.outcome, Outcome::unsupported);
  EXPECT_EQ(verdict.why, "add: no kernel");
}

TEST(served_rung, is_the_worst_of_the_rows_inside_but_for_those_excused) {
  const auto rung = [](const Json& served) {
    return served_rung({{"served", served}}, "index_put");
  };
  EXPECT_EQ(rung({{"add", "generated"}, {"nonzero", "host"}}), "generated");
  EXPECT_EQ(rung({{"add", "generated"}, {"sum", "host"}}), "host");
  EXPECT_EQ(rung({{"index_put", "decomposed"}}), "decomposed");
  EXPECT_EQ(served_rung({{"served", {{"nonzero", "host"}}}}, "nonzero"), "host");
}

// A plugin with one kernel, for contiguous f32.
Subject one_kernel() {
  Subject subject = plain_subject();
  DeclaredKernel kernel;
  kernel.op = "add";
  bp_arg arg{};
  arg.dtypes = 1u << BP_F32;
  arg.layouts = BP_LAYOUT_CONTIGUOUS;
  kernel.args = {arg, arg, bp_arg{}, arg};
  subject.kernels.push_back(kernel);
  return subject;
}

TEST(direct_trial, only_calls_that_a_declared_kernel_takes_are_made) {
  const Subject subject = one_kernel();
  EXPECT_NO_THROW(make_trial(read_case("direct:add[f32]/s2x3/plain/normal/call@1"), subject));
  EXPECT_THROW(make_trial(read_case("direct:add[f64]/s2x3/plain/normal/call@1"), subject), Error);
  EXPECT_THROW(make_trial(read_case("direct:add[f32]/s2x3/step2/normal/call@1"), subject), Error);
  EXPECT_THROW(make_trial(read_case("direct:add[f32]/s2x3,3/plain/normal/call@1"), subject), Error);
  EXPECT_THROW(make_trial(read_case("direct:mul[f32]/s2x3/plain/normal/call@1"), subject), Error);
}

TEST(direct_cases, fractions_in_a_range_of_whole_numbers_are_left_open) {
  Subject subject = plain_subject();
  DeclaredKernel kernel;
  kernel.op = "arange";
  kernel.args = {bp_arg{}, bp_arg{}, bp_arg{}, bp_arg{}, bp_arg{}, bp_arg{}};
  subject.kernels.push_back(kernel);
  Selection full;
  full.profile = Profile::full;
  full.filters = {"direct:arange*"};
  std::size_t count = 0;
  for (const Case& one : derive_cases(subject, full)) {
    ++count;
    EXPECT_TRUE(is_floating(one.dtype) || one.shape.find('.') == std::string::npos) << name_of(one);
  }
  EXPECT_GT(count, 0u);
}

// What lies in two elements of a tensor cannot be written in place.
TEST(direct_trial, nothing_is_written_in_place_over_elements_that_overlap) {
  Subject subject = one_kernel();
  subject.kernels[0].flags = BP_KERNEL_IN_PLACE_SAFE;
  for (bp_arg& arg : subject.kernels[0].args)
    if (arg.dtypes) arg.layouts = BP_LAYOUT_STRIDED;
  for (const char* layouts : {"plain", "overlap.plain", "expand.plain"}) {
    const Case one =
        read_case(std::string("direct:add[f32]/s4x6/") + layouts + "/exact/in_place@1");
    DirectProblem call;
    EXPECT_EQ(make_direct_call(one, make_problem(one), subject, call),
              std::string_view(layouts) == "plain")
        << layouts;
  }
}

TEST(direct_trial, unsupported_from_run_is_a_failure_and_from_supports_is_none) {
  const Subject subject = one_kernel();
  const auto trial = make_trial(read_case("direct:add[f32]/s2x3/plain/normal/call@1"), subject);
  std::vector<Json> answers;
  for (int run = 0; run < 2; ++run) {
    Json answer = {{"steps", Json::array()}};
    const Json script = trial->script(run);
    for (const Json& step : script["steps"])
      answer["steps"].push_back(step["do"] == "call" ? Json{{"code", BP_UNSUPPORTED}, {"kernel", 0}}
                                                     : Json{{"code", 0}});
    answers.push_back(answer);
  }
  trial->prepare();
  EXPECT_NE(trial->judge(answers).why.find("UNSUPPORTED"), std::string::npos);
  for (Json& answer : answers)
    for (Json& step : answer["steps"])
      if (step.contains("kernel")) step["kernel"] = -1;
  const Verdict verdict = trial->judge(answers);
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.why;
}

}  // namespace
}  // namespace bp::conform
