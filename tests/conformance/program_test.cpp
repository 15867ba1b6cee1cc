// needs: cpu
// The program as a person uses it: whole runs on the cpu, interrupted, forged and resumed.
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>

#include <backplane/loading/certificate.hpp>

#include "conformance/fake.hpp"
#include "report/files.hpp"
#include "report/report.hpp"

namespace {

using namespace bp::conform;
using bp::test::conform_program;
using bp::test::ConformFolder;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

struct Exited {
  int code = -1;
  std::string text;
};

// Its outputs go to a file, so that nothing waits for a reader. A signal after some seconds, if wished.
Exited run_program(const ConformFolder& folder, std::vector<std::string> words,
                   double interrupt_after_s = 0) {
  words.insert(words.begin(), conform_program);
  const std::string output = folder.file("output.txt");
  const pid_t child = fork();
  if (child == 0) {
    const int file = creat(output.c_str(), 0600);
    dup2(file, 1);
    dup2(file, 2);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(conform_program.c_str(), pointers.data());
    _exit(127);
  }
  if (interrupt_after_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(interrupt_after_s));
    kill(child, SIGINT);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole_file(output)};
}

std::vector<std::string> some_cases(const ConformFolder& folder) {
  return {"--device", "cpu:0",          "--quick", "--filter",           "core:relu*",
          "--filter", "core:mul[i32]*", "--out",   folder.file("report")};
}

TEST(ConformProgram, runs_reports_certifies_and_verifies) {
  const ConformFolder folder;
  const Exited run = run_program(folder, some_cases(folder));
  ASSERT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("nothing failed"));
  for (const char* name :
       {"journal.jsonl", "junit.xml", "report.html", "badge.svg", "certificate.json"})
    EXPECT_TRUE(fs::exists(folder.file("report/") + name)) << name;
  const Exited verified =
      run_program(folder, {"verify", folder.file("report/certificate.json"), "--rerun", "30%"});
  EXPECT_EQ(verified.code, 0) << verified.text;
  EXPECT_THAT(verified.text, HasSubstr("drawn by chance"));
  // A part is nothing to certify.
  EXPECT_THAT(run_program(folder, {"certify", folder.file("report")}).text,
              HasSubstr("only some of the cases"));
  EXPECT_EQ(run_program(folder, {"diff", folder.file("report"), folder.file("report")}).code, 0);
  EXPECT_EQ(run_program(folder, {"gaps", folder.file("report"), "--for", "resnet50"}).code, 0);
}

