// needs: cpu reference
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::test::Finished;
using bp::test::run_program;
using bp::test::TemporaryFolder;
using nlohmann::json;

// The sanitizers' builds have no examples.
bool is_built() {
  return std::filesystem::exists(BP_BUILD_BIN_DIR "/digits");
}

class Digits : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_built()) GTEST_SKIP() << "examples are not built";
  }

  json learn(const std::vector<std::string>& options) {
    std::vector<std::string> words{"--json", folder_.path() / "report.json"};
    words.insert(words.end(), options.begin(), options.end());
    const Finished finished = run_program("digits", words);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json::parse(bp::test::read_file(folder_.path() / "report.json"));
  }

  std::string complaint(const std::vector<std::string>& options) {
    const Finished finished = run_program("digits", options);
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    return finished.err;
  }

  TemporaryFolder folder_;
};

TEST_F(Digits, are_read_on_every_device_alike) {
  const json cpu = learn({"--device", "cpu"});
  const json reference = learn({"--device", "reference:0"});
  EXPECT_EQ(cpu["device"], "cpu:0");
  EXPECT_EQ(reference["device"], "reference:0");
  for (const json& report : {cpu, reference}) {
    EXPECT_GE(report["test_accuracy"], 0.99);
    EXPECT_LE(report["test_accuracy"], 1);
    EXPECT_GT(report["ms_per_step"], 0);
    EXPECT_FALSE(report["maker"].get<std::string>().empty());
  }
  ASSERT_EQ(cpu["first_losses"].size(), 20u);
  ASSERT_EQ(reference["first_losses"].size(), 20u);
  for (std::size_t step = 0; step < 20; ++step) {
    const double loss = cpu["first_losses"][step];
    EXPECT_NEAR(reference["first_losses"][step], loss, 1e-3 * loss) << "step " << step;
  }
  EXPECT_NEAR(reference["test_accuracy"], cpu["test_accuracy"].get<double>(), 0.01);
}

TEST_F(Digits, says_where_the_calls_ran) {
  const json cpu = learn({"--device", "cpu", "--epochs", "1"})["served"];
  EXPECT_GT(cpu["native"], 200);
  EXPECT_GT(cpu["view"], 20);
  EXPECT_EQ(cpu["host"], 0);
  for (const char* rung : {"legalized", "generated", "decomposed"}) EXPECT_TRUE(cpu.contains(rung));
  EXPECT_GT(learn({"--device", "reference", "--epochs", "1"})["served"]["host"], 200);
}

TEST_F(Digits, depend_on_the_seed_alone) {
  const json first = learn({"--seed", "7", "--epochs", "2"});
  EXPECT_EQ(learn({"--seed", "7", "--epochs", "2"})["final_loss"], first["final_loss"]);
  EXPECT_NE(learn({"--seed", "8", "--epochs", "2"})["final_loss"], first["final_loss"]);
}

TEST_F(Digits, do_not_depend_on_the_number_of_workers) {
  const json alone = learn({"--epochs", "2"});
  EXPECT_EQ(learn({"--epochs", "2", "--workers", "3"})["final_loss"], alone["final_loss"]);
}

// The last checkpoint is lost, as by a kill while it was written.
TEST_F(Digits, go_on_bit_for_bit_where_they_stopped) {
  const std::filesystem::path kept = folder_.path() / "kept";
  const json whole = learn({"--epochs", "3", "--resume", kept});
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(kept), {});
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 3u);
  std::filesystem::resize_file(files.back(), 1000);
  EXPECT_EQ(learn({"--epochs", "3", "--resume", kept})["final_loss"], whole["final_loss"]);
}

TEST_F(Digits, are_read_in_less_precision_as_well) {
  for (const char* dtype : {"bf16", "f16"}) {
    const json report = learn({"--amp", dtype});
    EXPECT_GE(report["test_accuracy"], 0.98) << dtype;
  }
}

TEST_F(Digits, leave_a_picture) {
  const std::filesystem::path picture = folder_.path() / "digits.png";
  learn({"--epochs", "1", "--picture", picture});
  const std::string bytes = bp::test::read_file(picture);
  EXPECT_EQ(bytes.substr(1, 3), "PNG");
  EXPECT_EQ(bytes.substr(bytes.size() - 8, 4), "IEND");
}

TEST_F(Digits, complains_in_one_sentence) {
  using testing::HasSubstr;
  EXPECT_THAT(complaint({"--device", "acme"}), HasSubstr("there is no device 'acme'"));
  EXPECT_THAT(complaint({"--data", "/nowhere.csv"}), HasSubstr("/nowhere.csv: can't be opened"));
  const std::string words = folder_.write("words.csv", "0,1,many\n");
  EXPECT_THAT(complaint({"--data", words}),
              HasSubstr(words + ":1: column 3: \"many\" is not a number"));
  std::string line = "17";
  for (int i = 0; i < 64; ++i) line += ",1";
  const std::string bright = folder_.write(
      "bright.csv", line + "\n" + line + "\n" + line + "\n" + line + "\n" + line + "\n");
  EXPECT_THAT(complaint({"--data", bright}),
              HasSubstr(bright + ":1: expected 64 pixels from 0 to 16 and a digit"));
  const std::string short_file = folder_.write("empty.csv", "");
  EXPECT_THAT(complaint({"--data", short_file}),
              HasSubstr("holds 0 lines of 0 numbers; expected 5 lines at least"));
  EXPECT_THAT(complaint({"--data", folder_.path()}), HasSubstr("is a folder, not a file"));
  EXPECT_THAT(complaint({"--epochs", "1", "--json", "/nowhere/report.json"}),
              HasSubstr("/nowhere/report.json: cannot be written"));
}

}  // namespace
