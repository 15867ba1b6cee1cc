// needs: cpu
// Processes that die and disks that are full while something is saved.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <spawn.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "serialize/files.hpp"

extern char** environ;

namespace bp::test {
namespace {

using serialize::CheckpointFolder;

constexpr const char* saves_into = "BP_TEST_SAVES_INTO";

Tensor weights_of(std::int64_t step) {
  return full({50'000}, static_cast<double>(step % 1000));
}

// What the child does until somebody kills it: this test, in a process of its own.
TEST(KilledWhileSaving, child) {
  const char* folder = std::getenv(saves_into);
  if (!folder) return;
  CheckpointFolder runs(folder, {.keep = 2});
  const auto newest = runs.load_newest();
  std::int64_t step = newest ? newest->step + 1 : 0;
  for (;; ++step) {
    runs.save({.step = step, .model = {{"w", weights_of(step)}}});
    serialize::save(fs::path(folder) / "last",
                    State::dict({{"step", State(step)}, {"w", State(weights_of(step))}}));
  }
}

pid_t start_child(const fs::path& folder) {
  std::vector<std::string> variables{std::string(saves_into) + "=" + folder.string()};
  for (char** each = environ; *each; ++each) variables.emplace_back(*each);
  std::vector<char*> environment;
  for (std::string& each : variables) environment.push_back(each.data());
  environment.push_back(nullptr);
  std::string program = fs::read_symlink("/proc/self/exe").string(),
              filter = "--gtest_filter=KilledWhileSaving.child";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), &quiet, nullptr, arguments, environment.data()),
            0);
  posix_spawn_file_actions_destroy(&quiet);
  return child;
}

// False if the child ended by itself.
bool wait_for_newer(const CheckpointFolder& runs, pid_t child, std::int64_t than) {
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    const std::vector<std::int64_t> steps = runs.steps();
    if (!steps.empty() && steps.back() > than) return true;
    usleep(1000);
  }
  return false;
}

// In memory, where a save is mostly writing, and on the disk, where it mostly waits.
class KilledOn : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Folders, KilledOn, testing::Values("/dev/shm", "/tmp"));

TEST_P(KilledOn, any_moment_leaves_a_whole_state) {
  if (!fs::is_directory(GetParam())) GTEST_SKIP() << GetParam();
  const Folder folder(GetParam());
  CheckpointFolder runs(folder / "run", {.keep = 2});
  std::mt19937 random(26);
  std::int64_t last = -1;
  int num_unfinished = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = start_child(folder / "run");
    ASSERT_TRUE(wait_for_newer(runs, child, last));
    usleep(random() % 15000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto newest = runs.load_newest();
    ASSERT_TRUE(newest);
    EXPECT_TRUE(runs.damaged().empty()) << runs.damaged()[0];
    EXPECT_GT(newest->step, last);
    expect_same(newest->model.at("w"), weights_of(newest->step));
    const State state =
        fs::exists(folder / "run/last") ? serialize::load(folder / "run/last") : State();
    if (!state.is_none())
      expect_same(state.at("w").as_tensor(), weights_of(state.at("step").as_int()));
    last = newest->step;
    for (const std::string& name : names_in(folder / "run"))
      num_unfinished += name.ends_with(".unfinished");
  }
  std::printf("%s: killed 10 times up to step %lld; %d files were left unfinished\n", GetParam(),
              static_cast<long long>(last), num_unfinished);
  runs.save({.step = last + 1});
  serialize::save(folder / "run/last", State());
  for (const std::string& name : names_in(folder / "run"))
    EXPECT_FALSE(name.ends_with(".unfinished")) << name;
}

TEST(Unfinished, files_that_somebody_is_writing_stay) {
  const Folder folder;
  const fs::path being_written = written(folder / ".a.safetensors.0123.unfinished", "x");
  const fs::path abandoned = written(folder / ".a.safetensors.4567.unfinished", "x");
  const fs::path of_another = written(folder / ".b.safetensors.4567.unfinished", "x");
  const int descriptor = open(being_written.c_str(), O_RDONLY);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);
  serialize::save_file({{"a", ones({1})}}, folder / "a.safetensors");
  close(descriptor);
  EXPECT_TRUE(fs::exists(being_written) && fs::exists(of_another));
  EXPECT_FALSE(fs::exists(abandoned));
}

// No file may grow beyond so many bytes while it lives: the system says so as it does of a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(FullDisk, leaves_the_earlier_file_whole_and_says_so) {
  const Folder folder;
  CheckpointFolder runs(folder.path(), {.keep = 1});
  runs.save({.step = 1, .model = {{"w", ones({10})}}});
  for (const rlim_t room : {0, 1, 100, 4096, 399'999}) {
    const SmallDisk disk(room);
    try {
      runs.save({.step = 2, .model = {{"w", weights_of(2)}, {"v", weights_of(2)}}});
      ADD_FAILURE() << room;
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
      EXPECT_THAT(
          error.what(),
          HasSubstr(fmt::format(
              "step-000000000002.safetensors: can't be written after {} bytes: File too large; "
              "nothing was left there",
              room)));
    }
    const State::List large{State(weights_of(1)), State(weights_of(2))};
    EXPECT_THAT(sentence_of([&] { serialize::save(runs.path_of(1), State(large)); }),
                HasSubstr("the earlier file is as it was; free disk space and save again"));
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-000000000001.safetensors"});
    EXPECT_EQ(numbers_of(runs.load_newest()->model.at("w")), Values(10, 1));
  }
  runs.save({.step = 2, .model = {{"w", weights_of(2)}}});
  EXPECT_EQ(runs.steps(), std::vector<std::int64_t>{2});
}

}  // namespace
}  // namespace bp::test