// Changes one line of the journal, and makes the certificate's digest fit.
void forge(const ConformFolder& folder,
           const std::function<void(std::vector<std::string>&)>& change) {
  std::ifstream before(folder.file("report/journal.jsonl"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(before, line);) lines.push_back(line);
  change(lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  folder.write("report/journal.jsonl", text);
  Json certificate = Json::parse(read_whole_file(folder.file("report/certificate.json")));
  certificate["journal"]["sha256"] = sha256_of_text(text);
  folder.write("report/certificate.json", certificate.dump());
}

std::size_t first_case(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (Json::parse(lines[i]).contains("case")) return i;
  return 0;
}

TEST(ConformProgram, finds_forgeries) {
  const ConformFolder folder;
  ASSERT_EQ(run_program(folder, some_cases(folder)).code, 0);
  const std::string kept = folder.file("kept");
  fs::copy(folder.file("report"), kept);
  const auto verdict_after = [&](const std::function<void(std::vector<std::string>&)>& change) {
    fs::remove_all(folder.file("report"));
    fs::copy(kept, folder.file("report"));
    forge(folder, change);
    const Exited verified =
        run_program(folder, {"verify", folder.file("report/certificate.json"), "--rerun", "100%"});
    EXPECT_NE(verified.code, 0) << verified.text;
    return verified.text;
  };
  EXPECT_THAT(verdict_after([](auto& lines) {
                lines.erase(lines.begin() + static_cast<long>(first_case(lines)));
              }),
              HasSubstr("1 cases are missing"));
  EXPECT_THAT(verdict_after([](auto& lines) { lines.push_back(lines[first_case(lines)]); }),
              HasSubstr("is there twice"));
  EXPECT_THAT(verdict_after([](auto& lines) {
                Json line = Json::parse(lines[first_case(lines)]);
                line["outcome"] = "fail";
                line["why"] = "really";
                lines[first_case(lines)] = line.dump();
              }),
              HasSubstr("\"total\" is certified as"));
  EXPECT_THAT(verdict_after([](auto& lines) {
                Json line = Json::parse(lines[first_case(lines)]);
                line["hash"] = "0123";
                lines[first_case(lines)] = line.dump();
              }),
              HasSubstr("cases run again differ"));
  EXPECT_THAT(verdict_after([](auto& lines) {
                Json line = Json::parse(lines[0]);
                line["run"]["subject"]["sha256"] = std::string(64, '0');
                lines[0] = line.dump();
              }),
              HasSubstr("another library"));

  // The simplest one: the journal alone.
  fs::remove_all(folder.file("report"));
  fs::copy(kept, folder.file("report"));
  folder.write("report/journal.jsonl",
               read_whole_file(folder.file("report/journal.jsonl")) + "{\"begin\":\"x\"}\n");
  EXPECT_THAT(run_program(folder, {"verify", folder.file("report")}).text,
              HasSubstr("the journal was changed"));
}

// A run of the exam's device with one fault.
std::vector<std::string> faulty(const std::string& fault, std::vector<std::string> more) {
  std::vector<std::string> words = {"--device", "exam:0",
                                    "--plugin", BP_TEST_PLUGIN_DIR "/libbackplane_exam.so",
                                    "--env",    "BACKPLANE_EXAM_FAULT=" + fault};
  words.insert(words.begin(), more.begin(), more.end());
  return words;
}

TEST(ConformProgram, ends_each_failure_with_the_command_that_repeats_it) {
  const ConformFolder folder;
  const Exited run =
      run_program(folder, faulty("exp_off", {"run", "--quick", "--quiet", "--filter",
                                             "direct:exp[f32]*", "--out", folder.file("report")}));
  EXPECT_EQ(run.code, 1) << run.text;
  // Also when it is quiet, which it then is of all else.
  EXPECT_THAT(run.text, HasSubstr("fail    direct:exp[f32]/"));
  EXPECT_THAT(run.text, Not(HasSubstr("left")));
  const std::string command = "backplane conform repro 'direct:exp[f32]/";
  EXPECT_THAT(run.text, HasSubstr("        " + command));
  EXPECT_THAT(run.text, HasSubstr("--env BACKPLANE_EXAM_FAULT=exp_off\n"));
  EXPECT_THAT(read_whole_file(folder.file("report/junit.xml")),
              HasSubstr("backplane conform repro 'direct:exp[f32]/"));
  EXPECT_THAT(read_whole_file(folder.file("report/report.html")), HasSubstr(command));
}

TEST(ConformProgram, prints_what_a_crash_had_answered) {
  const ConformFolder folder;
  const Exited run = run_program(
      folder, faulty("aborts_on_dtype", {"repro", "direct:neg[i16]/s3/plain/normal/call@1"}));
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("crash: the worker ended by signal 6"));
  // Memory was made and written; the call has no answer.
  EXPECT_THAT(run.text, HasSubstr("\"do\":\"write\""));
  EXPECT_THAT(run.text, HasSubstr("< {\"code\":0}"));
  EXPECT_THAT(run.text, HasSubstr("  no answer"));
}

TEST(ConformProgram, says_of_a_part_that_it_is_one) {
  const ConformFolder folder;
  const Exited run = run_program(folder, some_cases(folder));
  EXPECT_THAT(run.text, HasSubstr(" cases that were run\n"));
  EXPECT_THAT(run.text, Not(HasSubstr("no level")));
}

TEST(ConformProgram, verifies_what_it_can_without_a_journal) {
  const ConformFolder folder;
  const std::string plugin = BP_TEST_PLUGIN_DIR "/libbackplane_c11.so";
  const Exited run = run_program(
      folder, {"--device", "c11:0", "--plugin", plugin, "--quick", "--out", folder.file("report")});
  ASSERT_EQ(run.code, 0) << run.text;
  fs::remove(folder.file("report/journal.jsonl"));
  const std::string certificate = folder.file("report/certificate.json");
  const Exited verified = run_program(folder, {"verify", certificate, "--plugin", plugin});
  EXPECT_NE(verified.code, 0);
  EXPECT_THAT(verified.text, HasSubstr("holds: the certificate's own figures agree"));
  EXPECT_THAT(verified.text, HasSubstr("holds: the library at hand"));
  EXPECT_THAT(verified.text, HasSubstr("cannot be checked without "));
  EXPECT_THAT(verified.text, HasSubstr("not verified: nothing contradicts it"));
  // Another library is found without the journal as well.
  EXPECT_THAT(run_program(folder, {"verify", certificate, "--plugin",
                                   BP_TEST_PLUGIN_DIR "/libbackplane_exam.so"})
                  .text,
              HasSubstr("another library"));
}

// The cast of cumsum's argument plans a workspace, whose memory the result gets next.
TEST(ConformProgram, takes_what_a_workspace_left_behind_for_nobodys_fault) {
  const ConformFolder folder;
  const Exited run =
      run_program(folder, {"repro", "core:cumsum[u64]/s5x257:dim=1/plain/exact/call@1", "--device",
                           "exam:0", "--plugin", BP_TEST_PLUGIN_DIR "/libbackplane_exam.so",
                           "--env", "BACKPLANE_EXAM_VARIANT=plans"});
  EXPECT_EQ(run.code, 0) << run.text;
}

// Its third result is one number less the same number.
TEST(ConformProgram, bounds_a_result_that_cancels_to_zero) {
  const ConformFolder folder;
  const char* name = "core:_foreach_sub_[bf16]/sample:by_scalars/transpose/own/call@3";
  const Exited run = run_program(folder, {"repro", name, "--device", "cpu:0"});
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, Not(HasSubstr("past any bound")));
}

