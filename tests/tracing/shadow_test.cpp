// needs: cpu reference
#include <cstring>
#include <gmock/gmock.h>
#include <random>

#include <backplane/tracing/saved_call.hpp>

#include "tracing/programs.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;
using testing::HasSubstr;

class Shadow : public testing::Test {
 protected:
  TemporaryFolder folder_;

  Child shadow(const std::string& program, std::vector<std::string> environment = {}) {
    environment.push_back("BACKPLANE_SHADOW=cpu");
    environment.push_back("BACKPLANE_SHADOW_DIR=" + folder_.path().string());
    Child child = run_child("Shadow.DISABLED_" + program, environment);
    EXPECT_EQ(child.exit_code, 0) << child.output;
    return child;
  }

  // The command that the report ends with, done as it is printed.
  Finished repeat(const Child& child, const std::vector<std::string>& environment) {
    const std::string sign = "to repeat it: backplane ";
    const std::size_t begin = child.output.find(sign);
    if (begin == std::string::npos) return {-1, "", child.output};
    std::istringstream text(child.output.substr(begin + sign.size()));
    std::vector<std::string> words;
    for (std::string word; text >> word && word != "(no";) words.push_back(word);
    return run_backplane(words, environment);
  }

  void expect_caught(const std::string& program, const std::string& fault, const std::string& op) {
    const std::string variable = "BACKPLANE_EXAM_FAULT=" + fault;
    const Child child = shadow(program, {variable});
    EXPECT_THAT(child.output, HasSubstr("error: " + op + " on exam:0 (native) differs from cpu: "));
    const Finished again = repeat(child, {variable});
    EXPECT_EQ(again.exit_code, 1) << again.err;
    EXPECT_THAT(again.out, HasSubstr(op + " on exam:0 differs from cpu:0: element "));
    const Finished without_fault = repeat(child, {});
    EXPECT_EQ(without_fault.exit_code, 0) << without_fault.err << without_fault.out;
    EXPECT_EQ(without_fault.out, op + " on exam:0 agrees with cpu:0\n");
  }
};

TEST_F(Shadow, DISABLED_some_calls) {
  const Tensor a = some_numbers({5, 7}, test_backend("exam"));
  bp::exp(bp::add(a, a));
  bp::exp(a);
}

TEST_F(Shadow, a_wrong_kernel_is_reported_with_a_command_that_repeats_it) {
  expect_caught("some_calls", "exp_off", "exp");
}

TEST_F(Shadow, only_the_first_difference_is_reported) {
  const Child child = shadow("some_calls", {"BACKPLANE_EXAM_FAULT=exp_off"});
  EXPECT_EQ(child.output.find("differs from"), child.output.rfind("differs from"));
}

TEST_F(Shadow, DISABLED_in_place) {
  Tensor a = some_numbers({5, 7}, test_backend("exam"));
  bp::exp_(a);
}

TEST_F(Shadow, a_call_in_place_is_repeated_with_what_it_began_with) {
  expect_caught("in_place", "exp_off", "exp");
}

TEST_F(Shadow, DISABLED_transposed) {
  bp::exp(bp::transpose(some_numbers({5, 7}, test_backend("exam")), 0, 1));
}

TEST_F(Shadow, a_fault_of_a_layout_is_repeated_in_that_layout) {
  expect_caught("transposed", "strides_ignored", "exp");
}

// Calls of all sorts, and the bytes of what they give.
std::string bytes_of_many_calls(bp::Device device) {
  bp::manual_seed(7);
  const bp::DeviceGuard guard(device);
  const Tensor a = some_numbers({8, 12}, device), b = some_numbers({12, 6}, device);
  Tensor c = bp::clone(a);
  bp::add_(c, bp::select(a, 0, 1), -1.0);
  const auto [values, places] = bp::sort(bp::reshape(bp::randn({30}), {5, 6}), 1);
  const std::vector<Tensor> results{bp::matmul(a, b),
                                    bp::softmax(a, 1),
                                    bp::sum(bp::cast(a, bp::f16)),
                                    c,
                                    bp::rand({9}),
                                    bp::dropout(a, 0.5),
                                    values,
                                    places,
                                    bp::argmax(a, 1),
                                    bp::nonzero(a),
                                    bp::cat({a, c}),
                                    bp::layer_norm(a, {12}),
                                    bp::cumsum(a, 0),
                                    bp::empty({3})};
  std::string bytes;
  for (std::size_t i = 0; i + 1 < results.size(); ++i) {
    std::string one(results[i].nbytes(), '\0');
    bp::copy_to_host_memory(results[i], one.data());
    bytes += one;
  }
  return bytes;
}

