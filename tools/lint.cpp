#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/elf_lint.hpp>

#include "commands.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

using loading::Finding;
using loading::LintReport;
using loading::Severity;

const char* name(Severity severity) {
  return severity == Severity::refuse ? "refuse" : "warn";
}

nlohmann::ordered_json describe(const std::string& file, const LintReport& report) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : report.findings)
    findings.push_back({{"severity", name(finding.severity)},
                        {"rule", finding.rule},
                        {"sentence", finding.sentence}});
  return {{"file", file}, {"refused", report.refused()}, {"findings", std::move(findings)}};
}

void print_for_person(const std::string& file, const LintReport& report) {
  for (const Finding& finding : report.findings) {
    const Color color = finding.severity == Severity::refuse ? Color::bad : Color::warning;
    fmt::print("{} {} [{}]\n", paint(fmt::format("{}:", name(finding.severity)), color),
               finding.sentence, finding.rule);
  }
  if (report.findings.empty()) fmt::print("{} {}\n", paint("ok:", Color::good), file);
}

}  // namespace

int lint(const Options& options) {
  bool refused = false;
  auto list = nlohmann::ordered_json::array();
  for (const auto& file : options.files) {
    const LintReport report = loading::lint(file);
    refused |= report.refused();
    if (options.json)
      list.push_back(describe(file.string(), report));
    else
      print_for_person(file.string(), report);
  }
  if (options.json) print_json(list);
  return refused ? 1 : 0;
}

}  // namespace bp::tools