TEST(ConformProgram, finds_the_exam_by_itself_or_says_where_it_looked) {
  const ConformFolder folder;
  const Exited found = run_program(folder, {"selftest", "--only", "exp_off", "--seeds", "1"});
  EXPECT_EQ(found.code, 0) << found.text;
  // Elsewhere, as an installed program without it.
  const std::string elsewhere = folder.file("bin/backplane-conform");
  fs::create_directories(folder.file("bin"));
  fs::copy(conform_program, elsewhere);
  const std::string output = folder.file("elsewhere.txt");
  const int status =
      std::system(("cd " + folder.path + " && LD_LIBRARY_PATH=" BP_BUILD_LIB_DIR " " + elsewhere +
                   " selftest > " + output + " 2>&1")
                      .c_str());
  EXPECT_NE(status, 0);
  EXPECT_THAT(read_whole_file(output),
              HasSubstr("the exam's plugin is in none of " + folder.file("lib/test_plugins")));
}

TEST(ConformProgram, writes_a_page_that_keeps_what_was_not_examined) {
  const ConformFolder folder;
  const std::string page = folder.file("page.md");
  const auto examine = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "selftest");
    words.insert(words.end(), {"--write", page});
    return run_program(folder, words);
  };
  ASSERT_EQ(examine({"--only", "exp_off", "--only", "sqrt_off", "--seeds", "2"}).code, 0);
  // And a variant, which takes longer than a test may.
  const std::string variant =
      "| threads: each call on a thread that is made for it | 4 of 5 | 30552 | 196.9 | "
      "core:tril[f32]/s3x4/plain\\|own/normal/call@1 |\n";
  const std::string before = read_whole_file(page) + variant;
  write_whole_file(page, before);

  const Exited run = examine({"--only", "exp_off", "--seeds", "1"});
  EXPECT_EQ(run.code, 0) << run.text;
  const std::string after = read_whole_file(page);
  EXPECT_THAT(after, HasSubstr("| exp_off: exp is off by 1e-4 | ulp | 1 of 1 | `"));
  EXPECT_THAT(after,
              HasSubstr("Of the plugin as it was at this page's writing: `exp_off`. All others"));
  EXPECT_THAT(
      after,
      HasSubstr("2 of 2 faults are killed by the family named with every seed; 0 of 1 benign"));
  EXPECT_THAT(after, HasSubstr(variant));
  const std::size_t row = before.find("| sqrt_off: ");
  EXPECT_THAT(after, HasSubstr(before.substr(row, before.find('\n', row) - row)));
  // Of the matrix: other columns are those of the families that a run meets.
  const auto own_kills = [](const std::string& of) {
    const std::size_t at = of.find("**", of.find("| sqrt_off | "));
    return of.substr(at, of.find("**", at + 2) - at);
  };
  EXPECT_EQ(own_kills(after), own_kills(before));

  std::string cut = before;
  cut.erase(cut.find("| ulp |", cut.find("| sqrt_off: ")), std::string("| ulp ").size());
  write_whole_file(page, cut);
  const Exited refused = examine({"--only", "exp_off", "--seeds", "1"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.text, HasSubstr("the row of sqrt_off cannot be read"));
  EXPECT_EQ(read_whole_file(page), cut);
}

