// needs: cpu reference_primitives
#include <csignal>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <backplane/dispatcher/call.hpp>

#include "tracing/programs.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;
using nlohmann::json;
using testing::HasSubstr;

// The calls of a whole trace. It is read as JSON, as Chrome would.
std::vector<json> calls_in(const std::filesystem::path& file) {
  std::vector<json> calls;
  for (const json& event : json::parse(read_file(file)))
    if (event["ph"] == "X") calls.push_back(event);
  return calls;
}

json find_call(const std::vector<json>& calls, const std::string& op, const std::string& device) {
  for (const json& call : calls)
    if (call["name"] == op && call["args"]["device"] == device) return call;
  ADD_FAILURE() << "no " << op << " on " << device;
  return {};
}

class Trace : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string file_ = folder_.path() / "trace.json";

  std::vector<json> trace(const std::string& program) {
    const Child child = run_child("Trace.DISABLED_" + program, {"BACKPLANE_TRACE=ops:" + file_});
    EXPECT_EQ(child.exit_code, 0) << child.output;
    return calls_in(file_);
  }
};

TEST_F(Trace, DISABLED_one_of_each_rung) {
  const Tensor a = some_numbers({2, 3}, bp::device("cpu"));
  bp::add(a, a, 2.5);
  bp::sum(bp::transpose(a, 0, 1), {1});
  bp::mul_(a, a);
  bp::softmax(bp::ones({4}, bp::f32, bp::device("reference_primitives")), 0);
  bp::exp(bp::ones({5}, bp::f32, test_backend("memonly")));
  bp::add(bp::ones({0}), bp::ones({0}));
}

TEST_F(Trace, DISABLED_a_call_that_only_writes) {
  const std::vector<Tensor> all = {bp::ones({3}), bp::ones({2, 2})},
                            grads = {all[0] * 2, all[1] * 2};
  bp::_fused_sgd_(all, grads, std::vector<Tensor>(), 0, 0, 0.5, 0, false, false, false);
}

TEST_F(Trace, a_call_that_only_writes_has_no_result) {
  const json step = find_call(trace("a_call_that_only_writes"), "_fused_sgd_", "cpu:0");
  EXPECT_EQ(step["cat"], "native");
  EXPECT_EQ(step["args"]["result_shapes"], json::array());
}

TEST_F(Trace, each_call_is_an_event_with_its_shapes_dtypes_device_rung_and_time) {
  const json add = find_call(trace("one_of_each_rung"), "add", "cpu:0");
  EXPECT_EQ(add["cat"], "native");
  EXPECT_GT(add["dur"], 0.0);
  EXPECT_GT(add["ts"], 0.0);
  json args = add["args"];
  EXPECT_EQ(args, json::parse(R"({"rung": "native", "device": "cpu:0", "depth": 0,
    "shapes": [[2, 3], [2, 3]], "dtypes": ["float32", "float32"], "values": {"alpha": 2.5},
    "result_shapes": [[2, 3]], "result_dtypes": ["float32"]})"));
}

TEST_F(Trace, views_layouts_and_targets_are_told) {
  const std::vector<json> calls = trace("one_of_each_rung");
  EXPECT_EQ(find_call(calls, "transpose", "cpu:0")["args"]["rung"], "view");
  EXPECT_EQ(find_call(calls, "sum", "cpu:0")["args"]["strides"], json::parse("[[1, 3]]"));
  EXPECT_EQ(find_call(calls, "mul", "cpu:0")["args"]["into"], true);
  bool empty_is_there = false;
  for (const json& call : calls) empty_is_there |= call["args"]["rung"] == "no kernel needed";
  EXPECT_TRUE(empty_is_there);
}

TEST_F(Trace, DISABLED_lists) {
  const bp::Device device = test_backend("lists");
  const Tensor input = some_numbers({4}, device);
  const std::vector<Tensor> others{Tensor(), input};
  const bp::TensorListValue list(others);
  bp::Generator generator(7);
  bp::call_boxed("lists::weigh", {bp::value_of(input), list.value()});
  bp::call_boxed("lists::cut", {bp::value_of(input), bp::value_of(std::int64_t{3})});
  bp::call_boxed("lists::noise", {bp::value_of(input), bp::value_of(&generator)});
  bp::split(input, 3);
}

TEST_F(Trace, lists_holes_and_generators_are_told) {
  const std::vector<json> calls = trace("lists");
  EXPECT_EQ(find_call(calls, "lists::weigh", "lists:0")["args"]["shapes"],
            json::parse("[[4], [4]]"));
  EXPECT_EQ(find_call(calls, "lists::cut", "lists:0")["args"]["result_shapes"],
            json::parse("[[], [3], [1]]"));
  EXPECT_EQ(find_call(calls, "lists::noise", "lists:0")["args"]["values"],
            json::parse(R"({"generator": {"seed": 7, "offset": 0}})"));
  const json split = find_call(calls, "split", "lists:0");
  EXPECT_EQ(split["args"]["rung"], "view");
  EXPECT_EQ(split["args"]["result_shapes"], json::parse("[[3], [1]]"));
}

// The calls that lie inside the one, by time and thread.
std::vector<json> inside(const std::vector<json>& calls, const json& outer) {
  const double begin = outer["ts"], end = begin + outer["dur"].get<double>();
  std::vector<json> found;
  for (const json& call : calls)
    if (call["args"]["depth"] == 1 && call["ts"] >= begin && call["ts"] <= end &&
        call["tid"] == outer["tid"])
      found.push_back(call);
  return found;
}

