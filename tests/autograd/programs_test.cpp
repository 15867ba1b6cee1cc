// needs: cpu reference_primitives
// Random programs, and those that were found wrong once, against what they compute by definition. By hand:
// BP_PROGRAMS=100000 BP_SEED=7 build/release/tests/test_autograd --gtest_filter='RandomPrograms*'
#include <cmath>
#include <gtest/gtest.h>

#include <backplane/dispatcher/operator_source.hpp>

#include "autograd/programs/kept.hpp"
#include "autograd/programs/shrink.hpp"
#include "autograd/programs/sweep.hpp"
#include "autograd/programs/templates.hpp"

namespace bp::test::programs {
namespace {

const std::vector<std::string> devices{"cpu", "reference_primitives"};

TEST(KeptPrograms, are_right_on_each_device) {
  ASSERT_GE(kept_programs().size(), 40u);
  for (const auto& [where, program] : kept_programs())
    EXPECT_EQ(check_program(program, devices), "") << where << "\n" << text_of(program);
}

TEST(RandomPrograms, are_right_on_each_device) {
  const Swept swept = sweep(wanted_seed(), wanted_programs(500), devices);
  EXPECT_TRUE(swept.found.empty()) << text_of(swept);
  EXPECT_GE(swept.num_judged, swept.num_programs * devices.size() * 9 / 10) << text_of(swept);
  EXPECT_GE(swept.num_second_judged, swept.num_programs * devices.size() * 9 / 10);
  EXPECT_LE(swept.num_otherwise, swept.num_programs / 20);
}

TEST(ProgramText, reads_back_as_the_same_program) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = text_of(generate_program(seed));
    EXPECT_EQ(text_of(parse_program(text)), text);
  }
}

TEST(ProgramText, that_cannot_be_read_is_an_error_with_its_place) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_program(text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of("v0 = leaf(f64, [2, 3], 7"),
            "')' is missing at column 25 of: v0 = leaf(f64, [2, 3], 7");
  EXPECT_EQ(error_of("v0 = (1)"), "a name is missing at column 6 of: v0 = (1)");
}

TEST(ProgramRows, are_those_of_the_table) {
  EXPECT_GE(row_templates().size(), 90u);
  EXPECT_GE(pointwise_rows().size(), 35u);
}

// But those of another dtype, which programs do not make.
TEST(ProgramViews, are_all_described) {
  ensure_operators();
  for (Operator* op : registered_operators()) {
    const bool is_wanted = op->is_view() && op->dtypes == dtypes::all;
    EXPECT_EQ(is_view(op->name()), is_wanted || op->name() == std::string("chunk")) << op->name();
  }
}

// ---- The judge, on wrong outcomes ----

Program judged_program() {
  return parse_program(
      "v0 = leaf(f64, [3], 1)\n"
      "v1 = mul(v0, 1.0)\n"
      "retain_grad(v1)\n"
      "v2 = narrow(v1, 0, 0, 2)\n"
      "sin_(v2)\n"
      "v3 = square(v1)\n"
      "loss(v3)\n");
}

TEST(ProgramJudge, finds_a_wrong_number_wherever_it_is) {
  const Program program = judged_program();
  const Expected expected = expect(program);
  const Outcome right = run_program(program, expected.seen, device("cpu"));
  const Verdict verdict = judge(program, expected, right);
  EXPECT_EQ(verdict.wrong, "");
  EXPECT_TRUE(verdict.was_judged && verdict.was_second_judged);
  const auto kind_with = [&](auto&& spoil) {
    Outcome wrong = right;
    spoil(wrong);
    return judge(program, expected, wrong).kind;
  };
  EXPECT_EQ(kind_with([](Outcome& o) { o.values[2][1] += 1e-6; }), "values");
  EXPECT_EQ(kind_with([](Outcome& o) { o.first[0][2] = NAN; }), "first derivative");
  EXPECT_EQ(kind_with([](Outcome& o) { o.first[0][0] += 1e-4; }), "first derivative");
  EXPECT_EQ(kind_with([](Outcome& o) { o.retained[1][0] = 0; }), "retained gradient");
  EXPECT_EQ(kind_with([](Outcome& o) { o.second[0][1] += 0.01; }), "second derivative");
  EXPECT_EQ(kind_with([](Outcome& o) { o.error = "add: 2 is not 3", o.phase = "first"; }),
            "error: first: add:  is not ");
}

TEST(ProgramJudge, wants_the_errors_that_PyTorch_has) {
  const Program program =
      parse_program("v0 = leaf(f64, [2], 1)\nmul_(v0, 2.0)\nloss(v0)\nthrows()\n");
  const Expected expected = expect(program);
  EXPECT_TRUE(expected.is_refused);
  EXPECT_EQ(judge(program, expected, {}).kind, "no error");
  Outcome refused;
  refused.error = "any";
  EXPECT_EQ(judge(program, expected, refused).wrong, "");
}

// What the loss would be if gradients stopped at detach() and under NoGrad: differences know of both.
TEST(ProgramJudge, knows_what_takes_no_part) {
  const Program program = parse_program(
      "v0 = leaf(f64, [2], [3.0, 5.0])\n"
      "v1 = mul(v0, 1.0)\n"
      "v2 = detach(v1)\n"
      "v3 = mul(v1, v2)\n"
      "nograd: v4 = mul(v1, 2.0)\n"
      "v5 = mul(v4, v0)\n"
      "loss(v3, v5)\n");
  const Expected expected = expect(program);
  ASSERT_EQ(expected.first.size(), 1u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(expected.first[0][i].value,
                (i ? 5 : 3) * (loss_weight(0, i) + 2 * loss_weight(1, i)), 1e-8);
  EXPECT_NEAR(expected.second.value, 0, 1e-6);
}

TEST(ProgramShrinker, leaves_what_is_needed) {
  const Program program = parse_program(
      "v0 = leaf(f64, [2, 3], 1)\n"
      "v1 = leaf(f64, [3], 2)\n"
      "v2 = exp(v0)\n"
      "v3 = add(v2, v1)\n"
      "v4 = select(v3, 0, 1)\n"
      "sin_(v4)\n"
      "v5 = matmul(v0, v4)\n"
      "loss(v3, v2)\n");
  const Program small = shrink(program, [](const Program& candidate) {
    return expect(candidate).invalid.empty() &&
           text_of(candidate).find("sin_") != std::string::npos;
  });
  EXPECT_EQ(text_of(small), "v0 = leaf(f64, [], 1)\nv1 = mul(v0, 2.0)\nsin_(v1)\nloss(v1)\n");
}

}  // namespace
}  // namespace bp::test::programs
