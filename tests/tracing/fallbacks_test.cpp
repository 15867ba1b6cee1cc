// needs: cpu reference_primitives
#include <csignal>
#include <gmock/gmock.h>

#include "tracing/programs.hpp"

namespace {

using namespace bp::test;
using nlohmann::json;
using testing::HasSubstr;

const std::string backplane = BP_BUILD_BIN_DIR "/backplane";

// What it says of a program, as JSON.
json counted(const std::vector<std::string>& program) {
  const TemporaryFolder folder;
  std::vector<std::string> words{"fallbacks", "--json", "--output", folder.path() / "report"};
  words.insert(words.end(), program.begin(), program.end());
  const Finished finished = run_backplane(words);
  json report = json::parse(read_file(folder.path() / "report"), nullptr, false);
  EXPECT_TRUE(report.is_object()) << finished.err;
  EXPECT_EQ(report["exit_code"], finished.exit_code);
  return report;
}

json row_of(const json& report, const std::string& op, const std::string& backend) {
  for (const json& row : report["calls"])
    if (row["op"] == op && row["backend"] == backend) return row;
  ADD_FAILURE() << "no " << op << " on " << backend << " in " << report;
  return {};
}

// This program's disabled test of the name, as words of a command line.
std::vector<std::string> program(const std::string& name) {
  return {std::filesystem::canonical("/proc/self/exe"), "--gtest_also_run_disabled_tests",
          "--gtest_filter=Fallbacks.DISABLED_" + name};
}

TEST(Fallbacks, DISABLED_a_softmax) {
  bp::softmax(bp::ones({4}), 0);
}

TEST(Fallbacks, of_a_program_are_counted_by_rung) {
  const json report = counted(program("a_softmax"));
  EXPECT_EQ(report["exit_code"], 0);
  EXPECT_EQ(report["processes"], 1);
  EXPECT_EQ(row_of(report, "softmax", "cpu")["native"], 1);
  EXPECT_EQ(row_of(report, "softmax", "cpu")["host"], 0);
}

TEST(Fallbacks, DISABLED_slow_ways) {
  const bp::Device primitives = bp::device("reference_primitives");
  bp::softmax(bp::ones({4}, bp::f32, primitives), 0);
  bp::exp(bp::ones({5}, bp::f32, primitives));
  bp::exp(bp::ones({5}, bp::f32, test_backend("memonly")));
}

TEST(Fallbacks, the_slowest_ways_come_first_and_are_named) {
  std::vector<std::string> words = program("slow_ways");
  words.insert(words.begin(), "fallbacks");
  const Finished finished = run_backplane(words);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, HasSubstr("[       OK ]"));  // the program's own words
  EXPECT_THAT(finished.err, HasSubstr("\nran on the host: "));
  EXPECT_THAT(finished.err, HasSubstr("exp on memonly (1)"));
  EXPECT_THAT(finished.err,
              HasSubstr("\nran as several kernels: softmax on reference_primitives (1)\n"));
  EXPECT_THAT(finished.err, HasSubstr("'backplane conform gaps' ranks which kernels to write"));
  EXPECT_LT(finished.err.find("memonly"), finished.err.find("reference_primitives"));
}