TEST_F(Shadow, DISABLED_many_calls) {
  const char* name = std::getenv("DEVICE");
  const bp::Device device = std::strcmp(name, "exam") == 0 ? test_backend(name) : bp::device(name);
  const std::string bytes = bytes_of_many_calls(device);
  std::ofstream(std::getenv("RESULT_FILE")) << bytes << bp::format_call_counts();
}

TEST_F(Shadow, changes_neither_results_nor_counts_and_finds_nothing_in_right_kernels) {
  for (const std::string device : {"exam", "reference"}) {
    const std::string watched = folder_.path() / "watched", alone = folder_.path() / "alone";
    const Child child = shadow("many_calls", {"RESULT_FILE=" + watched, "DEVICE=" + device});
    EXPECT_THAT(child.output, HasSubstr("calls were compared with cpu: none differs"));
    EXPECT_THAT(child.output, testing::Not(HasSubstr(" 0 calls")));
    run_child("Shadow.DISABLED_many_calls", {"RESULT_FILE=" + alone, "DEVICE=" + device});
    EXPECT_GT(read_file(alone).size(), 1000u);
    EXPECT_EQ(read_file(watched), read_file(alone)) << device;
  }
}

TEST_F(Shadow, a_device_that_is_not_there_is_a_warning) {
  const Child child = run_child("Shadow.DISABLED_some_calls", {"BACKPLANE_SHADOW=nobody"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("warning: BACKPLANE_SHADOW=nobody: "));
  EXPECT_THAT(child.output, HasSubstr("; no call is compared"));
}

TEST_F(Shadow, what_cannot_be_saved_is_reported_all_the_same) {
  const Child child = run_child(
      "Shadow.DISABLED_some_calls",
      {"BACKPLANE_SHADOW=cpu", "BACKPLANE_EXAM_FAULT=exp_off", "BACKPLANE_SHADOW_DIR=/nowhere"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("exp on exam:0 (native) differs from cpu: "));
  EXPECT_THAT(child.output, HasSubstr("its inputs are lost: /nowhere/backplane-exp-"));
}

bp::tracing::SavedCall an_add() {
  const Tensor a = bp::ones({2, 3});
  bp_value args[] = {bp::value_of(a), bp::value_of(bp::transpose(bp::ones({3, 2}), 0, 1)),
                     bp::value_of(std::int64_t{1})};
  const Tensor kept = bp::transpose(bp::ones({3, 2}), 0, 1);
  args[1] = bp::value_of(kept);
  Tensor result = a;  // in place
  return bp::tracing::save_call({*bp::find_operator("add"), args, 3, &result, 1},
                                bp::device("cpu"));
}

TEST_F(Shadow, a_saved_call_is_read_as_it_was_written) {
  const std::string file = folder_.path() / "add.call";
  bp::tracing::write_call(an_add(), file);
  const bp::tracing::SavedCall saved = bp::tracing::read_call(file);
  EXPECT_EQ(saved.storages.size(), 2u);  // the target is the first argument
  const auto results = bp::tracing::repeat_call(saved, bp::device("cpu"));
  EXPECT_EQ(results[0].data<float>()[5], 2.0f);
  EXPECT_EQ(bp::tracing::repeat_call(saved, bp::device("reference")).size(), 1u);
}

TEST_F(Shadow, a_broken_file_is_an_error) {
  const std::string file = folder_.path() / "add.call";
  bp::tracing::write_call(an_add(), file);
  const std::string whole = read_file(file);
  const auto outcome = [&](const std::string& text) -> std::string {
    folder_.write("add.call", text);
    try {
      bp::tracing::repeat_call(bp::tracing::read_call(file), bp::device("cpu"));
      return "done";
    } catch (const bp::Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(outcome(whole), "done");
  EXPECT_THAT(outcome(""), HasSubstr("not a call that BACKPLANE_SHADOW saved"));
  EXPECT_THAT(outcome(whole.substr(0, whole.size() - 1)), HasSubstr("ends 1 bytes too early"));
  EXPECT_THAT(outcome("{\"backplane_call\": 2}\n"), HasSubstr("it is not a call of format 1"));
  EXPECT_NE(outcome("[1]\n"), "done");
  std::mt19937 random(5);  // fixed: a failure can be repeated
  const std::size_t header = whole.find('\n');
  for (int i = 0; i < 3000; ++i) {
    std::string broken = whole;
    for (int k = 0; k <= i % 3; ++k)
      broken[random() % header] = "0123456789-[]{},:\"en"[random() % 20];
    outcome(broken);  // it comes back, whatever it says
  }
}

}  // namespace
