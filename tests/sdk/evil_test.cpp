// The evil plugin: good unless told otherwise, and each kind of it is explained.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "sdk/fake_host.hpp"

namespace {

std::string read(const std::string& name) {
  std::ifstream file(BP_SOURCE_DIR "/tests/plugins/evil/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> find_all(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.insert((*match)[1]);
  return found;
}

TEST(Evil, explains_each_of_its_kinds) {
  const std::set<std::string> kinds = find_all(read("evil.c"), R"re(is\("(\w+)"\))re");
  std::set<std::string> explained;
  for (const std::string& cell :
       find_all(read("README.md"), R"(\n\| ([a-z_0-9, \xe2\x80\xa0]+) \|)"))
    explained.merge(find_all(cell, R"((\w{5,}))"));
  EXPECT_EQ(kinds, explained);
  EXPECT_GE(kinds.size(), 24u);
}

TEST(Evil, is_good_without_being_told) {
  unsetenv("BACKPLANE_EVIL");
  fake::Host host;
  fake::Plugin plugin(host, BP_TEST_PLUGIN_DIR "/libbackplane_evil.so");
  {
    fake::Device device(plugin, 0);
    const bp_handle first = device.allocate(100), second = device.allocate(8);
    int sent = 3, got = 0;
    EXPECT_EQ(device.from_host(first, &sent, 4), BP_OK);
    EXPECT_EQ(device.to_host(&got, first, 4), BP_OK);
    EXPECT_EQ(got, 3);
    device.release(second);
    device.release(first);
    const bp_handle leaked = device.allocate(8);
    EXPECT_NE(leaked, 0u);
    plugin->close(device.get());
    EXPECT_THAT(host.log_lines(), testing::Contains("evil: closed with 1 allocations alive"));
    device.release(leaked);
  }
  EXPECT_EQ(host.log_lines().back(), "evil: closed with 0 allocations alive");
}

TEST(Evil, fails_at_the_call_that_it_was_told) {
  setenv("BACKPLANE_EVIL", "allocate_fails_on_n", 1);
  setenv("BACKPLANE_EVIL_N", "3", 1);
  fake::Host host;
  {
    fake::Plugin plugin(host, BP_TEST_PLUGIN_DIR "/libbackplane_evil.so");
    fake::Device device(plugin, 0);
    for (int i = 1; i <= 4; ++i) {
      const bp_handle handle = device.allocate(64);
      EXPECT_EQ(handle == 0, i == 3) << i;
      if (handle != 0) device.release(handle);
    }
  }
  unsetenv("BACKPLANE_EVIL");
  unsetenv("BACKPLANE_EVIL_N");
}

}  // namespace