TEST(Fallbacks, say_why_and_count_copies) {
  const json report = counted(program("slow_ways"));
  std::map<std::string, std::string> why;
  for (const json& each : report["reasons"])
    why[each["op"].get<std::string>() + " " + each["rung"].get<std::string>()] = each["why"];
  EXPECT_EQ(why["exp host"], "no kernel of exp; register exp");
  EXPECT_EQ(why["softmax decomposed"], "no kernel of softmax");
  std::uint64_t to_host = 0, from_host = 0;
  for (const json& each : report["copies"]) {
    if (each["from"] == "memonly:0") to_host += each["bytes"].get<std::uint64_t>();
    if (each["to"] == "memonly:0") from_host += each["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(to_host, 20);
  EXPECT_EQ(from_host, 20 + 20);  // ones() and exp()'s result
  std::vector<std::string> words = program("slow_ways");
  words.insert(words.begin(), "fallbacks");
  const Finished finished = run_backplane(words);
  EXPECT_THAT(finished.err, HasSubstr("\n  exp on memonly: no kernel of exp; register exp\n"));
  EXPECT_THAT(finished.err, HasSubstr("COPIED FROM"));
}

TEST(Fallbacks, DISABLED_of_another_layout) {
  const bp::Tensor a = bp::ones({2, 3}, bp::f32, test_backend("partial"));
  bp::add(bp::transpose(a, 0, 1), bp::transpose(a, 0, 1));
}

TEST(Fallbacks, say_what_a_conversion_needs) {
  const json report = counted(program("of_another_layout"));
  for (const json& each : report["reasons"])
    if (each["op"] == "add" && each["rung"] == "host") {
      EXPECT_THAT(each["why"].get<std::string>(),
                  HasSubstr("; converting it needs copy or cast, which has no kernel here; "
                            "register copy or cast"));
      return;
    }
  FAIL() << report;
}

TEST(Fallbacks, pass_the_programs_exit_code_on) {
  for (const int code : {0, 1, 7, 42})
    EXPECT_EQ(run_backplane({"fallbacks", "sh", "-c", "exit " + std::to_string(code)}).exit_code,
              code);
  const Finished killed = run_backplane({"fallbacks", "sh", "-c", "kill -TERM $$"});
  EXPECT_EQ(killed.exit_code, 128 + SIGTERM);
  EXPECT_THAT(killed.err, HasSubstr("killed by signal 15 (Terminated); what it counted is lost"));
}

TEST(Fallbacks, tell_a_program_without_calls_from_one_without_backplane) {
  EXPECT_THAT(run_backplane({"fallbacks", "true"}).err,
              HasSubstr("The program called nothing of Backplane"));
  EXPECT_EQ(run_backplane({"fallbacks", backplane, "devices"}).err,
            "The program loaded libbackplane and called no operator.\n");
}

TEST(Fallbacks, of_all_processes_of_a_program_are_added_up) {
  std::vector<std::string> words = program("a_softmax");
  words.insert(words.begin(), {"sh", "-c", "\"$0\" \"$@\" && \"$0\" \"$@\""});
  const json report = counted(words);
  EXPECT_EQ(report["processes"], 2);
  EXPECT_EQ(row_of(report, "softmax", "cpu")["native"], 2);
}

TEST(Fallbacks, a_program_that_cannot_be_started_is_an_error) {
  const Finished finished = run_backplane({"fallbacks", "/nowhere/program", "--its", "words"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.err,
            "backplane: fallbacks: cannot start /nowhere/program: No such file or directory\n");
  EXPECT_THAT(run_backplane({"fallbacks", "--output", "/nowhere/report", "true"}).err,
              HasSubstr("/nowhere/report cannot be written"));
}

TEST(Fallbacks, of_a_library_that_python_loads_are_counted) {
  const std::string shim =
      std::filesystem::path(BP_BUILD_BIN_DIR) / "../tests/libbackplane_interop_shim.so";
  if (!std::filesystem::exists(shim) || std::system("python3 -c '' 2>/dev/null") != 0)
    GTEST_SKIP() << "needs Python and the library for it, which no sanitizer's build has";
  const json report =
      counted({"python3", "-c",
               "import ctypes, sys\n"
               "shim = ctypes.CDLL(sys.argv[1])\n"
               "shim.shim_arange.restype = ctypes.c_void_p\n"
               "assert shim.shim_arange(shim.shim_device(b'cpu'), ctypes.c_longlong(3))\n"
               "sys.exit(5)",
               shim});
  EXPECT_EQ(report["exit_code"], 5);
  EXPECT_FALSE(report["calls"].empty());
}

}  // namespace
