// All files of a folder at once, the shards of a run as one, and certificates: what they say, also of other projects' tests, and
// the command that writes one.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include <backplane/loading/certificate.hpp>
#include <backplane/loading/sha256.hpp>

#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"
#include "runner/journal.hpp"

namespace bp::conform {

// ---- Shards: what --shard 1/4 ... 4/4 found, perhaps on four machines

namespace {

// That two shards are of one run: the same tool, library and choice of cases.
Json kind_of(const Run& run) {
  Json selection = run.header.at("selection");
  selection.erase("shard");
  return {run.header.at("tool"), run.subject.library_sha256, run.subject.device_name, selection};
}

std::vector<Run> read_shards(const std::vector<std::string>& reports) {
  std::vector<Run> runs;
  std::set<int> shards;
  for (const std::string& report : reports) {
    runs.push_back(read_journal(journal_of(report)));
    const Run& run = runs.back();
    const auto refuse_shard = [&](const char* why) { refuse("certify: {} {}", report, why); };
    if (!run.ended || run.interrupted) refuse_shard("was interrupted; --resume continues it");
    if (kind_of(run) != kind_of(runs[0]))
      refuse_shard("is of another tool, library, device or choice of cases than the first");
    if (!shards.insert(run.header.at("selection").at("shard").get<int>()).second)
      refuse_shard("is of a shard that was given already");
  }
  const int wanted = runs[0].header.at("selection").at("num_shards").get<int>();
  if (static_cast<int>(shards.size()) != wanted)
    refuse("certify: {} of {} shards are given", shards.size(), wanted);
  return runs;
}

}  // namespace

void merge_shards(const std::vector<std::string>& reports, const std::string& folder) {
  const std::vector<Run> runs = read_shards(reports);
  Selection whole = runs[0].header.at("selection").get<Selection>();
  whole.shard = 0;
  whole.num_shards = 1;
  const std::vector<Case> cases = derive_cases(runs[0].subject, whole);
  Json header = runs[0].header;
  header["selection"] = whole;
  header["cases"] = cases.size();
  header["digest"] = digest_of(cases);
  std::filesystem::create_directories(folder);
  Journal journal(folder + "/journal.jsonl", /*resume=*/false);
  journal.write({{"run", header}});
  std::vector<Record> records;
  double seconds = 0;
  for (const Run& run : runs) {
    for (const Record& record : run.records)
      if (!is_aggregate(record.name)) records.push_back(record);
    seconds += run.seconds;
  }
  for (const Record& record : records) journal.write(record);
  write_aggregates(records, journal);
  journal.write({{"end", {{"seconds", seconds}, {"interrupted", false}}}});
}

// ---- Certificates

Json sections_of(const std::string& folder, const std::string& library_sha256) {
  Json sections = Json::object();
  for (const char* suite : {"pytorch", "onnx"}) {
    const std::string file = fmt::format("{}/journal.jsonl", suite), path = folder + "/" + file;
    if (!std::filesystem::exists(path)) continue;
    const Run run = read_journal(path);
    if (suite_of(run) != suite || run.subject.library_sha256 != library_sha256) continue;
    std::vector<Waiver> none;
    const Summary summary = summarize(run, none);
    sections[suite] = {
        {"profile", summary.profile},
        {"versions", run.header["through"].at("versions")},
        {"selection", run.header.at("selection")},
        {"must_run", {{"digest", run.header.at("digest")}, {"cases", run.header.at("cases")}}},
        {"figures", summary.total},
        {"journal", {{"file", file}, {"sha256", loading::sha256_of_file(path).value_or("")}}}};
  }
  return sections;
}

std::string text_of_sections(const Json& sections) {
  std::string text;
  for (const auto& [suite, section] : sections.items()) {
    const Json& figures = section.at("figures");
    const auto of = [&](const char* figure) { return figures.at(figure).get<int>(); };
    text +=
        fmt::format("through {}: {} cases, {} correct, {} native, {} failed, {} unsupported\n",
                    suite, of("run"), of("correct"), of("native"), of("failed"), of("unsupported"));
  }
  return text;
}

void write_certificate(const Run& run, const Summary& summary, const std::string& journal,
                       const std::string& path) {
  const auto digest = loading::sha256_of_file(journal);
  if (!digest) refuse("{}: cannot be read", journal);
  Json subject = to_json(run.subject);
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
      {"waivers", run.header.value("waivers", Json::array())},
      {"host", run.header.value("host", Json())},
      {"summary", Json(summary)}};
  if (!suite_of(run).empty())
    certificate["through"] = run.header["through"];
  else if (const Json sections = sections_of(std::filesystem::path(journal).parent_path(),
                                             run.subject.library_sha256);
           !sections.empty())
    certificate["sections"] = sections;
  write_whole_file(path, certificate.dump(2) + "\n");
}

Summary summarize_with(const std::string& waivers_file, Run& run, std::vector<Waiver>& waivers) {
  if (!waivers_file.empty()) waivers = read_waivers(waivers_file);
  run.header["waivers"] = waivers;
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

namespace {

// Where the core looks for the level of a device: see dispatcher/certified.hpp.
void install_certificate(const Run& run, const std::string& certificate) {
  const std::filesystem::path folder = loading::Environment::current().user_certificates;
  if (folder.empty())
    refuse("certify: there is no user folder to install the certificate in; set HOME");
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  std::string file =
      fmt::format("{}-{}{}", run.subject.device, run.subject.library_sha256.substr(0, 16),
                  loading::certificate_ending);
  std::ranges::replace(file, ':', '-');
  write_whole_file(folder / file, read_whole_file(certificate));
  fmt::print("installed: {}\n", (folder / file).string());
}

}  // namespace

int certify_report(const Options& options) {
  if (options.files.size() > 1 && options.out.empty())
    refuse(
        "certify: several reports are the shards of one run; give a folder for the common "
        "one with --out FOLDER");
  const std::string folder = options.files.size() > 1 ? options.out : options.files.at(0),
                    journal = folder + "/journal.jsonl";
  if (options.files.size() > 1) merge_shards(options.files, folder);
  Run run = read_journal(journal);
  const auto refuse_report = [&](const std::string& why) {
    refuse("certify: {} is not a complete report: {}", folder, why);
  };
  if (!run.ended || run.interrupted)
    refuse_report("the run was interrupted; --resume continues it");
  if (!suite_of(run).empty())
    refuse_report(
        fmt::format("it is of the tests of {}, which give no level; certify the report of "
                    "Backplane's own cases, whose folder this one lies in",
                    suite_of(run)));
  if (!is_whole(run))
    refuse_report("it has only some of the cases of its level (a filter or a shard)");
  if (!run.doubled.empty()) refuse_report(fmt::format("case {} is there twice", run.doubled[0]));
  std::vector<Waiver> waivers;
  const Summary summary = summarize_with(options.waivers, run, waivers);
  fmt::print("{}", text_summary(run, summary));
  if (!summary.ok) {
    fmt::print("certify: cases fail, so there is nothing to certify\n");
    return exit_failed;
  }
  if (options.files.size() > 1) write_reports(folder, options.waivers, nullptr);
  write_certificate(run, summary, journal, folder + "/certificate.json");
  fmt::print("{}certificate: {}/certificate.json\n",
             text_of_sections(sections_of(folder, run.subject.library_sha256)), folder);
  if (options.install) install_certificate(run, folder + "/certificate.json");
  return 0;
}

}  // namespace bp::conform
