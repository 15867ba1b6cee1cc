#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/sha256.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::test::memory_only;
using bp::test::run_backplane;
using nlohmann::json;

TEST(Devices, are_listed_for_a_program) {
  const auto listed = run_backplane({"devices", "--json", "--plugin", memory_only});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const json devices = json::parse(listed.out);
  ASSERT_FALSE(devices.empty());
  const json& first = devices[0];  // what was named comes first
  EXPECT_EQ(first["name"], "memonly:0");
  EXPECT_EQ(first["backend"], "memonly");
  EXPECT_EQ(first["maker"], "Backplane tests");
  EXPECT_EQ(first["description"], "memory without kernels");
  EXPECT_EQ(first["plugin"], std::filesystem::canonical(memory_only).string());
  EXPECT_TRUE(first["synchronous"]);
  EXPECT_FALSE(first["host_readable"]);
}

TEST(Devices, are_listed_for_a_person) {
  const auto listed = run_backplane({"devices", "--plugin", memory_only});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out,
              testing::MatchesRegex("DEVICE +MAKER +VERSION +MEMORY +LEVEL +WHAT IT IS\n"
                                    "memonly:0 +Backplane tests +0.1 .*\n(.*\n)*"));
}

// What 'backplane conform certify' would have written of the plugin beside it.
json certificate_of(const std::string& library) {
  const json count = {{"run", 9},    {"correct", 9}, {"native", 9},
                      {"failed", 0}, {"waived", 0},  {"unsupported", 0}};
  const json reached = {{"level", 0}, {"dtypes", json::array()}};
  return {{"certificate", 1},
          {"profile", "L0"},
          {"issued", "2026-11-22T10:00:00Z"},
          {"subject",
           {{"sha256", bp::loading::sha256_of_file(library).value_or("")},
            {"library", "libbackplane_memonly.so"},
            {"backend", "memonly"},
            {"vendor", "Backplane tests"},
            {"version", "0.1"},
            {"device_name", "memory without kernels"}}},
          {"selection",
           {{"filters", json::array()}, {"num_shards", 1}, {"level", 0}, {"profile", "quick"}}},
          {"must_run", {{"cases", 9}}},
          {"journal", {{"sha256", std::string(64, 'a')}}},
          {"waivers", json::array()},
          {"summary",
           {{"total", count},
            {"levels", {count}},
            {"correct", reached},
            {"native", reached},
            {"profile", "L0"},
            {"waiver_problems", json::array()},
            {"ok", true}}}};
}

TEST(Devices, show_the_level_of_a_certificate_and_doctor_why_one_does_not_count) {
  const bp::test::TemporaryFolder folder;
  std::filesystem::copy(memory_only, folder.path());
  const std::string library = folder.path() / "libbackplane_memonly.so";
  const auto shown = [&] {
    const auto listed = run_backplane({"devices", "--json", "--plugin", library});
    EXPECT_EQ(listed.exit_code, 0) << listed.err;
    return json::parse(listed.out)[0]["certified"];
  };
  EXPECT_TRUE(shown().is_null());
  json certificate = certificate_of(library);
  const std::string file = folder.path() / "memonly.certificate";
  std::ofstream(file) << certificate;
  EXPECT_EQ(shown()["profile"], "L0");
  EXPECT_EQ(shown()["extent"], "quick");
  EXPECT_EQ(shown()["certificate"], file);
  EXPECT_THAT(run_backplane({"doctor", "--plugin", library}).out,
              testing::HasSubstr("memory without kernels, level L0"));

  certificate["summary"]["profile"] = certificate["profile"] = "L5:f32";
  std::ofstream(file) << certificate;
  EXPECT_TRUE(shown().is_null());
  EXPECT_THAT(run_backplane({"doctor", "--plugin", library}).out,
              testing::HasSubstr("it names the profile L5:f32, its figures give L0"));

  std::ofstream(file) << certificate_of("/nowhere");
  EXPECT_TRUE(shown().is_null());
}

TEST(Devices, of_a_folder_of_manifests) {
  const bp::test::TemporaryFolder folder;
  std::filesystem::copy(memory_only, folder.path());
  std::filesystem::copy(BP_TEST_PLUGIN_DIR "/memonly.json", folder.path());
  const auto listed = run_backplane({"devices", "--json", "--plugin", folder.path()});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(json::parse(listed.out)[0]["name"], "memonly:0");
}

}  // namespace
