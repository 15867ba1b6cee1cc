// needs: cpu
// Environment variables whose values say nothing.
#include <backplane/runtime/settings.hpp>
#include <backplane/tuning/kept_files.hpp>
#include <backplane/tuning/tuner.hpp>

#include "dispatcher/calls.hpp"
#include "dispatcher/child.hpp"

namespace {

using namespace bp::test;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Twice, since a warning comes once.
TEST(Variables, DISABLED_are_read) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_GE(bp::num_threads(), 1u);
    EXPECT_FALSE(bp::allow_tf32());
    EXPECT_EQ(bp::tuner::mode(), bp::tuner::Mode::usual);
    EXPECT_EQ(bp::kept_files::usage().limit_bytes, 512u << 20);
    counted({2});
  }
}

TEST(Variables, one_that_is_not_understood_is_warned_of_once) {
  const Child child =
      run_child("Variables.DISABLED_are_read",
                {"BACKPLANE_LOG=loud", "BACKPLANE_NUM_THREADS=2x", "BACKPLANE_ALLOW_TF32=yes",
                 "BACKPLANE_TUNE=fast", "BACKPLANE_CACHE_BYTES=512MiB"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  for (const char* const sentence :
       {"BACKPLANE_LOG is 'loud' and counts as not set (possible: debug, info, warning, error)",
        "BACKPLANE_NUM_THREADS is '2x' and counts as not set (possible: a whole number from 1 up)",
        "BACKPLANE_ALLOW_TF32 is 'yes' and counts as not set (possible: 0, 1)",
        "BACKPLANE_TUNE is 'fast' and counts as not set (possible: 0, kept, all)",
        "BACKPLANE_CACHE_BYTES is '512MiB' and counts as not set (possible: a whole number of "
        "bytes)"})
    EXPECT_EQ(count_of(child.output, std::string("backplane: warning: ") + sentence + "\n"), 1u)
        << sentence << "\n"
        << child.output;
}

TEST(Variables, one_that_is_understood_or_empty_is_not_warned_of) {
  const Child child =
      run_child("Variables.DISABLED_are_read",
                {"BACKPLANE_LOG=warning", "BACKPLANE_NUM_THREADS=2", "BACKPLANE_ALLOW_TF32=0",
                 "BACKPLANE_TUNE=", "BACKPLANE_CACHE_BYTES=536870912"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_EQ(count_of(child.output, "BACKPLANE_"), 0u) << child.output;
}

}  // namespace