TEST_F(Trace, what_a_call_is_made_of_lies_inside_it) {
  const std::vector<json> calls = trace("one_of_each_rung");
  const json softmax = find_call(calls, "softmax", "reference_primitives:0");
  EXPECT_EQ(softmax["args"]["rung"], "decomposed");
  std::vector<std::string> parts;
  for (const json& part : inside(calls, softmax)) {
    // sub is a sum with what neg gives; all else has a kernel.
    EXPECT_EQ(part["args"]["rung"] == "decomposed", part["name"] == "sub") << part;
    parts.push_back(part["name"]);
  }
  EXPECT_THAT(parts, testing::Contains("exp"));

  const json exp = find_call(calls, "exp", "memonly:0");
  EXPECT_EQ(exp["args"]["rung"], "host");
  const std::vector<json> on_host = inside(calls, exp);
  ASSERT_EQ(on_host.size(), 1u);
  EXPECT_EQ(on_host[0]["name"], "exp");
  EXPECT_EQ(on_host[0]["args"]["device"], "cpu:0");
}

TEST_F(Trace, DISABLED_a_bad_call) {
  EXPECT_THROW(bp::add(bp::ones({2}), bp::ones({3})), bp::Error);
}

TEST_F(Trace, a_call_that_fails_says_why) {
  for (const json& call : trace("a_bad_call"))
    if (call["name"] == "add") {
      EXPECT_EQ(call["args"]["rung"], "error");
      EXPECT_THAT(call["args"]["error"].get<std::string>(), HasSubstr("do not broadcast"));
      return;
    }
  FAIL() << "the call is missing";
}

TEST_F(Trace, DISABLED_a_sudden_end) {
  const Tensor a = bp::ones({2});
  for (int i = 0; i < 10; ++i) bp::mul(a, a);
  raise(SIGKILL);
}

TEST_F(Trace, a_sudden_end_keeps_every_line_before_it) {
  const Child child = run_child("Trace.DISABLED_a_sudden_end", {"BACKPLANE_TRACE=ops:" + file_});
  EXPECT_EQ(child.exit_code, 128 + SIGKILL);
  const std::vector<std::string> lines = lines_of(read_file(file_));
  ASSERT_GT(lines.size(), 11u);
  EXPECT_EQ(lines[0], "[");
  int num_calls = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    ASSERT_TRUE(lines[i].ends_with("},")) << lines[i];
    num_calls += json::parse(lines[i].substr(0, lines[i].size() - 1))["name"] == "mul";
  }
  EXPECT_EQ(num_calls, 10);
}

TEST_F(Trace, DISABLED_a_fork) {
  const Tensor a = bp::ones({2});
  const pid_t child = fork();
  bp::mul(a, a);
  if (child == 0) std::exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  bp::exp(a);
}

TEST_F(Trace, a_forked_child_leaves_the_file_to_its_parent) {
  std::vector<std::string> names;
  for (const json& call : trace("a_fork")) names.push_back(call["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"full", "mul", "exp"}));
}

TEST_F(Trace, DISABLED_a_program_in_a_program) {
  bp::exp(bp::ones({2}));
  EXPECT_EQ(run_child("Trace.DISABLED_a_bad_call").exit_code, 0);
}

TEST_F(Trace, a_second_process_takes_a_file_of_its_own) {
  const std::vector<json> calls = trace("a_program_in_a_program");
  find_call(calls, "exp", "cpu:0");
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path() == file_) continue;
    ++num_files;
    find_call(calls_in(entry.path()), "add", "cpu:0");
  }
  EXPECT_EQ(num_files, 1);
}

TEST_F(Trace, what_cannot_be_written_is_a_warning) {
  const Child child =
      run_child("Trace.DISABLED_one_of_each_rung", {"BACKPLANE_TRACE=ops:/nowhere/trace.json"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output,
              HasSubstr("warning: the trace cannot be written to /nowhere/trace.json: No such file "
                        "or directory; the program continues without it"));
  const Child full =
      run_child("Trace.DISABLED_one_of_each_rung", {"BACKPLANE_TRACE=ops:/dev/full"});
  EXPECT_EQ(full.exit_code, 0) << full.output;
  EXPECT_THAT(full.output, HasSubstr("/dev/full: No space left on device"));
}

TEST_F(Trace, an_unknown_wish_is_a_warning) {
  const Child child = run_child("Trace.DISABLED_a_bad_call", {"BACKPLANE_TRACE=everything"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("BACKPLANE_TRACE is 'everything', which cannot "
                                      "be traced; set it to ops, or to ops:FILE"));
}

TEST_F(Trace, DISABLED_counted) {
  const Tensor a = some_numbers({2, 3}, bp::device("reference_primitives"));
  bp::softmax(a, 0);
  bp::add(a, a);
  std::ofstream(std::getenv("COUNTS_FILE")) << bp::format_call_counts();
}

TEST_F(Trace, leaves_the_counts_as_they_are) {
  const std::string watched = folder_.path() / "watched", alone = folder_.path() / "alone";
  run_child("Trace.DISABLED_counted", {"BACKPLANE_TRACE=ops:" + file_, "COUNTS_FILE=" + watched});
  run_child("Trace.DISABLED_counted", {"COUNTS_FILE=" + alone});
  EXPECT_THAT(read_file(alone), HasSubstr("softmax"));
  EXPECT_EQ(read_file(watched), read_file(alone));
}

}  // namespace
