#include "report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/error.hpp>

#include "conformance/fake.hpp"
#include "inputs/problem.hpp"
#include "report/files.hpp"

namespace {

using namespace bp::conform;
using bp::test::ConformFolder;
using bp::test::fake_header;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Record row(const std::string& name, Outcome outcome = Outcome::pass,
           const std::string& rung = "native") {
  Record record;
  record.name = name;
  record.one = read_case(name);
  record.verdict.outcome = outcome;
  record.verdict.rung = rung;
  if (outcome != Outcome::pass) record.verdict.why = "because <it> & \"that\"";
  return record;
}

Record probe(int level, Outcome outcome = Outcome::pass) {
  Record record;
  record.name = "probe:some.thing/" + std::to_string(level) + "@1";
  record.one.lane = Lane::probe;
  record.one.op = "some.thing";
  record.one.level = level;
  record.verdict.outcome = outcome;
  return record;
}

Run run_of(std::vector<Record> records) {
  Run run;
  run.header = fake_header(records.size())["run"];
  run.subject = read_subject(run.header["subject"]);
  run.records = std::move(records);
  run.ended = true;
  return run;
}

// Level 2 is f32's, level 3 also of others; f16 of one row runs on the host.
Run typical_run() {
  return run_of({probe(0), probe(1), row("core:exp[f32]/s3/plain/normal/call@1"),
                 row("core:sort[f32]/s3/plain/normal/call@1"),
                 row("core:exp[f16]/s3/plain/normal/call@1"),
                 row("core:sort[f16]/s3/transpose/normal/call@1", Outcome::pass, "host"),
                 row("core:sort[i64]/s3/plain/normal/call@1")});
}

TEST(ConformReport, tells_correct_from_native) {
  std::vector<Waiver> none;
  const Summary summary = summarize(typical_run(), none);
  EXPECT_EQ(summary.total.run, 7);
  EXPECT_EQ(summary.total.correct, 7);
  EXPECT_EQ(summary.total.native, 6);
  EXPECT_EQ(summary.correct.level, 3);
  EXPECT_EQ(summary.native.level, 3);
  EXPECT_THAT(summary.correct.dtypes, ElementsAre("f32", "i64", "f16"));
  EXPECT_THAT(summary.native.dtypes, ElementsAre("f32", "i64"));
  EXPECT_EQ(summary.profile, "L3:f32,i64");
  EXPECT_TRUE(summary.ok);
}

TEST(ConformReport, stops_at_the_level_that_does_not_hold) {
  std::vector<Waiver> none;
  bp::conform::Run run = typical_run();
  run.records[1].verdict.outcome = Outcome::flaky;
  const Summary summary = summarize(run, none);
  EXPECT_EQ(summary.correct.level, 0);
  EXPECT_EQ(summary.profile, "L0");
  EXPECT_FALSE(summary.ok);
}

TEST(ConformReport, claims_no_profile_from_a_part) {
  std::vector<Waiver> none;
  bp::conform::Run run = typical_run();
  run.header["selection"]["filters"] = {"exp"};
  EXPECT_EQ(summarize(run, none).profile, "partial");
  run = typical_run();
  run.records.pop_back();
  EXPECT_EQ(summarize(run, none).profile, "partial");
}

Waiver waiver(const std::string& pattern, const std::string& kind,
              const std::string& expires = "2999-01-01") {
  return {pattern, "a reason", "https://acme.example/1", kind, expires};
}

TEST(ConformReport, waives_what_is_expected_and_nothing_else) {
  bp::conform::Run run = typical_run();
  run.records[3].verdict.outcome = Outcome::fail;
  run.records[4].verdict.outcome = Outcome::unsupported;
  std::vector<Waiver> good = {waiver("core:sort[[]f32]*", "expected_failure"),
                              waiver("core:exp[f16]*", "unsupported")};
  good[0].pattern = "core:sort[f32]*";
  const Summary summary = summarize(run, good);
  EXPECT_TRUE(summary.ok);
  EXPECT_EQ(summary.total.waived, 2);
  EXPECT_EQ(summary.total.failed, 0);

  const auto problem_of = [&run](const Waiver& one) {
    std::vector<Waiver> waivers = {one};
    const Summary judged = summarize(run, waivers);
    EXPECT_FALSE(judged.ok);
    return judged.waiver_problems.empty() ? std::string() : judged.waiver_problems[0];
  };
  EXPECT_THAT(problem_of(waiver("core:sort[f32]*", "expected_failure", "2001-01-01")),
              HasSubstr("expired on 2001-01-01"));
  EXPECT_THAT(problem_of(waiver("core:sort*", "expected_failure")), HasSubstr("pass"));
  EXPECT_THAT(problem_of(waiver("core:nothing*", "expected_failure")),
              HasSubstr("matches nothing"));
  // A challenge is not a problem itself, and turns nothing green.
  EXPECT_EQ(problem_of(waiver("core:sort[f32]*", "challenge")), "");
}

TEST(ConformReport, expects_no_flakiness) {
  bp::conform::Run run = typical_run();
  run.records[3].verdict.outcome = Outcome::flaky;
  std::vector<Waiver> waivers = {waiver("core:sort[f32]*", "expected_failure")};
  EXPECT_FALSE(summarize(run, waivers).ok);
}

TEST(ConformReport, reads_waivers_in_both_spellings) {
  const ConformFolder folder;
  const std::string simple = folder.write("waivers.yaml",
                                          "# ours\n- pattern: core:sort[f16]*\n  reason: \"none: "
                                          "yet\"\n  address: https://a.example/1\n"
                                          "  kind: expected_failure\n  expires: 2027-01-31\n");
  const auto json = Json::array({{{"pattern", "core:sort[f16]*"},
                                  {"reason", "none: yet"},
                                  {"address", "https://a.example/1"},
                                  {"kind", "expected_failure"},
                                  {"expires", "2027-01-31"}}});
  for (const std::string& path : {simple, folder.write("waivers.json", json.dump())}) {
    const std::vector<Waiver> waivers = read_waivers(path);
    ASSERT_EQ(waivers.size(), 1u);
    EXPECT_EQ(waivers[0].pattern, "core:sort[f16]*");
    EXPECT_EQ(waivers[0].reason, "none: yet");
    EXPECT_EQ(waivers[0].address, "https://a.example/1");
    EXPECT_EQ(waivers[0].expires, "2027-01-31");
  }
}

TEST(ConformReport, refuses_waivers_with_file_and_line) {
  const ConformFolder folder;
  const auto sentence = [&](const std::string& text) -> std::string {
    try {
      read_waivers(folder.write("bad.yaml", text));
    } catch (const bp::Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(
      sentence("- pattern: a\n  reason: b\n  address: c\n  kind: maybe\n  expires: 2027-01-31\n"),
      HasSubstr("\"maybe\" is not a kind"));
  EXPECT_THAT(sentence("- pattern: a\n  reason: b\n"), HasSubstr("without \"address\""));
  EXPECT_THAT(sentence("- pattern: a\n  who: b\n"), HasSubstr("no \"who\""));
  EXPECT_THAT(sentence("pattern: a\n"), HasSubstr("bad.yaml:1"));
  EXPECT_THAT(sentence("[1]"), HasSubstr("an object"));
}

TEST(ConformReport, matches_globs_of_names_full_of_brackets) {
  EXPECT_TRUE(matches_glob("matmul*", "matmul"));
  EXPECT_TRUE(matches_glob("core:*[f16]*/out@1", "core:matmul[f16]/m2/plain/normal/out@1"));
  EXPECT_TRUE(matches_glob("?xp", "exp"));
  EXPECT_FALSE(matches_glob("matmul", "bmatmul"));
  EXPECT_FALSE(matches_glob("*[f16]*", "core:exp[f32]/s1"));
}

TEST(ConformReport, writes_a_page_that_needs_nothing_else) {
  const ConformFolder folder;
  bp::conform::Run run = typical_run();
  run.records[3].verdict.outcome = Outcome::fail;
  run.records[3].verdict.why = "</script><b>";
  std::vector<Waiver> none;
  const Summary summary = summarize(run, none);
  write_html(run, summary, none, folder.file("report.html"));
  const std::string page = read_whole_file(folder.file("report.html"));
  EXPECT_LT(page.size(), 2u << 20);
  EXPECT_THAT(page, HasSubstr("core:sort[f32]"));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(ConformReport, writes_xml_that_a_machine_can_read) {
  const ConformFolder folder;
  bp::conform::Run run = typical_run();
  run.records[3] = row(run.records[3].name, Outcome::crash);
  write_junit(run, folder.file("junit.xml"));
  const std::string xml = read_whole_file(folder.file("junit.xml"));
  EXPECT_THAT(
      xml,
      HasSubstr("<error type=\"crash\" message=\"because &lt;it&gt; &amp; &quot;that&quot;\">"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"fake:0 L3\" tests=\""));
}

TEST(ConformReport, knows_models_by_rows_that_exist) {
  bp::ensure_operators();
  for (const bp::ModelRows& model : bp::model_rows())
    for (const char* rows : {model.inference, model.training})
      for (const std::string& each : split_text(rows, ' '))
        EXPECT_NE(bp::find_operator(each), nullptr) << model.name << ": " << each;
  EXPECT_THROW(model_of("nonesuch"), bp::Error);
}

}  // namespace
