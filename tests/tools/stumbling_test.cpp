// needs: cpu once
// Plugins that end the process that calls them, or never answer, in each function that loading, opening or unloading calls:
// `doctor` and `devices` say in which, and go on with the others.
#include <future>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tools/run_program.hpp"

namespace {

namespace fs = std::filesystem;
using bp::test::Finished;
using bp::test::run_program;
using bp::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

const std::string stumbling = BP_TEST_PLUGIN_DIR "/libbackplane_evil.so";

struct How {
  std::string name, says;  // "crashes", "crashed in X (signal 11, ", X being the function
};
const std::vector<How>& ways() {
  static const std::vector<How> all = {{"crashes", "crashed in {} (signal 11, Segmentation fault)"},
                                       {"aborts", "crashed in {} (signal 6, Aborted)"},
                                       {"exits", "ended its process in {} (exit code 3)"},
                                       {"throws", "threw a C++ exception out of {} (evil throws)"},
                                       {"hangs", "hung in {}: no answer within 5 s"}};
  return all;
}

std::string with(std::string text, const std::string& function) {
  return text.replace(text.find("{}"), 2, function);
}

// A place like an installed one, with the command and the plugin `cpu`, and a cache of its own.
class Place {
 public:
  Place() {
    const fs::path lib = folder_.path() / "lib", plugins = lib / "backplane",
                   bin = folder_.path() / "bin";
    fs::create_directories(plugins);
    fs::create_directories(bin);
    for (const char* name : {"backplane", "backplane-probe"})
      fs::copy(fs::path(BP_BUILD_BIN_DIR) / name, bin);
    for (const auto& entry : fs::directory_iterator(BP_BUILD_LIB_DIR))
      if (entry.path().filename().string().starts_with("libbackplane.so"))
        fs::copy_file(entry.path(), lib / entry.path().filename());
    for (const char* name : {"libbackplane_cpu.so", "cpu.json"})
      fs::copy_file(fs::path(BP_PLUGIN_DIR) / name, plugins / name);
    // The library is known as a good one, as one is whose driver breaks later.
    EXPECT_EQ(run({"doctor"}, "").exit_code, 0);
  }
  // With the plugin where everyone finds it; the person need not name it.
  Finished run(const std::vector<std::string>& words, const std::string& kind) const {
    const std::string program = fs::relative(folder_.path() / "bin/backplane", BP_BUILD_BIN_DIR);
    return run_program(program, words,
                       {"BACKPLANE_EVIL=" + kind, "BACKPLANE_PLUGIN_PATH=" + stumbling,
                        "XDG_CACHE_HOME=" + (folder_.path() / "cache").string(),
                        "XDG_DATA_HOME=" + (folder_.path() / "data").string()});
  }

