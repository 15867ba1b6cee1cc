// needs: cpu level_zero
// No driver, or a broken one beside a good one: told, never fatal. Each case is a process of its own, since a process
// looks for drivers once.
#include <array>
#include <sys/wait.h>

#include "backends/level_zero/direct_device.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int status;
  std::string text;
};

// The command `backplane`, with these drivers beside those that are installed.
Outcome run_with_drivers(const std::string& drivers, const std::string& arguments) {
  const std::string command = "ZE_ENABLE_ALT_DRIVERS='" + drivers +
                              "' '" BP_BUILD_BIN_DIR "/backplane' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome{-1, {}};
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) outcome.text += buffer.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

TEST(LevelZeroDiscovery, without_a_driver_the_other_devices_work) {
  const Outcome outcome = run_with_drivers("/nonexistent.so", "devices");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("cpu:0"));
  if (outcome.text.find("level_zero:0") == std::string::npos) {
    EXPECT_THAT(run_with_drivers("/nonexistent.so", "doctor").text,
                HasSubstr("no Level Zero driver is installed here"));
  }
}

TEST(LevelZeroDiscovery, a_library_that_is_no_driver_takes_nothing_from_a_good_one) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  const Outcome outcome = run_with_drivers(
      BP_PLUGIN_DIR "/libbackplane_reference.so,/nonexistent.so," BP_LEVEL_ZERO_DRIVER, "devices");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("level_zero:0"));
}

TEST(LevelZeroDiscovery, devices_of_all_backends_stand_beside_each_other) {
  if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  const Outcome outcome = run_with_drivers(BP_LEVEL_ZERO_DRIVER, "devices");
  for (const char* device : {"cpu:0", "level_zero:0", "reference:0"})
    EXPECT_THAT(outcome.text, HasSubstr(device));
}

}  // namespace
