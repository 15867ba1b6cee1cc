// JUnit XML, for the machines that read it: a suite for each level.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/files.hpp"
#include "report/report.hpp"

namespace bp::conform {
namespace {

std::string testcase(const Record& record, const Json& header) {
  const Verdict& verdict = record.verdict;
  std::string text =
      fmt::format(R"(<testcase classname="{}" name="{}" time="{:.4f}")",
                  escape_markup(record.one.op), escape_markup(record.name), record.ms / 1e3);
  if (verdict.outcome == Outcome::pass) return text + "/>\n";
  const std::string why = escape_markup(verdict.why);
  if (verdict.outcome == Outcome::unsupported)
    return text + fmt::format(R"(><skipped message="{}"/></testcase>)", why) + "\n";
  const bool broke = verdict.outcome == Outcome::crash || verdict.outcome == Outcome::timeout;
  return text + fmt::format("><{0} type=\"{1}\" message=\"{2}\">{3}</{0}></testcase>\n",
                            broke ? "error" : "failure", name(verdict.outcome), why,
                            escape_markup(repeating_command(record.name, header)));
}

}  // namespace

void write_junit(const Run& run, const std::string& path) {
  std::string suites[6];
  int tests[6] = {}, failures[6] = {};
  for (const Record& record : run.records) {
    const int level = record.one.level < 0 || record.one.level > 5 ? 5 : record.one.level;
    suites[level] += testcase(record, run.header);
    ++tests[level];
    failures[level] += is_failure(record);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (int level = 0; level < 6; ++level)
    if (tests[level] != 0)
      text +=
          fmt::format("<testsuite name=\"{} {}\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
                      escape_markup(run.subject.device),
                      suite_of(run).empty() ? fmt::format("L{}", level) : suite_of(run),
                      tests[level], failures[level], suites[level]);
  write_whole_file(path, text + "</testsuites>\n");
}

}  // namespace bp::conform
