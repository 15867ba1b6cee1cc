// needs: cpu once
#include <cstring>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::test::memory_only;
using bp::test::partial;
using bp::test::run_backplane;
using nlohmann::json;
using testing::HasSubstr;

const std::string evil = BP_TEST_PLUGIN_DIR "/libbackplane_evil.so";

// {operator: row}
json served_on(const std::string& device, const std::vector<std::string>& options = {}) {
  std::vector<std::string> words{"ops", "--device", device, "--json"};
  words.insert(words.end(), options.begin(), options.end());
  const auto listed = run_backplane(words);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  json rows;
  for (const json& row : json::parse(listed.out)) {
    EXPECT_EQ(row.value("error", ""), "") << row["op"];
    rows[row["op"]] = row;
  }
  return rows;
}

// Of a text in which only these are special.
std::string regex_of(const std::string& text) {
  std::string regex;
  for (const char letter : text)
    regex += std::strchr("().", letter) ? std::string{'\\', letter} : std::string{letter};
  return regex;
}

TEST(Ops, are_listed_with_schema_and_kind) {
  const auto listed = run_backplane({"ops", "--json"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  for (const json& row : json::parse(listed.out)) {
    if (row["op"] != "add") continue;
    EXPECT_EQ(row["kind"], "pointwise");
    EXPECT_EQ(row["batch"], "pointwise");
    EXPECT_EQ(row["cast"], "none");
    EXPECT_EQ(row["schema"], "add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor");
    return;
  }
  FAIL() << "add is not among them";
}

TEST(Ops, of_a_device_are_counted_while_they_run) {
  const json cpu = served_on("cpu");
  EXPECT_EQ(cpu["add"]["served"], "native");
  EXPECT_EQ(cpu["sum"]["served"], "native");
  EXPECT_EQ(cpu["transpose"]["served"], "view");
  EXPECT_THAT(cpu["add"]["dtypes"], testing::Contains("float32"));
  for (const json& row : cpu) EXPECT_NE(row["served"], "none") << row["op"];
}

TEST(Ops, of_a_device_without_kernels_run_on_the_host) {
  const json rows = served_on("memonly", {"--plugin", memory_only});
  EXPECT_EQ(rows["add"]["served"], "host");
  EXPECT_EQ(rows["softmax"]["served"], "host");
  EXPECT_EQ(rows["transpose"]["served"], "view");
  for (const json& row : rows) EXPECT_NE(row["served"], "none") << row["op"];
}

// Its kernels take contiguous float32 alone; it has none that copies, so that other layouts go to the host.
TEST(Ops, of_a_device_with_few_kernels_are_told_by_dtype) {
  const json rows = served_on("partial", {"--plugin", partial});
  EXPECT_EQ(rows["add"]["by_dtype"]["float32"][0], "native") << rows["add"];
  EXPECT_EQ(rows["add"]["by_dtype"]["float64"], json({"host"})) << rows["add"];
  EXPECT_EQ(rows["add"]["served"], "native f32 (partly host); host others");
  EXPECT_EQ(rows["add"]["slowest"], "host");
  const auto listed = run_backplane({"ops", "--device", "partial", "--plugin", partial});
  EXPECT_THAT(listed.out,
              testing::ContainsRegex("\nadd +primitive +native f32 .partly host.; host others"));
  for (const json& row : rows)
    EXPECT_THAT(listed.out, testing::ContainsRegex("\n" + row["op"].get<std::string>() +
                                                   " [^\n]*  " + regex_of(row["served"]) + "\n"))
        << "the two forms differ";
}

TEST(Ops, a_kernel_that_crashes_costs_its_own_operator) {
  const auto listed = run_backplane({"ops", "--device", "evil", "--json", "--plugin", evil},
                                    {"BACKPLANE_EVIL=kernel_crashes"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  json rows;
  for (const json& row : json::parse(listed.out)) rows[row["op"]] = row;
  EXPECT_EQ(rows["add"]["served"], "none");
  EXPECT_THAT(
      rows["add"]["error"].get<std::string>(),
      testing::AnyOf("add: the process that ran its samples ended with signal 11",
                     "add: the process that ran its samples ended with code 1"));  // a sanitizer's
  EXPECT_EQ(rows["mul"]["served"], "host");
  EXPECT_EQ(rows["diagonal"]["served"], "view");
}

TEST(Ops, every_sample_says_the_same_of_a_device_that_compiles_nothing) {
  EXPECT_EQ(served_on("cpu", {"--every-sample"}), served_on("cpu"));
}

TEST(Ops, refuses_an_unknown_device) {
  const auto failed = run_backplane({"ops", "--device", "acme:3"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_THAT(failed.err, testing::StartsWith("backplane: there is no device 'acme:3'"));
}

TEST(Ops, of_two_devices_are_no_json) {
  const auto failed = run_backplane({"ops", "--device", "cpu", "--device", "cpu", "--json"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(failed.err, "backplane: ops: --json is of one device; call it once for each\n");
}

TEST(Ops, make_a_table_for_several_devices) {
  const auto listed =
      run_backplane({"ops", "--device", "cpu", "--device", "memonly", "--plugin", memory_only});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("cpu:0"));
  EXPECT_THAT(listed.out, HasSubstr("memonly:0"));
}

}  // namespace