TEST(ConformProgram, sits_side_by_side_and_goes_on_from_what_was_found) {
  const ConformFolder folder;
  const auto sit = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"selftest", "--only",   "exp_off",
                                      "--only",   "sqrt_off", "--jobs",
                                      "2",        "--out",    folder.file("exam")};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(folder, words);
  };
  const Exited first = sit({"--seeds", "1", "--at-once", "2", "--resume"});  // from nothing
  EXPECT_EQ(first.code, 0) << first.text;
  EXPECT_THAT(first.text, HasSubstr("2 of 2 as they should be"));
  const Exited second = sit({"--seeds", "2", "--resume", "--write", folder.file("page.md")});
  EXPECT_EQ(second.code, 0) << second.text;
  EXPECT_THAT(second.text, HasSubstr("4 of 4 as they should be"));
  EXPECT_THAT(second.text, Not(HasSubstr("seed 1")));
  EXPECT_THAT(read_whole_file(folder.file("page.md")), HasSubstr("with the seeds 1, 2."));

  const std::string results = folder.file("exam/results.jsonl");
  std::string of_another = read_whole_file(results);
  of_another.replace(of_another.find("\"library\":\"") + 11, 4, "0000");
  write_whole_file(results, of_another);
  const Exited third = sit({"--seeds", "2", "--resume"});
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.text, HasSubstr("results.jsonl:1: found with the library of digest 0000"));
  EXPECT_THAT(read_whole_file(folder.file("page.md")), Not(HasSubstr("earlier build")));
  const Exited fourth =
      sit({"--seeds", "2", "--resume", "--older", "--write", folder.file("page.md")});
  EXPECT_EQ(fourth.code, 0) << fourth.text;
  EXPECT_THAT(read_whole_file(folder.file("page.md")), HasSubstr("examined with an earlier build"));
}

TEST(ConformProgram, keeps_all_when_interrupted_and_goes_on) {
  const ConformFolder folder;
  // Some seconds of one worker, so that the interruption comes in the midst.
  const std::vector<std::string> run = {
      "--device", "cpu:0",    "--profile", "normal",   "--level", "3",     "--jobs",
      "1",        "--filter", "core:a*",   "--filter", "core:m*", "--out", folder.file("report")};
  const Exited interrupted = run_program(folder, run, 2.0);
  ASSERT_EQ(interrupted.code, 130) << interrupted.text;
  EXPECT_THAT(interrupted.text, HasSubstr("--resume continues"));
  const auto before = read_journal(folder.file("report/journal.jsonl"));
  EXPECT_TRUE(before.interrupted);
  EXPECT_THAT(run_program(folder, {"certify", folder.file("report")}).text,
              HasSubstr("interrupted"));

  std::vector<std::string> other = run;
  other.insert(other.end(), {"--resume", "--seed", "7"});
  EXPECT_THAT(run_program(folder, other).text, HasSubstr("it is of other cases"));

  std::vector<std::string> again = run;
  again.emplace_back("--resume");
  const Exited finished = run_program(folder, again);
  const auto after = read_journal(folder.file("report/journal.jsonl"));
  EXPECT_TRUE(after.ended && !after.interrupted) << finished.text;
  EXPECT_TRUE(after.doubled.empty());
  EXPECT_GE(after.records.size(), after.header.at("cases").get<std::size_t>());
  EXPECT_GT(after.records.size(), before.records.size());
}

