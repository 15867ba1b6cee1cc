// A certificate, and all reports of a folder at once.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/sha256.hpp>
#include <backplane/tensor/error.hpp>

#include "report/files.hpp"
#include "report/report.hpp"

namespace bp::conform {
namespace {

nlohmann::json waivers_json(const std::vector<Waiver>& waivers) {
  nlohmann::json list = nlohmann::json::array();
  for (const Waiver& waiver : waivers)
    list.push_back({{"pattern", waiver.pattern},
                    {"reason", waiver.reason},
                    {"address", waiver.address},
                    {"kind", waiver.kind},
                    {"expires", waiver.expires}});
  return list;
}

}  // namespace

void write_certificate(const Run& run, const Summary& summary, const std::string& journal,
                       const std::string& path) {
  const auto digest = loading::sha256_of_file(journal);
  if (!digest) throw_error(ErrorClass::bad_argument, fmt::format("{}: cannot be read", journal));
  nlohmann::json subject = to_json(run.subject);
  subject.erase("kernels");  // in the journal; here only how many
  subject["kernels"] = run.subject.kernels.size();
  // Where it lay says nothing elsewhere; the digest says which it was.
  subject["library"] = std::filesystem::path(run.subject.library).filename();
  nlohmann::ordered_json certificate = {
      {"certificate", 1},
      {"tool", run.header.at("tool")},
      {"profile", summary.profile},
      {"issued", utc_time(now_seconds())},
      {"subject", subject},
      {"selection", run.header.at("selection")},
      {"must_run", {{"digest", run.header.at("digest")}, {"cases", run.header.at("cases")}}},
      {"journal", {{"file", std::filesystem::path(journal).filename()}, {"sha256", *digest}}},
      {"waivers", run.header.value("waivers", nlohmann::json::array())},
      {"host", run.header.value("host", nlohmann::json())},
      {"summary", to_json(summary)}};
  if (!suite_of(run).empty())
    certificate["through"] = run.header["through"];
  else if (const nlohmann::json sections = sections_of(std::filesystem::path(journal).parent_path(),
                                                       run.subject.library_sha256);
           !sections.empty())
    certificate["sections"] = sections;
  write_whole_file(path, certificate.dump(2) + "\n");
}

Summary summarize_with(const std::string& waivers_file, Run& run, std::vector<Waiver>& waivers) {
  if (!waivers_file.empty()) waivers = read_waivers(waivers_file);
  run.header["waivers"] = waivers_json(waivers);
  return summarize(run, waivers);
}

int write_reports(const std::string& folder, const std::string& waivers_file, std::FILE* to) {
  const std::string journal = folder + "/journal.jsonl";
  Run run = read_journal(journal);
  std::vector<Waiver> waivers;
  const Summary summary = summarize_with(waivers_file, run, waivers);
  if (to != nullptr) fmt::print(to, "{}", text_summary(run, summary));
  write_junit(run, folder + "/junit.xml");
  write_html(run, summary, waivers, folder + "/report.html");
  write_badge(summary, folder + "/badge.svg");
  write_certificate(run, summary, journal, folder + "/certificate.json");
  if (to != nullptr) fmt::print(to, "report: {}/report.html\n", folder);
  return summary.ok ? 0 : 1;
}

}  // namespace bp::conform
