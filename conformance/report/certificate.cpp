// All files of a folder at once, the shards of a run as one, and certificates: what they say, also of other projects' tests, and
// the commands that write and verify one.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <unordered_set>

#include <backplane/loading/certificate.hpp>
#include <backplane/loading/sha256.hpp>
#include <backplane/tensor/error.hpp>

#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"
#include "runner/journal.hpp"
#include "runner/pool.hpp"
#include "worker/scope.hpp"

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

void merge_shards(const std::vector<std::string>& reports, const std::string& folder) {
  const std::vector<Run> runs = read_shards(reports);
  Selection whole = runs[0].header.at("selection").get<Selection>();
  whole.shard = 0;
  whole.num_shards = 1;
  const std::vector<Case> cases = derive_cases(runs[0].subject, whole);
  std::filesystem::create_directories(folder);
  Journal journal(folder + "/journal.jsonl", /*resume=*/false);
  begin_run(journal, runs[0].header, whole, digest_of(cases), cases.size());
  std::vector<Record> records;
  double seconds = 0;
  for (const Run& run : runs) {
    for (const Record& record : run.records)
      if (!is_aggregate(record.name)) records.push_back(record);
    seconds += run.seconds;
  }
  for (const Record& record : records) journal.write(record);
  write_aggregates(records, journal);
  end_run(journal, seconds, /*interrupted=*/false);
}

// ---- Certificates

// The sections of a certificate for journals of --through below its folder, if they are of the same library.
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

// JSON with subject, digests, summary and the digest of the journal beside it.
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

// With a file's waivers (none without a path), which the run's header then has.
Summary summarize_with(const std::string& waivers_file, Run& run, std::vector<Waiver>& waivers) {
  if (!waivers_file.empty()) waivers = read_waivers(waivers_file);
  run.header["waivers"] = waivers;
  return summarize(run, waivers);
}

}  // namespace

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

// ---- backplane conform verify: whether a certificate holds. Digests find a careless change; the verdicts are counted again
// from the raw journal and its list of cases is derived again; only a rerun of a random part stops a forger who makes
// all of that again

namespace {

namespace fs = std::filesystem;

struct Examination {
  std::vector<std::string> problems, checked;