TEST(ConformProgram, says_that_the_disk_is_full) {
  const ConformFolder folder;
  fs::create_directory(folder.file("report"));
  fs::create_symlink("/dev/full", folder.file("report/journal.jsonl"));
  const Exited full = run_program(folder, some_cases(folder));
  EXPECT_NE(full.code, 0);
  EXPECT_THAT(full.text, HasSubstr("No space left on device"));
}

// A plugin with a fault: rows of odd width end with the wrong element.
std::vector<std::string> faulty_device() {
  const std::string plugin = BP_TEST_PLUGIN_DIR "/libbackplane_exam.so";
  return {"--device", "exam:0", "--plugin", plugin, "--env", "BACKPLANE_EXAM_FAULT=vector_tail"};
}
std::vector<std::string> join(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ConformProgram, shrinks_a_failure_to_a_simpler_one_that_still_fails) {
  const ConformFolder folder;
  const std::string named = "core:exp[f32]/s5x257/step2/wide/out@1";
  const Exited shrunk = run_program(folder, join({"shrink", named}, faulty_device()));
  ASSERT_EQ(shrunk.code, 0) << shrunk.text;
  const std::size_t last = shrunk.text.rfind("core:exp[f32]/");
  ASSERT_NE(last, std::string::npos) << shrunk.text;
  const std::string simplest = shrunk.text.substr(last, shrunk.text.find(' ', last) - last);
  const Case one = read_case(simplest);
  EXPECT_EQ(one.layouts + " " + one.values + " " + one.form, "plain normal call") << shrunk.text;
  EXPECT_LT(one.shape.size(), std::string("s5x257").size()) << shrunk.text;
  EXPECT_NE(run_program(folder, join({"repro", simplest}, faulty_device())).code, 0) << simplest;
  const Exited right = run_program(folder, {"shrink", named, "--device", "cpu:0"});
  EXPECT_NE(right.code, 0);
  EXPECT_THAT(right.text, HasSubstr("does not fail alone"));
}

TEST(ConformProgram, explains_a_failure_by_its_rule_and_the_nearest_case_that_passes) {
  const ConformFolder folder;
  const std::string report = folder.file("report");
  run_program(folder, join({"--quick", "--quiet", "--filter", "core:exp[f32]*", "--out", report},
                           faulty_device()));
  const auto run = read_journal(report + "/journal.jsonl");
  const auto bad = std::find_if(run.records.begin(), run.records.end(),
                                [](const Record& one) { return is_failure(one); });
  ASSERT_NE(bad, run.records.end());
  const Exited explained = run_program(folder, {"explain", bad->name, "--report", report});
  EXPECT_EQ(explained.code, 0) << explained.text;
  EXPECT_THAT(explained.text, HasSubstr(" ulp"));
  EXPECT_THAT(explained.text, HasSubstr("in " + report + ": fail"));
  EXPECT_THAT(explained.text, HasSubstr("the nearest that passes is core:exp[f32]/"));
  EXPECT_THAT(explained.text, HasSubstr("it differs in "));
}

