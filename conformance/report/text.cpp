// What conform prints at its end, the command that repeats a case, JUnit XML, and the badge.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "inputs/values.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/journal.hpp"

namespace bp::conform {
namespace {

std::string count_line(const std::string& what, const Count& count) {
  return fmt::format("{:<6}{:>8}{:>9}{:>8}{:>8}{:>8}{:>13}\n", what, count.run, count.correct,
                     count.native, count.failed, count.waived, count.unsupported);
}

std::string accuracy_lines(const Run& run) {
  std::map<std::string, double> worst;
  for (const Record& record : run.records) {
    double& share = worst[fmt::format("{}[{}]", record.one.op, short_name(record.one.dtype))];
    share = std::max(share, record.verdict.worst_share);
  }
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [row, share] : worst)
    if (share > 0) rows.emplace_back(share, row);
  std::ranges::sort(rows, std::greater());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, rows.size()); ++i)
    text += fmt::format("{}{} {:.2g}", i == 0 ? "nearest to its bound: " : ", ", rows[i].second,
                        rows[i].first);
  return text.empty() ? text : text + "\n";
}

std::string numerics_line(const Numerics& numerics) {
  std::vector<const char*> declared;
  if (numerics.flushes_denormals) declared.push_back("flushes denormals");
  if (numerics.flushes_bf16_products) declared.push_back("bf16 products flush denormals");
  if (numerics.tf32_matmul) declared.push_back("TF32 products");
  if (numerics.low_accumulation) declared.push_back("16-bit sums");
  return declared.empty() ? "" : fmt::format("declared numerics: {}\n", fmt::join(declared, ", "));
}

}  // namespace

std::vector<std::pair<std::string, Count>> shown_levels(const Run& run, const Summary& summary) {
  std::vector<std::pair<std::string, Count>> shown;
  for (std::size_t level = 0; level < summary.levels.size(); ++level)
    if (summary.levels[level].run != 0 && suite_of(run).empty())
      shown.emplace_back(fmt::format("L{}", level), summary.levels[level]);
  return shown;
}

std::string standing_text(const Run& run, int good, const Standing& standing) {
  if (!is_whole(run) || !suite_of(run).empty())
    return fmt::format("{} of the {} cases that were run", good, run.records.size());
  if (standing.level < 0) return "no level";
  return fmt::format("L{}{}{}", standing.level, standing.dtypes.empty() ? "" : " in ",
                     fmt::join(standing.dtypes, ", "));
}

std::string unit_text(const Subject& subject) {
  std::string text = subject.device_name;
  if (!subject.driver.empty()) text += "; driver " + subject.driver;
  if (!subject.uuid.empty()) text += "; uuid " + subject.uuid;
  return text;
}

std::string text_summary(const Run& run, const Summary& summary) {
  std::string text = fmt::format("{} ({} {}), {}\n", run.subject.device, run.subject.backend,
                                 run.subject.version, run.subject.library);
  text += unit_text(run.subject) + "\n";
  text += fmt::format("{:<6}{:>8}{:>9}{:>8}{:>8}{:>8}{:>13}\n", "level", "cases", "correct",
                      "native", "failed", "waived", "unsupported");
  for (const auto& [level, count] : shown_levels(run, summary)) text += count_line(level, count);
  text += count_line("all", summary.total);
  text += fmt::format("correct  {}\nnative   {}\n",
                      standing_text(run, summary.total.correct, summary.correct),
                      standing_text(run, summary.total.native, summary.native));
  if (!is_whole(run) && suite_of(run).empty())
    text += "a part: a level needs all cases of a profile\n";
  text += numerics_line(run.subject.numerics) + accuracy_lines(run);
  if (!summary.excused.empty())
    text += fmt::format("excused (their shape depends on data): {}\n",
                        fmt::join(summary.excused, ", "));
  for (const std::string& problem : summary.waiver_problems) text += problem + "\n";
  text += fmt::format("profile {}: {} of {} cases in {:.1f} s, {}\n", summary.profile,
                      summary.total.run, run.header.at("cases").get<int>(), run.seconds,
                      run.interrupted || !run.ended ? "interrupted"
                      : summary.ok                  ? "nothing failed"
                                                    : "failed");
  return text;
}

namespace {

// For a shell.
std::string quoted(const std::string& text) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string repeating_command(const std::string& case_name, const Json& header) {
  std::string command = "backplane conform";
  if (header.contains("through")) {
    command += fmt::format(
        " --through {} --profile {} --filter {}", header["through"].at("suite").get<std::string>(),
        header.at("selection").at("profile").get<std::string>(), quoted(case_name));
  } else if (is_aggregate(case_name)) {
    const std::string row = case_name.substr(std::string_view("probe:bias.").size());
    const Json& selection = header.at("selection");
    command += fmt::format(" --profile {} --seed {} --filter {}",
                           selection.at("profile").get<std::string>(),
                           selection.at("seed").get<std::uint64_t>(),
                           quoted("*:" + row.substr(0, row.find('@')) + "*"));
  } else {
    command += " repro " + quoted(case_name);
  }
  command += " --device " + quoted(header.at("subject").at("device").get<std::string>());
  if (const std::string plugin = header.value("plugin", ""); !plugin.empty())
    command += " --plugin " + quoted(plugin);
  for (const std::string& entry : header.value("environment", std::vector<std::string>()))
    command += " --env " + quoted(entry);
  return command;
}

// ---- JUnit XML, for the machines that read it: a suite for each level

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
  std::string suites[num_levels];
  Count counts[num_levels];
  for (const Record& record : run.records) {
    suites[level_of(record)] += testcase(record, run.header);
    counts[level_of(record)].add(record);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (std::size_t level = 0; level < num_levels; ++level)
    if (counts[level].run != 0)
      text +=
          fmt::format("<testsuite name=\"{} {}\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
                      escape_markup(run.subject.device),
                      suite_of(run).empty() ? fmt::format("L{}", level) : suite_of(run),
                      counts[level].run, counts[level].failed, suites[level]);
  write_whole_file(path, text + "</testsuites>\n");
}

// ---- A badge for a README: the profile, in the colour of what it is worth

void write_badge(const Summary& summary, const std::string& path) {
  constexpr int label_width = 84;
  const std::string& profile = summary.profile;
  const int width = 16 + 7 * static_cast<int>(profile.size());
  const char* colour = !summary.ok ? "#b3261e" : summary.native.level >= 3 ? "#1a7f37" : "#9a6700";
  write_whole_file(
      path,
      fmt::format(
          R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="20" role="img" aria-label="backplane: {1}">
<rect width="{2}" height="20" rx="3" fill="#444"/><rect x="{2}" width="{3}" height="20" rx="3" fill="{4}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{5}" y="14">backplane</text><text x="{6}" y="14">{1}</text></g></svg>
)",
          label_width + width, escape_markup(profile), label_width, width, colour, label_width / 2,
          label_width + width / 2));
}

}  // namespace bp::conform
