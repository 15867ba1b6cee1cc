// needs: cpu
// What has to hold between several calls: which relations there are, and that each trial sees what breaks it.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/error.hpp>

#include "cases/kernels.hpp"
#include "cases/special_cases.hpp"
#include "conformance/child_worker.hpp"
#include "inputs/problem.hpp"
#include "judge/calls.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

std::optional<Split> split_of_case(const std::string& name, bool from_last) {
  const Case one = read_case(name);
  return split_of(make_problem(one), one.seed, from_last);
}

TEST(parts, a_product_falls_apart_into_batches_and_columns) {
  const auto batch = split_of_case("core:matmul[f32]/b2x3m5k7n3/plain/normal/batch@1", false);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->dim, 0u);
  EXPECT_EQ(batch->cuts.size(), 2u);
  const auto columns = split_of_case("core:matmul[f32]/b2x3m5k7n3/plain/normal/joined@1", true);
  ASSERT_TRUE(columns.has_value());
  EXPECT_EQ(columns->dim, 3u);
  ASSERT_EQ(columns->cuts.size(), 1u);
  EXPECT_EQ(columns->cuts[0].tensor, 1u);
}

// Square, so that a wrong guess fits in shape.
TEST(parts, a_guess_that_only_fits_in_shape_is_none) {
  const auto columns = split_of_case("core:matmul[f32]/m5k5n5/plain/normal/joined@1", true);
  ASSERT_TRUE(columns.has_value());
  ASSERT_EQ(columns->cuts.size(), 1u);
  EXPECT_EQ(columns->cuts[0].tensor, 1u);
}

TEST(parts, a_sum_falls_apart_along_what_it_keeps) {
  const auto rows = split_of_case("core:sum[f32]/s5x257:dim=1/plain/normal/batch@1", false);
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->size, 5);
  EXPECT_FALSE(split_of_case("core:sum[f32]/s3x5x7x2/plain/normal/batch@1", false).has_value());
}

TEST(parts, statistics_of_a_whole_batch_are_no_slices) {
  const auto split =
      split_of_case("core:native_batch_norm[f32]/sample:images/own/own/batch@1", false);
  EXPECT_TRUE(!split || split->dim != 0);
}

TEST(round_trips, programs_are_read_as_statements) {
  const auto statements = read_program("gather t0 1 r1 > g; r0 = g");
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0].op, "gather");
  EXPECT_EQ(statements[0].arguments, (std::vector<std::string>{"t0", "1", "r1"}));
  EXPECT_EQ(statements[0].results, std::vector<std::string>{"g"});
  EXPECT_EQ(statements[1].op, "=");
  EXPECT_EQ(statements[1].arguments, (std::vector<std::string>{"r0", "g"}));
}

TEST(round_trips, a_dtype_holds_another_where_no_number_is_lost) {
  for (const auto& [wide, narrow] :
       {std::pair(f64, f32), std::pair(f64, i32), std::pair(f32, f16), std::pair(f32, bf16),
        std::pair(i64, u32), std::pair(i16, u8), std::pair(complex64, f32), std::pair(u8, boolean)})
    EXPECT_TRUE(holds_all_of(wide, narrow)) << name(wide) << " " << name(narrow);
  for (const auto& [wide, narrow] :
       {std::pair(f32, f64), std::pair(f32, i32), std::pair(f16, bf16), std::pair(bf16, f16),
        std::pair(u64, i8), std::pair(i32, u32), std::pair(f32, complex64), std::pair(i64, f16)})
    EXPECT_FALSE(holds_all_of(wide, narrow)) << name(wide) << " " << name(narrow);
}

Subject cpu_subject() {
  Subject subject;
  subject.device = "cpu:0";
  subject.has_streams = true;
  return subject;
}

std::vector<Case> relations_of(Profile profile, const std::string& row) {
  Selection selection;
  selection.profile = profile;
  selection.filters = {row};
  std::vector<Case> found;
  for (const Case& one : derive_cases(cpu_subject(), selection))
    if (is_relation(one.form)) found.push_back(one);
  return found;
}