 private:
  TemporaryFolder folder_;
};

json finding_of(const Finished& examined) {
  const json report = json::parse(examined.out, nullptr, false);
  if (!report.is_discarded())
    for (const json& each : report["plugins"])
      if (each["library"] == stumbling) return each;
  ADD_FAILURE() << "doctor says nothing of it: " << examined.out << examined.err;
  return {};
}

bool has_device(const json& devices, const std::string& name) {
  for (const json& each : devices)
    if (each["name"] == name) return true;
  return false;
}

struct Said {
  std::string kind, sentence;
  Finished doctor, devices, devices_json;
};

// Every way in each of the functions. Those that hang cost nothing but time, and wait at the same time.
std::vector<Said> say_of(const std::vector<std::pair<std::string, std::string>>& functions) {
  const Place place;
  struct Running {
    std::string kind, sentence;
    std::future<Finished> commands[3];
  };
  std::vector<Running> running;
  for (const auto& [function, where] : functions)
    for (const How& how : ways()) {
      Running& next = running.emplace_back();
      next.kind = function + "_" + how.name;
      next.sentence = with(how.says, where);
      const std::vector<std::string> commands[] = {
          {"doctor", "--json"}, {"devices"}, {"devices", "--json"}};
      for (int i = 0; i < 3; ++i)
        next.commands[i] = std::async(
            how.name == "hangs" ? std::launch::async : std::launch::deferred,
            [&place, words = commands[i], kind = next.kind] { return place.run(words, kind); });
    }
  std::vector<Said> all;
  for (Running& each : running)
    all.push_back({each.kind, each.sentence, each.commands[0].get(), each.commands[1].get(),
                   each.commands[2].get()});
  return all;
}

TEST(Stumbling, while_it_is_loaded_is_a_sentence_and_the_others_go_on) {
  for (const Said& said : say_of({{"constructor", "its constructors"},
                                  {"start", "bp_get_plugin_v1"},
                                  {"probe", "bp_plugin.probe"},
                                  {"init", "bp_plugin.init"},
                                  {"devices", "bp_plugin.devices"}})) {
    if (said.kind == "start_exits") continue;  // with 0: an older kind
    SCOPED_TRACE(said.kind);
    const std::string sentence = stumbling + ": " + said.sentence;
    EXPECT_EQ(said.doctor.exit_code, 0) << "cpu is usable";
    const json finding = finding_of(said.doctor);
    EXPECT_FALSE(finding["usable"]);
    EXPECT_THAT(finding["reason"], HasSubstr(sentence));
    EXPECT_EQ(said.devices.exit_code, 0) << said.devices.err;
    EXPECT_THAT(said.devices.out, HasSubstr("not used: " + sentence));
    EXPECT_THAT(said.devices.out, HasSubstr("\ncpu:0 "));
    EXPECT_THAT(said.devices_json.err, HasSubstr(sentence));
    const json devices = json::parse(said.devices_json.out);
    EXPECT_TRUE(has_device(devices, "cpu:0"));
    EXPECT_FALSE(has_device(devices, "evil:0"));
  }
}

TEST(Stumbling, in_a_device_loses_that_device_alone) {
  for (const Said& said : say_of(
           {{"open", "bp_plugin.open of evil:0"}, {"allocate", "bp_memory.allocate of evil:0"}})) {
    SCOPED_TRACE(said.kind);
    const std::string sentence = stumbling + ": " + said.sentence;
    const json finding = finding_of(said.doctor);
    EXPECT_EQ(finding["stopped_at"], "devices");
    EXPECT_THAT(finding["devices"][0]["problem"], HasSubstr(sentence));
    EXPECT_THAT(said.devices.out, HasSubstr("not used: " + sentence));
    const json devices = json::parse(said.devices_json.out);
    EXPECT_TRUE(has_device(devices, "cpu:0"));
    EXPECT_FALSE(has_device(devices, "evil:0"));
  }
}

// An application meets it at its end, or never.
TEST(Stumbling, at_its_end_is_a_warning) {
  for (const Said& said : say_of({{"quiesce", "bp_plugin.quiesce"},
                                  {"close", "bp_plugin.close"},
                                  {"shutdown", "bp_plugin.shutdown"}})) {
    SCOPED_TRACE(said.kind);
    const json finding = finding_of(said.doctor);
    EXPECT_TRUE(finding["usable"]);
    // Closing cannot fail, so that the core lets nothing out of it.
    const bool ends = said.kind == "close_throws" || said.kind == "quiesce_throws";
    if (!ends) {
      EXPECT_THAT(finding["warnings"].dump(), HasSubstr(said.sentence));
    }
    EXPECT_TRUE(has_device(json::parse(said.devices_json.out), "evil:0"));
  }
}

TEST(Stumbling, of_what_the_person_named_fails_and_still_lists_the_others) {
  const Place place;
  const Finished listed = place.run({"devices", "--plugin", stumbling}, "init_crashes");
  EXPECT_EQ(listed.exit_code, 1);
  EXPECT_THAT(listed.out, HasSubstr("crashed in bp_plugin.init (signal 11"));
  EXPECT_THAT(listed.out, HasSubstr("\ncpu:0 "));
  for (const auto& words : {std::vector<std::string>{"ops", "--plugin", stumbling},
                            std::vector<std::string>{"ops", "--device", "evil:0"}}) {
    const Finished operators = place.run(words, "init_crashes");
    EXPECT_EQ(operators.exit_code, 1);
    EXPECT_THAT(operators.err, HasSubstr("crashed in bp_plugin.init (signal 11"));
  }
}

TEST(Stumbling, what_is_returned_as_an_error_is_said_in_the_plugins_own_words) {
  const std::pair<const char*, const char*> kinds[] = {
      {"init_fails", "init failed: the start broke"},
      {"devices_fails", "the count of devices broke"},
      {"open_fails", "the device does not open"}};
  const Place place;
  for (const auto& [kind, says] : kinds) {
    SCOPED_TRACE(kind);
    EXPECT_THAT(finding_of(place.run({"doctor", "--json"}, kind)).dump(), HasSubstr(says));
    EXPECT_EQ(place.run({"devices"}, kind).exit_code, 0);
  }
}

}  // namespace
