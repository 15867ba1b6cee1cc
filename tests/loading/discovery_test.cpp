#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/loading/discovery.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::HasSubstr;

// A folder for each place in which plugins are looked for.
class Discovery : public testing::Test {
 protected:
  Discovery() {
    environment_.user_plugins = folder_ / "user";
    environment_.system_plugins = {folder_ / "system"};
    environment_.library_folder = folder_ / "lib";
    environment_.system_libraries = {folder_ / "usr/lib"};
  }

  // A library and its manifest, in a folder below the test's.
  fs::path add(const std::string& where, const std::string& name) {
    write_file(folder_ / (where + "/lib" + name + ".so"), name);
    std::string text = manifest_text("lib" + name + ".so");
    text.replace(text.find("acme"), 4, name);
    return write_file(folder_ / (where + "/" + name + ".json"), text);
  }

  TemporaryFolder folder_;
  Environment environment_ = bare_environment();
};

TEST_F(Discovery, finds_nothing_where_nothing_is) {
  EXPECT_TRUE(discover(environment_).empty());
}

TEST_F(Discovery, asks_its_sources_in_order) {
  add("usr/lib/backplane", "sixth");
  add("lib/backplane", "fifth");
  add("system", "fourth");
  add("user", "third");
  add("path", "second");
  const fs::path first = add("given", "first");
  environment_.plugin_path = folder_ / "path";
  const std::vector<Candidate> found = discover(environment_, std::vector{first});
  std::vector<std::string> names;
  for (const Candidate& candidate : found) {
    EXPECT_EQ(candidate.problem, "");
    names.push_back(candidate.name());
  }
  EXPECT_THAT(names, testing::ElementsAre("first", "second", "third", "fourth", "fifth", "sixth"));
  EXPECT_EQ(found[1].origin, Origin::plugin_path);
  EXPECT_EQ(found[4].library, fs::canonical(folder_ / "lib/backplane/libfifth.so"));
}

// A Debian package of a plugin installs below /usr/lib, also where Backplane itself is in /usr/local. A second Backplane below
// /usr brings plugins of its own, which the first one must not take.
TEST_F(Discovery, finds_plugins_beside_the_systems_libraries_but_no_second_cpu) {
  const fs::path own = add("lib/backplane", "cpu");
  const fs::path other = add("usr/lib/backplane", "cpu");
  add("usr/lib/backplane", "acme");
  const std::vector<Candidate> found = discover(environment_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].usable());
  EXPECT_EQ(found[0].manifest_file, own);
  EXPECT_TRUE(found[1].usable());
  EXPECT_EQ(found[1].name(), "acme");
  EXPECT_EQ(found[1].origin, Origin::system_library);
  EXPECT_EQ(found[2].problem,
            other.string() + ": a plugin with the name cpu was found before, by " + own.string());
}

TEST_F(Discovery, takes_a_library_without_a_manifest_if_it_is_named) {
  add("x", "acme");
  const fs::path library = folder_ / "x/libacme.so";
  environment_.plugin_path = library.string();
  const std::vector<Candidate> found = discover(environment_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].usable());
  EXPECT_FALSE(found[0].manifest.has_value());
  EXPECT_EQ(found[0].name(), "libacme.so");
}

TEST_F(Discovery, lists_a_library_that_came_before_with_the_reason) {
  const fs::path first = add("x", "acme");
  fs::create_directories(folder_ / "user");
  fs::create_symlink(folder_ / "x/libacme.so", folder_ / "user/libacme.so");
  const fs::path second = write_file(folder_ / "user/again.json", manifest_text("libacme.so"));
  environment_.plugin_path = (folder_ / "x").string();
  const std::vector<Candidate> found = discover(environment_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].usable());
  EXPECT_EQ(found[1].problem, second.string() + ": " + (folder_ / "x/libacme.so").string() +
                                  " was found before, by " + first.string());
}

TEST_F(Discovery, ignores_empty_and_relative_elements_of_the_path) {
  environment_.plugin_path = ":" + add("x", "acme").string() + "::.:plugins:";
  const std::vector<Candidate> found = discover(environment_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].usable());
  EXPECT_THAT(found[1].problem, HasSubstr(".: is relative"));
  EXPECT_THAT(found[2].problem, HasSubstr("plugins: is relative"));
}

TEST_F(Discovery, of_a_privileged_process_ignores_path_and_user) {
  add("path", "first");
  add("user", "second");
  add("system", "third");
  environment_.plugin_path = (folder_ / "path").string();
  environment_.privileged = true;
  const std::vector<Candidate> found = discover(environment_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name(), "third");
}

TEST_F(Discovery, says_what_a_path_lacks) {
  environment_.plugin_path = "/none/here";
  const std::vector<Candidate> found =
      discover(environment_, std::vector<fs::path>{"/none/x.so", ""});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].problem, "/none/x.so: does not exist");
  EXPECT_THAT(found[1].problem, HasSubstr("is not a path"));
  EXPECT_EQ(found[2].problem, "/none/here: does not exist");
}

TEST_F(Discovery, goes_on_after_a_bad_manifest) {
  write_file(folder_ / "user/a.json", "{");
  write_file(folder_ / "user/b.json", manifest_text("libnone.so"));
  add("user", "c");
  const std::vector<Candidate> found = discover(environment_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(found[0].problem, HasSubstr("a.json: is not JSON"));
  EXPECT_THAT(found[1].problem, HasSubstr("b.json: its library"));
  EXPECT_TRUE(found[2].usable());
}

TEST_F(Discovery, does_not_look_into_the_current_directory) {
  add("here", "acme");
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "here");
  EXPECT_TRUE(discover(environment_).empty());
  fs::current_path(before);
}

}  // namespace
}  // namespace bp::loading
