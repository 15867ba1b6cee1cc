// What the tuner decides, keeps and forgets.
#include "device/tuner.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

#include <backplane/codegen/codegen.hpp>
#include <backplane/tensor/error.hpp>

namespace bp::codegen {
namespace {

namespace fs = std::filesystem;

class Tuner : public testing::Test {
 protected:
  Tuner() {
    setenv("BACKPLANE_CACHE_DIR", folder_.c_str(), 1);
    unsetenv("BACKPLANE_TUNE");
    tuner::forget();
  }
  ~Tuner() override {
    tuner::forget();
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("BACKPLANE_TUNE");
    fs::remove_all(folder_);
  }

  // Of ways that take these times; counts the measurements.
  std::size_t choose(std::vector<double> seconds, const char* identity = "a device") {
    return tuner::choose("product 1", identity, seconds.size(), [&](std::size_t way) {
      ++measured_;
      if (seconds[way] < 0) throw Error(ErrorClass::unsupported, "this way does not work");
      return seconds[way];
    });
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    if (fs::exists(folder_))
      for (const auto& entry : fs::recursive_directory_iterator(folder_))
        if (entry.is_regular_file()) all.push_back(entry.path());
    return all;
  }

  fs::path folder_ =
      fs::temp_directory_path() / ("backplane-tuner-test-" + std::to_string(getpid()));
  int measured_ = 0;
};

TEST_F(Tuner, takes_the_fastest_way) {
  EXPECT_EQ(choose({3, 1, 2}), 1u);
}

TEST_F(Tuner, keeps_the_first_way_when_another_gains_next_to_nothing) {
  EXPECT_EQ(choose({1, 0.99}), 0u);
}

TEST_F(Tuner, measures_once_in_a_process) {
  choose({3, 1});
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 1u);
  EXPECT_EQ(measured_, before);
}

TEST_F(Tuner, measures_once_on_a_machine) {
  choose({3, 1});
  tuner::forget();  // as a new process would
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 1u);
  EXPECT_EQ(measured_, before);
}

TEST_F(Tuner, decides_for_each_device_by_itself) {
  EXPECT_EQ(choose({3, 1}), 1u);
  EXPECT_EQ(choose({1, 3}, "another device"), 0u);
}

TEST_F(Tuner, measures_anew_when_what_it_kept_is_broken) {
  choose({3, 1});
  ASSERT_FALSE(files().empty());
  for (const fs::path& file : files()) std::ofstream(file) << "1\n9999999\n";
  tuner::forget();
  const int before = measured_;
  EXPECT_EQ(choose({1, 3}), 0u);
  EXPECT_GT(measured_, before);
  tuner::forget();
  EXPECT_EQ(choose({3, 1}), 0u) << "the file was not written again";
}

// A file of an older list of ways, which was longer.
TEST_F(Tuner, measures_anew_when_the_way_it_kept_is_no_more) {
  EXPECT_EQ(choose({3, 3, 1}), 2u);
  tuner::forget();
  EXPECT_EQ(choose({3, 1}), 1u);
}

TEST_F(Tuner, passes_over_a_way_that_does_not_work) {
  EXPECT_EQ(choose({3, -1, 2}), 2u);
}

TEST_F(Tuner, leaves_the_decision_open_when_the_first_way_cannot_be_measured_now) {
  EXPECT_EQ(choose({-1, 1}), 0u);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(choose({3, 1}), 1u);
}

TEST_F(Tuner, measures_nothing_when_it_is_off) {
  setenv("BACKPLANE_TUNE", "0", 1);
  EXPECT_EQ(choose({3, 1}), 0u);
  EXPECT_EQ(measured_, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(Tuner, stops_measuring_when_its_time_is_spent) {
  const auto slow = [&](std::size_t) {
    ++measured_;
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return 1.0;
  };
  EXPECT_EQ(tuner::choose("slow 1", "a device", 10, slow), 0u);
  EXPECT_LE(measured_, 4);
}

TEST_F(Tuner, gives_others_the_first_way_while_one_measures) {
  std::atomic<bool> asked{false};
  std::size_t other = 9;
  std::thread second;
  const std::size_t chosen = tuner::choose("shared 1", "a device", 2, [&](std::size_t way) {
    if (!asked.exchange(true)) {
      second = std::thread([&] {
        other = tuner::choose("shared 1", "a device", 2, [](std::size_t) -> double {
          throw std::logic_error("two threads measure at once");
        });
      });
      second.join();
    }
    return way == 1 ? 1.0 : 2.0;
  });
  EXPECT_EQ(other, 0u);
  EXPECT_EQ(chosen, 1u);
}

}  // namespace
}  // namespace bp::codegen