  void print() const {
    for (const std::string& each : checked) fmt::print("holds: {}\n", each);
    for (const std::string& each : problems) fmt::print("DOES NOT HOLD: {}\n", each);
  }
  void check(bool good, const std::string& what, const std::string& problem) {
    (good ? checked : problems).push_back(good ? what : problem);
  }
  // That there are none; `problem` has a place for the first.
  void check_none(const auto& bad, const std::string& what, const std::string& problem) {
    check(bad.empty(), what, bad.empty() ? "" : fmt::format(fmt::runtime(problem), *bad.begin()));
  }
};

Json read_certificate(const std::string& path) {
  Json json = Json::parse(read_whole_file(path), nullptr, /*allow_exceptions=*/false);
  for (const char* key : {"certificate", "journal", "summary", "must_run", "subject"})
    if (!json.contains(key)) refuse("{}: not a certificate of backplane conform", path);
  return json;
}

// The tests of other projects are counted again; which they are is known to their own packages alone.
void check_sections(const fs::path& folder, const Json& certificate, Examination& out) {
  const Json certified = certificate.value("sections", Json::object());
  const Json counted = sections_of(folder, certificate.at("subject").value("sha256", ""));
  for (const auto& [suite, section] : certified.items())
    out.check(counted.contains(suite) && counted[suite] == section,
              fmt::format("the section \"{}\"", suite),
              fmt::format("the section \"{}\" is not what {} gives", suite,
                          (folder / suite / "journal.jsonl").string()));
}

// Of a journal of --through.
void check_names(const Run& run, Examination& out) {
  std::vector<std::string> names;
  for (const Record& record : run.records) names.push_back(record.name);
  out.check(run.doubled.empty() && digest_of_names(names) == run.header.at("digest"),
            fmt::format("all {} cases are there", names.size()),
            "the journal's cases are not those of its header");
}

// A record that contradicts itself was not written by the runner.
bool is_plausible(const Record& record) {
  const Verdict& verdict = record.verdict;
  if (verdict.outcome == Outcome::pass) return verdict.why.empty() && verdict.worst_share <= 1;
  return !verdict.why.empty();
}

void check_cases(const Run& run, Examination& out) {
  const std::vector<Case> cases =
      derive_cases(run.subject, run.header.at("selection").get<Selection>());
  const std::string digest = digest_of(cases);
  out.check(digest == run.header.at("digest"), "the must-run list's digest",
            fmt::format("the must-run list of this tool has the digest {}, the journal's is {}: "
                        "another version, or a changed header",
                        digest, run.header.at("digest").get<std::string>()));
  std::unordered_set<std::string> seen;
  for (const Record& record : run.records)
    if (!is_aggregate(record.name)) seen.insert(record.name);
  std::vector<std::string> missing;
  for (const Case& one : cases)
    if (std::string case_name = name_of(one); seen.erase(case_name) == 0)
      missing.push_back(std::move(case_name));
  out.check_none(missing, fmt::format("all {} cases are there", cases.size()),
                 fmt::format("{} cases are missing, {{}} first", missing.size()));
  out.check_none(run.doubled, "none is there twice", "case {} is there twice");
  out.check_none(seen, "no other is there", "case {} is not on the must-run list");
}

void check_verdicts(const Run& run, const Json& certificate, Examination& out) {
  std::vector<std::string> odd;
  for (const Record& record : run.records)
    if (!is_plausible(record)) odd.push_back(record.name);
  out.check_none(odd, "each verdict fits its figures",
                 "the verdict on {} contradicts its own figures");
  auto waivers = certificate.value("waivers", Json::array()).get<std::vector<Waiver>>();
  const Json counted = summarize(run, waivers);
  for (const char* figure : {"total", "levels", "correct", "native", "profile", "ok"})
    out.check(counted.at(figure) == certificate.at("summary").value(figure, Json()),
              fmt::format("the figure \"{}\"", figure),
              fmt::format("\"{}\" is certified as {}, the journal gives {}", figure,
                          certificate.at("summary").value(figure, Json()).dump(),
                          counted.at(figure).dump()));
  out.check(certificate.value("profile", "") == counted.at("profile"), "the profile",
            "the profile on top is not that of the summary");
}

void check_library_at_hand(const std::string& certified, const std::string& library,
                           const Options& options, Examination& out) {
  const std::string path = options.plugin.empty() ? library : options.plugin;
  const auto digest = loading::sha256_of_file(path);
  if (!digest && options.plugin.empty()) {
    fmt::print("note: {} is not here, so it is not compared (--plugin PATH)\n", path);
    return;
  }
  out.check(digest == certified, "the library at hand",
            fmt::format("{} has the SHA-256 {}, the certificate is of {}: another library", path,
                        digest.value_or("(unreadable)"), certified));
}

// Without the journal nothing can be counted again. What does not need it is checked; that alone proves nothing.
int verify_alone(const std::string& path, const std::string& journal, const Json& certificate,
                 const Options& options, Examination& out) {
  const std::string fault = loading::find_fault_in_certificate(read_whole_file(path), path);
  out.check(fault.empty(), "the certificate's own figures agree", fault);
  const Json& subject = certificate.at("subject");
  std::string library;
  try {
    library = find_plugin_file(subject.value("device", ""), options.plugin);
  } catch (const Error&) {
    library = subject.value("library", "");
  }
  check_library_at_hand(subject.value("sha256", ""), library, options, out);
  out.print();
  for (const char* what : {"whether all cases of the must-run list were run, and once",
                           "whether the verdicts add up to the figures",
                           "whether a part of it, run again, gives the same outputs"})
    fmt::print("cannot be checked without {}: {}\n", journal, what);
  fmt::print("{}: {}\n", path,
             out.problems.empty() ? "not verified: nothing contradicts it, and its journal is gone"
                                  : "the certificate does not hold");
  return exit_failed;
}

double share_of(const std::string& text) {
  char* rest = nullptr;
  const double share = std::strtod(text.c_str(), &rest);
  if (!(share > 0 && share <= 100) || (*rest != '\0' && rest != std::string_view("%")))
    refuse("verify: --rerun {}: should be like 5%", text);
  return share / 100;
}

// A part that nobody knows before.
std::vector<const Record*> draw_records(const Run& run, double share) {
  std::vector<const Record*> all, drawn;
  for (const Record& record : run.records)
    if (!is_aggregate(record.name)) all.push_back(&record);
  const auto count = std::max(1.0, share * static_cast<double>(all.size()));
  std::random_device chance;
  std::ranges::sample(all, std::back_inserter(drawn), static_cast<std::ptrdiff_t>(count),
                      std::mt19937_64((std::uint64_t{chance()} << 32) | chance()));
  return drawn;
}

void check_again(const Run& run, const Options& options, Examination& out) {
  Options own = options;
  if (own.device.empty()) own.device = run.subject.device;
  if (own.environment.empty())
    own.environment = run.header.value("environment", std::vector<std::string>());
  Bench bench = bench_of(own);
  if (bench.subject.library_sha256 != run.subject.library_sha256) {
    out.problems.push_back(fmt::format("{} is served by another library, {}: no rerun", own.device,
                                       bench.subject.library));
    return;
  }
  std::unordered_map<std::string, const Record*> drawn;
  std::vector<Case> cases;
  for (const Record* record : draw_records(run, share_of(options.rerun))) {
    drawn[record->name] = record;
    cases.push_back(record->one);
  }
  const InterruptGuard guard;
  bench.plan.stop = &InterruptGuard::requested();
  Progress progress(cases.size(), options.quiet ? Progress::Shows::failures : Progress::Shows::all,
                    run.header);
  std::size_t done = 0;
  std::vector<std::string> differing;
  run_pool(bench, cases, jobs_of(options), progress, [&](const Record& again) {
    const Record& before = *drawn.at(again.name);
    ++done;
    if (again.verdict.outcome != before.verdict.outcome ||
        again.verdict.hash != before.verdict.hash)
      differing.push_back(fmt::format("{}: {} with outputs {}, certified {} with {}", again.name,
                                      name(again.verdict.outcome), again.verdict.hash,
                                      name(before.verdict.outcome), before.verdict.hash));
    return true;
  });
  if (InterruptGuard::requested())
    out.problems.push_back(fmt::format("interrupted after {} of {} reruns", done, cases.size()));
  out.check(differing.empty(),
            fmt::format("{} cases again, drawn by chance: the same verdicts and outputs", done),
            fmt::format("{} of {} cases run again differ; {}", differing.size(), done,
                        differing.empty() ? "" : differing[0]));
}

}  // namespace