TEST(relations, rows_of_each_kind_have_them) {
  for (const auto& [row, form] :
       {std::pair("add", "forms"), std::pair("add", "joined"), std::pair("bmm", "batch"),
        std::pair("conv2d", "batch"), std::pair("softmax", "joined"), std::pair("sum", "layouts"),
        std::pair("native_layer_norm", "batch"), std::pair("sort", "round_trip"),
        std::pair("cast", "round_trip"), std::pair("transpose", "round_trip")}) {
    const std::vector<Case> cases = relations_of(Profile::normal, row);
    const auto has_form = [wanted = form](const Case& one) { return one.form == wanted; };
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), has_form)) << row << " " << form;
  }
}

TEST(relations, another_seed_gives_cases_that_can_be_made) {
  Selection selection;
  selection.profile = Profile::quick;
  selection.seed = 7;
  const Subject subject = cpu_subject();
  for (const Case& one : derive_cases(subject, selection)) {
    if (!is_relation(one.form)) continue;
    EXPECT_EQ(one.family, "relation") << name_of(one);
    EXPECT_NO_THROW(make_trial(one, subject)) << name_of(one);
  }
}

// A trial on the real device, whose answers are then spoiled.
class OnCpu {
 public:
  explicit OnCpu(const std::string& name) : worker_("cpu:0", "core") {
    trial_ = make_trial(read_case(name), subject_);
    for (int run = 0; run < 2; ++run) {
      scripts_.push_back(trial_->script(run));
      answers_.push_back(worker_.run(scripts_.back()));
    }
    trial_->prepare();
  }
  Verdict judge() { return trial_->judge(answers_); }
  // Spoils the n-th last of the values that are read, in both runs.
  void spoil(std::size_t from_last) {
    for (Json& answer : answers_) {
      std::size_t left = from_last;
      for (std::size_t i = answer["steps"].size(); i-- > 0;) {
        Json& step = answer["steps"][i];
        if (!step.contains("bytes") || left-- != 0) continue;
        step["bytes"].get_binary()[0] ^= 1;
        break;
      }
    }
  }
  // The first bytes of the last value that is read.
  void replace_last(const std::vector<std::uint8_t>& with) {
    for (Json& answer : answers_)
      for (std::size_t i = answer["steps"].size(); i-- > 0;) {
        Json& step = answer["steps"][i];
        if (!step.contains("bytes")) continue;
        std::copy(with.begin(), with.end(), step["bytes"].get_binary().begin());
        break;
      }
  }

 private:
  Subject subject_ = cpu_subject();
  ChildWorker worker_;
  std::unique_ptr<Trial> trial_;
  std::vector<Json> scripts_, answers_;
};

void expect_sees(const std::string& name, std::size_t values_from_last) {
  OnCpu right(name);
  const Verdict verdict = right.judge();
  EXPECT_EQ(verdict.outcome, Outcome::pass) << name << ": " << verdict.why;
  EXPECT_FALSE(verdict.rule.empty()) << name;
  right.spoil(values_from_last);
  EXPECT_EQ(right.judge().outcome, Outcome::fail) << name;
}

TEST(relations, a_slice_that_is_not_the_batch_s_is_seen) {
  expect_sees("core:bmm[i64]/b3m5k7n3/plain/exact/batch@1", 0);
  expect_sees("core:bmm[i64]/b3m5k7n3/plain/exact/batch@1", 2);
}

TEST(relations, joined_results_that_differ_are_seen) {
  expect_sees("core:add[i64]/s16x16/plain/normal/joined@1", 0);
  expect_sees("core:add[i64]/s16x16/plain/normal/joined@1", 1);
}

TEST(relations, a_last_bit_that_depends_on_the_form_is_seen) {
  expect_sees("core:exp[f32]/s257/plain/normal/forms@1", 1);
}

TEST(relations, another_layout_s_result_is_compared) {
  expect_sees("core:sum[i64]/s5x257:dim=1/transpose/normal/layouts@1", 0);
}

TEST(relations, a_way_there_and_not_back_is_seen) {
  expect_sees("core:sort[f32]/s4x33:dim=1/plain/ties/round_trip@1", 0);
  expect_sees("core:transpose[f32]/s3x5x7:dim0=0:dim1=2/plain/normal/round_trip@1", 0);
}

