#include "runner/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/tensor/error.hpp>

#include "conformance/fake.hpp"
#include "report/files.hpp"

namespace {

using namespace bp::conform;
using bp::test::ConformFolder;
using bp::test::fake_case;
using bp::test::fake_header;
using testing::HasSubstr;

Record passing(const std::string& what, std::uint64_t seed = 1) {
  Record record;
  record.one = fake_case(what, seed);
  record.one.level = 2;
  record.one.family = "layout";
  record.name = name_of(record.one);
  record.verdict.rung = "native";
  record.verdict.worst_ulp = 0.5;
  record.verdict.worst_share = 0.25;
  record.verdict.bias = -0.125;
  record.verdict.hash = "abc";
  record.ms = 1.5;
  return record;
}

std::string sentence_of(const std::string& path) {
  try {
    read_journal(path);
  } catch (const bp::Error& error) {
    return error.what();
  }
  return "";
}

TEST(ConformJournal, gives_back_what_was_written) {
  const ConformFolder folder;
  const std::string path = folder.file("journal.jsonl");
  Record crash = passing("crash");
  crash.verdict = {};
  crash.verdict.outcome = Outcome::crash;
  crash.verdict.why = "a \"quoted\"\nreason \xff";
  crash.accomplice = "probe:other@1";
  {
    Journal journal(path, false);
    journal.write(fake_header(2));
    journal.write(passing("pass"));
    journal.write(crash);
    journal.write({{"end", {{"seconds", 2.5}, {"interrupted", false}}}});
  }
  const auto run = read_journal(path);
  ASSERT_EQ(run.records.size(), 2u);
  const Record expected = passing("pass"), &read = run.records[0];
  EXPECT_EQ(read.name, expected.name);
  EXPECT_EQ(read.one.op, "fake.act");
  EXPECT_EQ(read.one.level, 2);
  EXPECT_EQ(read.one.family, "layout");
  EXPECT_EQ(read.verdict.rung, "native");
  EXPECT_EQ(read.verdict.worst_ulp, 0.5);
  EXPECT_EQ(read.verdict.worst_share, 0.25);
  EXPECT_EQ(read.verdict.bias, -0.125);
  EXPECT_EQ(read.verdict.hash, "abc");
  EXPECT_EQ(read.ms, 1.5);
  EXPECT_EQ(run.records[1].verdict.outcome, Outcome::crash);
  EXPECT_EQ(run.records[1].accomplice, "probe:other@1");
  EXPECT_THAT(run.records[1].verdict.why, HasSubstr("\"quoted\"\nreason"));
  EXPECT_TRUE(run.ended);
  EXPECT_FALSE(run.interrupted);
  EXPECT_EQ(run.seconds, 2.5);
  EXPECT_EQ(run.subject.device, "fake:0");
}

TEST(ConformJournal, forgives_a_last_line_that_is_cut_off_and_goes_on_behind_it) {
  const ConformFolder folder;
  const std::string whole = fake_header(2).dump() + "\n",
                    path = folder.write("journal.jsonl", whole + R"({"case":"probe:a@1","outco)");
  EXPECT_TRUE(read_journal(path).records.empty());
  EXPECT_FALSE(read_journal(path).ended);
  { Journal(path, true).write(passing("pass")); }
  EXPECT_EQ(read_journal(path).records.size(), 1u);
}

TEST(ConformJournal, refuses_what_is_damaged_with_file_and_line) {
  const ConformFolder folder;
  const std::string header = fake_header(2).dump() + "\n";
  const auto sentence = [&](const std::string& text) {
    return sentence_of(folder.write("damaged.jsonl", text));
  };
  EXPECT_THAT(sentence(header + "{\"case\": \"cut\n{\"end\":{}}\n"),
              HasSubstr("damaged.jsonl:2: not a JSON object"));
  EXPECT_THAT(sentence("{\"end\":{}}\n"),
              HasSubstr("damaged.jsonl:1: does not begin with the run"));
  EXPECT_THAT(sentence(header + "{\"case\":\"probe:a@1\",\"outcome\":\"great\",\"level\":1}\n"),
              HasSubstr("\"great\" is not an outcome"));
  EXPECT_THAT(sentence(""), HasSubstr("an empty journal"));
  EXPECT_THAT(sentence_of("/nowhere/journal.jsonl"),
              HasSubstr("/nowhere/journal.jsonl: cannot be read"));
}

TEST(ConformJournal, knows_what_is_there_twice) {
  const ConformFolder folder;
  const std::string path = folder.file("journal.jsonl");
  {
    Journal journal(path, false);
    journal.write(fake_header(1));
    journal.write(passing("pass"));
    journal.write(passing("pass"));
  }
  const auto run = read_journal(path);
  EXPECT_EQ(run.records.size(), 1u);
  EXPECT_EQ(run.doubled.size(), 1u);
}

TEST(ConformJournal, says_so_when_the_disk_is_full) {
  Journal journal("/dev/full", false);
  try {
    journal.write(passing("pass"));
    FAIL() << "wrote to a full disk";
  } catch (const bp::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
    EXPECT_THAT(error.what(), HasSubstr("No space left"));
  }
}

}  // namespace
