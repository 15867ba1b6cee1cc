#include <nlohmann/json.hpp>

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
  EXPECT_THAT(listed.out, testing::MatchesRegex("DEVICE +MAKER +VERSION +MEMORY +WHAT IT IS\n"
                                                "memonly:0 +Backplane tests +0.1 .*\n(.*\n)*"));
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
