// needs: cpu
// A whole training that is killed again and again: model, optimizer, schedule, loss scale, loader and random numbers go on.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <random>
#include <spawn.h>

#include "tools/run_program.hpp"

extern char** environ;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// 120 images to learn from and 30 held out, so that an epoch takes a moment.
std::string few_digits() {
  std::istringstream all(bp::test::read_file(BP_SOURCE_DIR "/examples/digits/digits.csv"));
  std::string few, line;
  for (int i = 0; i < 150 && std::getline(all, line); ++i) few += line + "\n";
  return few;
}

class KilledDigits : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(program_)) GTEST_SKIP() << "examples are not built";
    folder_.write("few.csv", few_digits());
  }

  // Learns in a process of its own and keeps its checkpoints under `name`.
  pid_t start(const std::string& name) {
    std::vector<std::string> words{program_,
                                   "--data",
                                   folder_.path() / "few.csv",
                                   "--amp",
                                   "f16",
                                   "--workers",
                                   "2",
                                   "--epochs",
                                   "24",
                                   "--resume",
                                   folder_.path() / name,
                                   "--json",
                                   folder_.path() / (name + ".json")};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    EXPECT_EQ(posix_spawn(&child, program_.c_str(), &quiet, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
    return child;
  }

  // The name of the last checkpoint, "" without one.
  std::string newest(const std::string& name) const {
    std::string last;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_.path() / name, ignored))
      if (entry.path().extension() == ".safetensors")
        last = std::max(last, entry.path().filename().string());
    return last;
  }

  // True if it still learned after so many checkpoints and a moment.
  bool kill_after(pid_t child, int num_checkpoints, std::chrono::microseconds moment) {
    std::string last = newest("killed");
    int status = 0;
    for (auto end = Clock::now() + moment; num_checkpoints > 0 || Clock::now() < end; usleep(500)) {
      if (waitpid(child, &status, WNOHANG) == child) {
        EXPECT_EQ(status, 0);
        return false;
      }
      const std::string now = newest("killed");
      if (now == last) continue;
      last = now;
      if (--num_checkpoints == 0) end = Clock::now() + moment;
    }
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
  }

  static void wait_for(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  nlohmann::json report(const std::string& name) {
    return nlohmann::json::parse(bp::test::read_file(folder_.path() / (name + ".json")));
  }

  const std::string program_ = BP_BUILD_BIN_DIR "/digits";
  bp::test::TemporaryFolder folder_;
};

TEST_F(KilledDigits, end_bit_for_bit_as_those_that_nobody_killed) {
  wait_for(start("whole"));
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  int num_kills = 0;
  while (kill_after(start("killed"), static_cast<int>(random() % 5),
                    std::chrono::microseconds(random() % 20'000)) &&
         num_kills < 30)
    ++num_kills;
  wait_for(start("killed"));
  std::printf("seed %u: killed %d times\n", seed, num_kills);
  EXPECT_GE(num_kills, 1);
  for (const char* value : {"final_loss", "test_accuracy", "first_losses"})
    EXPECT_EQ(report("killed")[value], report("whole")[value]) << value << ", seed " << seed;
  // The last three epochs' files hold all that a run goes on with.
  for (const auto& entry : fs::directory_iterator(folder_.path() / "whole")) {
    const fs::path killed = folder_.path() / "killed" / entry.path().filename();
    EXPECT_TRUE(bp::test::read_file(entry.path()) == bp::test::read_file(killed))
        << killed << ", seed " << seed;
  }
}

}  // namespace
