#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>

#include "conformance/fake.hpp"
#include "report/report.hpp"
#include "runner/journal.hpp"

namespace {

using namespace bp::conform;
using bp::test::conform_program;
using bp::test::ConformFolder;
using bp::test::fake_bench;
using bp::test::fake_case;
using testing::HasSubstr;

std::map<std::string, Record> run_fakes(const Bench& bench, const std::vector<Case>& cases,
                                        int jobs = 1) {
  Progress progress(cases.size(), Progress::Shows::nothing);
  std::map<std::string, Record> records;
  run_pool(bench, cases, jobs, progress, [&](const Record& record) {
    EXPECT_TRUE(records.emplace(record.name, record).second)
        << record.name << " was recorded twice";
    return true;
  });
  return records;
}

Outcome outcome_of(const std::map<std::string, Record>& records, const Case& one) {
  return records.at(name_of(one)).verdict.outcome;
}

TEST(ConformRunner, goes_on_after_each_kind_of_end) {
  std::vector<Case> cases;
  const char* const words[] = {"pass", "crash", "pass", "exit", "fail", "garbage", "pass"};
  for (std::uint64_t i = 0; i < std::size(words); ++i) cases.push_back(fake_case(words[i], i + 1));
  const auto records = run_fakes(fake_bench(), cases, 2);
  ASSERT_EQ(records.size(), cases.size());
  const Outcome expected[] = {Outcome::pass, Outcome::crash, Outcome::pass, Outcome::crash,
                              Outcome::fail, Outcome::crash, Outcome::pass};
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(outcome_of(records, cases[i]), expected[i]) << words[i];
  EXPECT_THAT(records.at(name_of(cases[1])).verdict.why, HasSubstr("signal 6"));
  EXPECT_THAT(records.at(name_of(cases[3])).verdict.why, HasSubstr("exit code 3"));
}

TEST(ConformRunner, kills_what_hangs) {
  const Case hang = fake_case("hang"), after = fake_case("pass");
  const auto records = run_fakes(fake_bench(), {hang, after});
  EXPECT_EQ(outcome_of(records, hang), Outcome::timeout);
  EXPECT_EQ(outcome_of(records, after), Outcome::pass);
}

TEST(ConformRunner, names_the_accomplice_of_a_crash_that_needs_company) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    cases.push_back(fake_case(seed == 7 ? "spoil" : "pass", seed));
  const Case spoiled = fake_case("spoiled");
  cases.push_back(spoiled);
  const auto records = run_fakes(fake_bench(), cases);
  EXPECT_EQ(outcome_of(records, spoiled), Outcome::crash);
  EXPECT_EQ(records.at(name_of(spoiled)).accomplice, name_of(fake_case("spoil", 7)));
}

TEST(ConformRunner, calls_a_pass_on_a_retry_flaky) {
  const ConformFolder folder;
  const Case once = fake_case("once:" + folder.file("marker"));
  Record record;
  {
    const auto records = run_fakes(fake_bench(), {fake_case("pass"), once});
    record = records.at(name_of(once));
  }
  EXPECT_EQ(record.verdict.outcome, Outcome::flaky);
  EXPECT_TRUE(is_failure(record));
}

// Two workers of a device that compiles would compile each kernel of a row at the same time.
TEST(ConformRunner, leaves_the_cases_of_a_row_to_one_thread) {
  std::vector<Case> cases;
  for (const char* row : {"first", "second", "third"})
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      cases.push_back(fake_case("pass", seed));
      cases.back().op = std::string("fake.") + row;
    }
  std::mutex mutex;
  std::map<std::string, std::set<std::thread::id>> threads_of;
  Bench bench = fake_bench();
  bench.make_trial = [&](const Case& one, const Subject&) {
    const std::scoped_lock lock(mutex);
    threads_of[one.op].insert(std::this_thread::get_id());
    return std::make_unique<bp::test::FakeTrial>(one);
  };
  EXPECT_EQ(run_fakes(bench, cases, 3).size(), cases.size());
  for (const auto& [row, threads] : threads_of) EXPECT_EQ(threads.size(), 1u) << row;
}

// Every case would be called a crash that is none's fault.
TEST(ConformRunner, ends_where_no_worker_starts_any_more) {
  const ConformFolder folder;
  Bench bench = fake_bench();
  bench.plan.executable = bp::test::worker_that_starts(folder, 1);
  std::vector<Case> cases = {fake_case("pass"), fake_case("exit")};
  for (std::uint64_t seed = 2; seed <= 50; ++seed) cases.push_back(fake_case("pass", seed));
  Progress progress(cases.size(), Progress::Shows::nothing);
  std::vector<std::string> recorded;
  const auto take = [&](const Record& record) {
    recorded.push_back(record.name);
    return true;
  };
  try {
    run_pool(bench, cases, 1, progress, take);
    FAIL() << "the pool ran to its end";
  } catch (const StartFailure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("exit code 9; it wrote: no more processes"));
    EXPECT_THAT(failure.what(), HasSubstr("--resume continues"));
  }
  EXPECT_THAT(recorded, testing::ElementsAre(name_of(cases[0])));

  bench.plan.executable = folder.file("nothing is here");
  EXPECT_THROW(run_pool(bench, cases, 2, progress, take), StartFailure);
  EXPECT_EQ(recorded.size(), 1u);
}