TEST(relations, an_inverse_within_its_bounds_passes_and_beyond_them_fails) {
  OnCpu exp("core:exp[f32]/s257/plain/normal/round_trip@1");
  const Verdict verdict = exp.judge();
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.why;
  EXPECT_GT(verdict.worst_share, 0.0);
  EXPECT_LT(verdict.worst_share, 1.0);
}

TEST(relations, a_name_that_is_no_relation_is_refused) {
  const Subject subject = cpu_subject();
  EXPECT_THROW(make_trial(read_case("core:exp[f32]/s3/plain/normal/round_trip@1"), subject), Error);
  EXPECT_THROW(make_trial(read_case("core:sum[f32]/s3x5/plain/normal/batch@1"), subject), Error);
}

// ---- What a call writes into its arguments

TEST(written, running_statistics_are_expected_as_the_row_says) {
  const Case one = read_case("core:batch_norm[f32]/sample:vectors/own/own/call@1");
  const Problem problem = make_problem(one);
  const Expected expected = expect(problem, one, {}, false);
  ASSERT_EQ(expected.written.size(), 2u);
  const std::vector<double> a = doubles_of(laid_out(problem.tensors[0]));
  const std::int64_t images = problem.tensors[0].shape[0], channels = problem.tensors[0].shape[1];
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < images; ++i) sum += a[static_cast<std::size_t>(i * channels)];
  const double mean = sum / static_cast<double>(images);
  for (std::int64_t i = 0; i < images; ++i)
    squares += std::pow(a[static_cast<std::size_t>(i * channels)] - mean, 2);
  const WrittenTensor &first = expected.written[0], &second = expected.written[1];
  const double before = doubles_of(laid_out(problem.tensors[first.tensor]))[0];
  EXPECT_NEAR(doubles_of(first.after.wide)[0], 0.9 * before + 0.1 * mean, 1e-12);
  EXPECT_NEAR(doubles_of(second.after.wide)[0],
              0.9 * 1.5 + 0.1 * squares / static_cast<double>(images - 1), 1e-12);
  EXPECT_EQ(first.after.bound.size(), static_cast<std::size_t>(channels));
  EXPECT_LT(first.after.bound[0], 1e-4);
}

TEST(written, statistics_that_a_call_only_reads_may_not_change) {
  OnCpu training("core:batch_norm[f32]/sample:vectors/own/own/call@1");
  const Verdict verdict = training.judge();
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.why;
  OnCpu evaluation("core:batch_norm[f32]/sample:evaluation/own/own/call@1");
  EXPECT_EQ(evaluation.judge().outcome, Outcome::pass) << evaluation.judge().why;
  evaluation.spoil(0);
  EXPECT_NE(evaluation.judge().why.find("only reads"), std::string::npos);
}

TEST(written, statistics_that_stay_behind_are_wrong) {
  OnCpu training("core:batch_norm[f32]/sample:vectors/own/own/call@1");
  training.replace_last({0, 0, 0, 0});
  EXPECT_NE(training.judge().why.find("what the call left in tensor"), std::string::npos);
}

// ---- Kernels that the core would not choose, and outputs that kernels allocate

Subject two_kernels() {
  Subject subject;
  subject.device = "acme:0";
  DeclaredKernel kernel;
  kernel.op = "exp";
  bp_arg arg{};
  arg.dtypes = 1u << BP_F32;
  arg.layouts = BP_LAYOUT_STRIDED;
  kernel.args = {arg, arg};
  subject.kernels = {kernel, kernel, kernel};
  subject.kernels[0].op = "neg";
  subject.kernels[2].priority = 1;
  return subject;
}

