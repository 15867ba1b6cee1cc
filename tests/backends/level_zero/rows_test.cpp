// needs: cpu level_zero slow
// What takes the device's compiler minutes: which way each operator's samples go on level_zero:0, as `backplane ops` finds
// it, and a network that learns there what it learns on cpu.
#include <nlohmann/json.hpp>
#include <string_view>

#include <backplane/dispatcher/registry.hpp>

#include "backends/level_zero/direct_device.hpp"
#include "tools/run_program.hpp"

namespace {

// Whether a row is nonzero, whose result's shape is in the data, or made of it.
bool finds_places(const char* row) {
  if (row == std::string_view("nonzero")) return true;
  const char* const* uses = bp::find_operator(row)->uses;
  for (; uses && *uses; ++uses)
    if (finds_places(*uses)) return true;
  return false;
}

TEST(LevelZeroRows, stay_on_the_device_but_those_whose_shape_is_in_the_data) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  if (!direct::spirv_of(direct::spin)) GTEST_SKIP() << "no clang, opt and llvm-spirv";
  const auto listed = bp::test::run_backplane({"ops", "--device", "level_zero:0", "--json"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const auto rows = nlohmann::json::parse(listed.out);
  EXPECT_GT(rows.size(), 150u);
  bool is_nonzero_off = false;
  for (const auto& row : rows) {
    EXPECT_EQ(row.value("error", ""), "") << row["op"];
    EXPECT_NE(row["served"], "none") << row["op"];
    if (row["slowest"] != "host") continue;
    const std::string op = row["op"];
    EXPECT_TRUE(finds_places(op.c_str())) << op;
    is_nonzero_off |= op == "nonzero";
  }
  EXPECT_TRUE(is_nonzero_off);
}

nlohmann::json report_of_digits(const char* device) {
  const bp::test::TemporaryFolder folder;
  const std::string report = folder.path() / "report.json";
  const auto learned = bp::test::run_program("digits", {"--device", device, "--json", report});
  EXPECT_EQ(learned.exit_code, 0) << learned.err;
  return nlohmann::json::parse(bp::test::read_file(report));
}

TEST(LevelZeroRows, teach_a_network_the_digits_as_well_as_those_of_cpu) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  if (!direct::spirv_of(direct::spin)) GTEST_SKIP() << "no clang, opt and llvm-spirv";
  const nlohmann::json here = report_of_digits("level_zero:0"), cpu = report_of_digits("cpu:0");
  EXPECT_EQ(here["device"], "level_zero:0");
  EXPECT_GE(here["test_accuracy"], 0.98);
  EXPECT_NEAR(here["test_accuracy"], cpu["test_accuracy"], 0.01);
  for (std::size_t step = 0; step < 20; ++step) {
    const double loss = cpu["first_losses"][step];
    EXPECT_NEAR(here["first_losses"][step], loss, 1e-3 * loss) << "step " << step;
  }
}

}  // namespace
