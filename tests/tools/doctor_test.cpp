#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/elf_lint.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::test::memory_only;
using bp::test::run_backplane;
using bp::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

// What doctor says of one plugin that it is given.
json examine(const std::string& plugin, const std::vector<std::string>& environment = {}) {
  const auto examined = run_backplane({"doctor", "--json", "--plugin", plugin}, environment);
  const json report = json::parse(examined.out);
  EXPECT_EQ(examined.exit_code, report["usable"] ? 0 : 1);
  return report["plugins"][0];
}

TEST(Doctor, opens_the_devices_of_a_good_plugin) {
  const json found = examine(memory_only);
  EXPECT_TRUE(found["usable"]);
  EXPECT_EQ(found["stopped_at"], "");
  EXPECT_EQ(found["devices"][0]["name"], "memonly:0");
  EXPECT_EQ(found["devices"][0]["problem"], "");
}

TEST(Doctor, names_the_step_that_stopped_a_plugin) {
  const TemporaryFolder folder;
  const auto step_of = [](const std::string& plugin) -> std::string {
    const json found = examine(plugin);
    EXPECT_FALSE(found["usable"]);
    EXPECT_NE(found["reason"], "");
    return found["stopped_at"];
  };
  EXPECT_EQ(step_of("/nowhere/acme.so"), "search");
  EXPECT_EQ(step_of(folder.write("empty.so", "")), "lint");
  EXPECT_EQ(step_of(BP_TEST_PLUGIN_DIR "/broken/libno_export.so"), "lint");
  EXPECT_EQ(step_of(BP_TEST_PLUGIN_DIR "/broken/libcrash_in_probe.so"), "probe");

  const fs::path open_to_all = folder.path() / "open_to_all.so";
  fs::copy(memory_only, open_to_all);
  fs::permissions(open_to_all, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(step_of(open_to_all), "trust");

  fs::copy(memory_only, folder.path() / "changed.so");
  const std::string manifest =
      folder.write("changed.json", json{{"name", "changed"},
                                        {"library", "changed.so"},
                                        {"abi_min", 1},
                                        {"abi_max", 1},
                                        {"architecture", bp::loading::process_architecture()},
                                        {"sha256", std::string(64, '0')}}
                                       .dump());
  EXPECT_EQ(step_of(manifest), "checksum");
}

TEST(Doctor, says_what_a_plugin_without_devices_is_for) {
  const auto examined = run_backplane({"doctor", "--plugin", BP_TEST_PLUGIN_DIR "/adder.json"});
  EXPECT_THAT(examined.out, HasSubstr("has no devices, and offers acme.adder, acme.second"));
  const json found = examine(BP_TEST_PLUGIN_DIR "/adder.json");
  EXPECT_TRUE(found["usable"]);
  EXPECT_EQ(found["stopped_at"], "");
  EXPECT_TRUE(found["devices"].empty());
}

TEST(Doctor, does_not_blame_a_plugin_without_a_driver) {
  const json found = examine(BP_TEST_PLUGIN_DIR "/broken/libno_driver.so");
  EXPECT_FALSE(found["usable"]);
  EXPECT_TRUE(found["no_device"]);
}

TEST(Doctor, fails_when_nothing_is_usable) {
  const TemporaryFolder empty;
  // A library without plugins beside it: a copy of the whole, but for them.
  fs::create_directories(empty.path() / "bin");
  fs::create_directories(empty.path() / "lib");
  for (const char* name : {"backplane", "backplane-probe"})
    fs::copy(fs::path(BP_BUILD_BIN_DIR) / name, empty.path() / "bin");
  for (const auto& entry : fs::directory_iterator(BP_BUILD_LIB_DIR))
    if (entry.path().filename().string().starts_with("libbackplane.so"))
      fs::copy_file(entry.path(), empty.path() / "lib" / entry.path().filename());
  const std::string program = fs::relative(empty.path() / "bin/backplane", BP_BUILD_BIN_DIR);

  const auto examined = bp::test::run_program(program, {"doctor"});
  EXPECT_EQ(examined.exit_code, 1);
  EXPECT_THAT(examined.out, HasSubstr("0 of 0 plugins usable."));
  EXPECT_THAT(examined.out, HasSubstr("no plugin offers the device cpu"));
  const auto listed = bp::test::run_program(program, {"devices"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_EQ(listed.out, "No plugin offers a device; 'backplane doctor' says why.\n");
}

TEST(Doctor, shows_the_manifest_and_where_it_looked) {
  const std::string manifest = BP_PLUGIN_DIR "/reference.json";
  const auto examined = run_backplane({"doctor", "--plugin", manifest});
  EXPECT_THAT(examined.out, HasSubstr("Looked for plugins in:\n  " + manifest + " (given)\n"));
  EXPECT_THAT(examined.out, HasSubstr("(beside libbackplane)\n"));
  EXPECT_THAT(examined.out, HasSubstr("  manifest " + manifest +
                                      ": Backplane (Software device with its own memory and"));
  const json report = json::parse(run_backplane({"doctor", "--json", "--plugin", manifest}).out);
  EXPECT_EQ(report["searched"][0]["path"], manifest);
  EXPECT_EQ(report["plugins"][0]["manifest_fields"]["name"], "reference");
  EXPECT_EQ(report["plugins"][0]["manifest_fields"]["abi_min"], 1);
}

}  // namespace