int verify_certificate(const Options& options) {
  const std::string given = options.files.at(0),
                    path = fs::is_directory(given) ? given + "/certificate.json" : given;
  const Json certificate = read_certificate(path);
  const std::string journal =
      fs::path(path).parent_path() / certificate.at("journal").at("file").get<std::string>();
  Examination out;
  if (!fs::exists(journal)) return verify_alone(path, journal, certificate, options, out);
  const Run run = read_journal(journal);
  const auto digest = loading::sha256_of_file(journal);
  const std::string certified = certificate.at("journal").at("sha256");
  out.check(digest == certified, "the journal's digest",
            fmt::format("{} has the SHA-256 {}, the certificate is of {}: the journal was changed",
                        journal, digest.value_or("(unreadable)"), certified));
  out.check(certificate["must_run"].value("digest", "") == run.header.at("digest"),
            "the digest of the must-run list in the journal",
            "the certificate and its journal name two different must-run lists");
  out.check(run.ended && !run.interrupted, "the run came to its end", "the run was interrupted");
  suite_of(run).empty() ? check_cases(run, out) : check_names(run, out);
  check_sections(fs::path(path).parent_path(), certificate, out);
  check_verdicts(run, certificate, out);
  const std::string of = certificate["subject"].value("sha256", "");
  out.check(of == run.subject.library_sha256, "the library's digest in the journal",
            "the certificate and its journal are of two different libraries");
  check_library_at_hand(of, run.subject.library, options, out);
  if (!options.rerun.empty()) check_again(run, options, out);

  out.print();
  fmt::print("{}: {}\n", path,
             out.problems.empty()
                 ? fmt::format("the certificate holds: {}", certificate.value("profile", ""))
                 : "the certificate does not hold");
  return out.problems.empty() ? 0 : exit_failed;
}

}  // namespace bp::conform