TEST(ConformProgram, certifies_a_whole_report_and_only_where_nothing_fails) {
  const ConformFolder folder;
  const std::vector<std::string> whole = {"--quick", "--quiet", "--level",
                                          "2",       "--out",   folder.file("report")};
  ASSERT_EQ(run_program(folder, join(whole, {"--device", "cpu:0"})).code, 0);
  fs::remove(folder.file("report/certificate.json"));
  const Exited certified = run_program(folder, {"certify", folder.file("report")});
  ASSERT_EQ(certified.code, 0) << certified.text;
  EXPECT_THAT(certified.text, HasSubstr("native   L2"));
  EXPECT_EQ(run_program(folder, {"verify", folder.file("report/certificate.json")}).code, 0);

  // The level of the device, for programs that ask at run time.
  setenv("XDG_DATA_HOME", folder.path.c_str(), 1);
  const Exited installed = run_program(folder, {"certify", "--install", folder.file("report")});
  const auto environment = bp::loading::Environment::current();
  unsetenv("XDG_DATA_HOME");
  ASSERT_EQ(installed.code, 0) << installed.text;
  const Subject of = read_journal(folder.file("report/journal.jsonl")).subject;
  const bp::loading::CertificateSearch found = bp::loading::find_certificate(
      {of.library, of.backend, of.vendor, of.version, of.device_name}, environment);
  EXPECT_TRUE(found.profile.starts_with("L2:f32")) << found.profile;
  EXPECT_EQ(found.extent, "quick");
  EXPECT_THAT(found.problems, testing::IsEmpty());
  EXPECT_THAT(installed.text, HasSubstr(found.file.string()));

  EXPECT_NE(run_program(folder, join(whole, faulty_device())).code, 0);
  const Exited refused = run_program(folder, {"certify", folder.file("report")});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.text, HasSubstr("cases fail, so there is nothing to certify"));
}

TEST(ConformProgram, ends_where_no_worker_starts_and_goes_on_with_resume) {
  const ConformFolder folder;
  std::vector<std::string> run = {"--device", "cpu:0",    "--quick", "--jobs",
                                  "1",        "--filter", "relu*",   "--out"};
  run.push_back(folder.file("report"));
  // One describes the device, one takes the cases of a lane.
  setenv("BACKPLANE_CONFORM_WORKER",
         bp::test::worker_that_starts(folder, 2, 0, conform_program).c_str(), 1);
  const Exited stopped = run_program(folder, run);
  unsetenv("BACKPLANE_CONFORM_WORKER");
  EXPECT_EQ(stopped.code, 2);
  EXPECT_THAT(stopped.text, HasSubstr("lane starts any more: the worker ended by exit code 9"));
  const bp::conform::Run kept = read_journal(folder.file("report/journal.jsonl"));
  EXPECT_GT(kept.records.size(), 0u);
  for (const Record& record : kept.records) EXPECT_FALSE(is_failure(record)) << record.name;
  run.emplace_back("--resume");
  const Exited whole = run_program(folder, run);
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_GT(read_journal(folder.file("report/journal.jsonl")).records.size(), kept.records.size());
}

TEST(ConformProgram, calls_a_filter_that_matches_nothing_an_error) {
  const ConformFolder folder;
  const Exited nothing = run_program(
      folder, {"--device", "cpu:0", "--filter", "nonesuch*", "--out", folder.file("report")});
  EXPECT_NE(nothing.code, 0);
  EXPECT_THAT(nothing.text, HasSubstr("nonesuch*"));
}

TEST(ConformProgram, joins_shards_into_one_report) {
  const ConformFolder folder;
  std::vector<std::string> join = {"certify", "--out", folder.file("whole")};
  for (const char* shard : {"1/2", "2/2"}) {
    std::vector<std::string> run = some_cases(folder);
    run.back() = folder.file(std::string("shard") + shard[0]);
    run.insert(run.end(), {"--shard", shard});
    EXPECT_EQ(run_program(folder, run).code, 0);
    join.push_back(run[run.size() - 3]);
  }
  run_program(folder, join);
  const auto whole = read_journal(folder.file("whole/journal.jsonl"));
  EXPECT_EQ(whole.records.size(), whole.header.at("cases").get<std::size_t>());
  EXPECT_TRUE(whole.doubled.empty());
}

TEST(program, lists_cases_in_groups_and_names_on_demand) {
  const ConformFolder folder;
  const Exited groups = run_program(folder, {"list", "--level", "1"});
  EXPECT_EQ(groups.code, 0) << groups.text;
  EXPECT_THAT(groups.text, HasSubstr("LEVEL  GROUP"));
  EXPECT_THAT(groups.text, HasSubstr("1      probe:memory"));
  EXPECT_LT(std::count(groups.text.begin(), groups.text.end(), '\n'), 60);
  const Exited names = run_program(folder, {"list", "--level", "1", "--names"});
  EXPECT_GT(std::count(names.text.begin(), names.text.end(), '\n'), 60);
  EXPECT_THAT(names.text, Not(HasSubstr("GROUP")));
}

}  // namespace
