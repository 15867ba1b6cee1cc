#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include <backplane/loading/environment.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

Environment made_from(const std::map<std::string, std::string>& variables,
                      bool privileged = false) {
  const auto get = [&variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found != variables.end() ? std::optional(found->second) : std::nullopt;
  };
  return Environment::from(get, privileged, "/opt/bp/lib");
}

TEST(Environment, follows_the_home_folder) {
  const Environment environment = made_from({{"HOME", "/home/ann"}});
  EXPECT_EQ(environment.user_plugins, "/home/ann/.local/share/backplane/plugins");
  EXPECT_EQ(environment.user_cache, "/home/ann/.cache/backplane");
  EXPECT_EQ(environment.probe_program, "/opt/bp/bin/backplane-probe");
}

// A Debian package has its libraries in lib/x86_64-linux-gnu, and its programs in bin.
TEST(Environment, finds_the_probe_of_the_same_prefix) {
  const TemporaryFolder prefix;
  const fs::path libraries = prefix.path() / "lib/x86_64-linux-gnu";
  fs::create_directories(libraries);
  fs::create_directories(prefix.path() / "bin");
  std::ofstream(prefix.path() / "bin/backplane-probe") << "#!/bin/true";
  const auto none = [](const char*) -> std::optional<std::string> { return std::nullopt; };
  EXPECT_EQ(Environment::from(none, false, libraries).probe_program,
            prefix.path() / "bin/backplane-probe");
}

TEST(Environment, follows_xdg_unless_relative) {
  const Environment environment =
      made_from({{"HOME", "/home/ann"}, {"XDG_DATA_HOME", "/data"}, {"XDG_CACHE_HOME", "cache"}});
  EXPECT_EQ(environment.user_plugins, "/data/backplane/plugins");
  EXPECT_EQ(environment.user_certificates, "/data/backplane/certificates");
  EXPECT_EQ(environment.user_cache, "/home/ann/.cache/backplane");
}

TEST(Environment, knows_the_systems_folders_of_libraries_besides_its_own) {
  EXPECT_THAT(made_from({}).system_libraries,
              testing::IsSupersetOf({fs::path("/usr/lib"), fs::path("/usr/local/lib")}));
  const auto none = [](const char*) -> std::optional<std::string> { return std::nullopt; };
  const Environment local = Environment::from(none, false, "/usr/local/lib");
  EXPECT_THAT(local.system_libraries, testing::Contains(fs::path("/usr/lib")));
  EXPECT_THAT(local.system_libraries, testing::Not(testing::Contains(fs::path("/usr/local/lib"))));
}

TEST(Environment, has_no_user_folder_without_a_home) {
  EXPECT_TRUE(made_from({}).user_plugins.empty());
  EXPECT_TRUE(made_from({{"HOME", "."}}).user_cache.empty());
}

TEST(Environment, of_a_privileged_process_ignores_what_a_user_can_set) {
  const Environment environment = made_from({{"HOME", "/home/ann"},
                                             {"XDG_DATA_HOME", "/data"},
                                             {"BACKPLANE_PLUGIN_PATH", "/evil"},
                                             {"BACKPLANE_TRUST_ANY_FILE", "1"},
                                             {"BACKPLANE_PROBE", "/evil/probe"},
                                             {"LD_LIBRARY_PATH", "/evil"}},
                                            true);
  EXPECT_EQ(environment.plugin_path, "");
  EXPECT_FALSE(environment.trust_any_file);
  EXPECT_EQ(environment.library_path, "");
  EXPECT_TRUE(environment.user_plugins.empty());
  EXPECT_TRUE(environment.user_certificates.empty());
  EXPECT_TRUE(environment.user_cache.empty());
  EXPECT_EQ(environment.probe_program, "/opt/bp/bin/backplane-probe");
  EXPECT_FALSE(environment.system_plugins.empty());
}

TEST(Environment, of_this_process_knows_where_its_code_lies) {
  const Environment environment = Environment::current();
  EXPECT_TRUE(environment.library_folder.is_absolute());
  EXPECT_TRUE(fs::is_directory(environment.library_folder));
}

}  // namespace
}  // namespace bp::loading