TEST(shadowed, a_kernel_of_lower_priority_is_called_by_its_place) {
  const Subject subject = two_kernels();
  Selection selection;
  selection.filters = {"direct:exp*"};
  std::size_t of_first = 0;
  for (const Case& one : derive_cases(subject, selection)) {
    EXPECT_NE(one.form, "kernel2") << "it is preferred: " << name_of(one);
    of_first += one.form == "kernel1";
  }
  EXPECT_GT(of_first, 3u);
  const Case one = read_case("direct:exp[f32]/s257/plain/normal/kernel1@1");
  EXPECT_EQ(one.family, "shadowed");
  EXPECT_EQ(place_of_kernel(one, subject), 1);
  const auto trial = make_trial(one, subject);
  bool calls = false;
  const Json script = trial->script(0);
  for (const Json& step : script["steps"])
    if (step["do"] == "call") calls = step.value("kernel", -1) == 1;
  EXPECT_TRUE(calls);
  EXPECT_THROW(make_trial(read_case("direct:exp[f32]/s257/plain/normal/kernel3@1"), subject),
               Error);
}

TEST(direct_trial, a_kernel_that_allocates_its_output_gets_calls) {
  Subject subject = two_kernels();
  for (DeclaredKernel& kernel : subject.kernels) {
    kernel.op = "nonzero";
    kernel.args[1].dtypes = 1u << BP_I64;
  }
  const Case one = read_case("direct:nonzero[f32]/s16x17/plain/normal/call@1");
  DirectProblem call;
  ASSERT_TRUE(make_direct_call(one, make_problem(one), subject, call));
  EXPECT_TRUE(call.is_allocated_by_kernel());
  ASSERT_EQ(call.outputs.size(), 1u);
  EXPECT_EQ(call.outputs[0].shape.size(), 2u);
  EXPECT_EQ(call.outputs[0].shape[1], 2);
  const auto trial = make_trial(one, subject);
  trial->prepare();
  Json answer = {{"steps", Json::array()}};
  const Json script = trial->script(0);
  for (const Json& step : script["steps"]) {
    Json result = {{"code", 0}};
    if (step["do"] == "call") result["outputs"] = {{{"shape", {1, 2}}}};
    if (step["do"] == "read")
      result["bytes"] = Json::binary(std::vector<std::uint8_t>(step["count"].get<std::size_t>()));
    answer["steps"].push_back(result);
  }
  const Verdict verdict = trial->judge({answer});
  EXPECT_NE(verdict.why.find("allocated with shape"), std::string::npos) << verdict.why;
}

// ---- Bounds that say nothing

TEST(judging, a_result_of_which_anything_is_right_is_mistrusted) {
  const Case one = read_case("core:exp[f32]/s3/plain/normal/call@1");
  Expected expected = expect(make_problem(one), one, {}, false);
  expected.results[0].bound.assign(3, HUGE_VAL);
  Verdict verdict;
  judge_result(verdict, std::vector<unsigned char>(12), expected.results[0], "result 0");
  EXPECT_EQ(verdict.outcome, Outcome::mistrusted);
  EXPECT_NE(verdict.why.find("anything"), std::string::npos);
}

TEST(DecisiveProblem, draws_again_where_one_number_proves_nothing) {
  int drawn_anew = 0;
  for (const char* start :
       {"core:lerp[f64]/s/plain/wide/call@", "core:addcmul[f64]/s/plain/wide/call@",
        "core:floor_divide[f64]/s1/step2/wide/call@",
        "core:xlogy[f32]/s1023,1/plain/normal/stream@"})
    for (int seed = 1; seed <= 40; ++seed) {
      const Case one = read_case(start + std::to_string(seed));
      const Problem problem = decisive_problem(one, {});
      for (const ExpectedTensor& each : expect(problem, one, {}, false).results) {
        EXPECT_FALSE(is_unvaried(one, problem, each)) << name_of(one);
        EXPECT_TRUE(each.bound.empty() ||
                    std::count(each.bound.begin(), each.bound.end(), HUGE_VAL) <
                        static_cast<std::ptrdiff_t>(each.bound.size()))
            << name_of(one);
      }
      const Problem again = decisive_problem(one, {}), first = make_problem(one);
      EXPECT_EQ(again.tensors[0].storage, problem.tensors[0].storage) << name_of(one);
      drawn_anew += first.tensors[0].storage != problem.tensors[0].storage;
    }
  EXPECT_GT(drawn_anew, 0);
}

}  // namespace
}  // namespace bp::conform