TEST(ConformRunner, tries_again_where_a_start_fails_once) {
  const ConformFolder folder;
  Bench bench = fake_bench();
  bench.plan.executable = bp::test::worker_that_starts(folder, 0, 1);
  EXPECT_EQ(outcome_of(run_fakes(bench, {fake_case("pass")}), fake_case("pass")), Outcome::pass);
}

TEST(ConformRunner, renews_its_workers) {
  Bench bench = fake_bench();
  bench.renew_after = 3;
  std::vector<Case> cases = {fake_case("spoil")};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) cases.push_back(fake_case("pass", seed));
  cases.push_back(fake_case("spoiled"));  // by then in another process
  EXPECT_EQ(outcome_of(run_fakes(bench, cases), cases.back()), Outcome::pass);
}

TEST(ConformRunner, stops_when_the_sink_says_so) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) cases.push_back(fake_case("pass", seed));
  Progress progress(cases.size(), Progress::Shows::nothing);
  int taken = 0;
  run_pool(fake_bench(), cases, 2, progress, [&](const Record&) { return ++taken < 5; });
  EXPECT_EQ(taken, 5);
}

TEST(ConformRunner, stops_a_hanging_case_when_interrupted) {
  std::atomic<bool> stop{false};
  Bench bench = fake_bench();
  bench.plan.stop = &stop;
  bench.patience = 1000;
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop = true;
  });
  const auto records = run_fakes(bench, {fake_case("hang")});
  interrupter.join();
  EXPECT_TRUE(records.empty());
}

TEST(ConformRunner, throws_what_the_sink_throws) {
  Progress progress(1, Progress::Shows::nothing);
  EXPECT_THROW(run_pool(fake_bench(), {fake_case("pass")}, 1, progress,
                        [](const Record&) -> bool { throw std::runtime_error("full"); }),
               std::runtime_error);
}

// A row whose every sum leans a little, and one whose errors point both ways.
TEST(ConformRunner, finds_a_bias_that_no_case_shows) {
  std::vector<Record> records;
  for (int i = 0; i < 40; ++i)
    for (const char* row : {"matmul", "bmm"}) {
      Record record;
      record.name = "core:" + std::string(row) + "[f32]/m" + std::to_string(i) + "@1";
      record.verdict.rule = "gamma(65, f32) * sum |a||b|";
      const double noise = 0.01 * ((i * 7) % 11 - 5);
      record.verdict.bias = row[0] == 'm' ? 0.08 + noise : noise;
      records.push_back(record);
    }
  for (const Aggregate& each : aggregate_bias(records))
    EXPECT_EQ(each.leans, each.row == "matmul[f32]") << each.row << " " << each.t;
}

struct Ended {
  int exit_code;
  std::string text;
};

// With both of its outputs.
Ended run_conform_program(const std::string& arguments) {
  std::FILE* pipe = popen((conform_program + " " + arguments + " 2>&1").c_str(), "r");
  Ended ended{-1, {}};
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    ended.text.append(buffer, count);
  ended.exit_code = WEXITSTATUS(pclose(pipe));
  return ended;
}

TEST(ConformRunner, refuses_what_it_does_not_understand_with_one_sentence) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--device", "NAME missing"},
      {"--quick", "which device"},
      {"--device nobody:0 --quick", "nobody"},
      {"--device cpu:0 --level 9", "levels 0 to 5"},
      {"--device cpu:0 --profile huge", "quick, normal and full"},
      {"--device cpu:0 --shard 5/4", "1/4"},
      {"--device cpu:0 --challenge xyz", "hexadecimal"},
      {"--device cpu:0 --env NAME", "NAME=VALUE"},
      {"--device cpu:0 --plugin /nowhere.so", "/nowhere.so"},
      {"verify /nowhere/certificate.json", "/nowhere/certificate.json"},
      {"gaps /nowhere", "/nowhere"},
      {"explain 'core:matmul'", "core:matmul"},
      {"unheard-of", "not expected: unheard-of"},
      {"", "name a command"}};
  for (const auto& [arguments, word] : wrong) {
    const Ended ended = run_conform_program(arguments);
    EXPECT_NE(ended.exit_code, 0) << arguments;
    EXPECT_THAT(ended.text, HasSubstr(word)) << arguments;
  }
}

}  // namespace
