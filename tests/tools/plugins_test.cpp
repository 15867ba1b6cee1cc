#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::test::run_backplane;
using bp::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

json list_plugins(const std::vector<std::string>& words,
                  const std::vector<std::string>& environment = {}) {
  std::vector<std::string> all{"plugins", "--json"};
  all.insert(all.end(), words.begin(), words.end());
  const auto listed = run_backplane(all, environment);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  return json::parse(listed.out);
}

TEST(Plugins, are_searched_for_in_the_order_of_the_design) {
  const json report =
      list_plugins({"--plugin", "/somewhere"}, {"BACKPLANE_PLUGIN_PATH=/elsewhere"});
  std::vector<std::string> origins;
  for (const json& place : report["searched"]) {
    if (origins.empty() || origins.back() != place["origin"]) origins.push_back(place["origin"]);
  }
  EXPECT_THAT(origins,
              testing::ElementsAre("given", "BACKPLANE_PLUGIN_PATH", "user's folder",
                                   "system's folder", "beside libbackplane", "system's libraries"));
  EXPECT_EQ(report["plugins"][0]["problem"], "/somewhere: does not exist");
  EXPECT_EQ(report["plugins"][1]["problem"], "/elsewhere: does not exist");
}

TEST(Plugins, are_listed_with_what_their_manifest_says) {
  const json report =
      list_plugins({}, {"BACKPLANE_PLUGIN_PATH=" BP_TEST_PLUGIN_DIR "/memonly.json"});
  const json& first = report["plugins"][0];
  EXPECT_EQ(first["name"], "memonly");
  EXPECT_EQ(first["maker"], "Backplane tests");
  EXPECT_EQ(first["description"], "Memory without kernels");
  EXPECT_EQ(first["origin"], "BACKPLANE_PLUGIN_PATH");
  EXPECT_EQ(first["manifest"], BP_TEST_PLUGIN_DIR "/memonly.json");
  EXPECT_EQ(first["problem"], "");
}

TEST(Plugins, with_a_problem_say_it_to_a_person) {
  const TemporaryFolder folder;
  const std::string manifest = folder.write("acme.json", "{\"name\": \"acme\"");
  const auto listed = run_backplane({"plugins", "--plugin", manifest});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_THAT(listed.out, HasSubstr("not used"));
  EXPECT_THAT(listed.out, HasSubstr("acme.json: " + manifest + ": is not JSON"));
}

}  // namespace
