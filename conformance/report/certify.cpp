// backplane conform certify: a certificate, of a complete report only.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include <backplane/loading/certificate.hpp>
#include <backplane/tensor/error.hpp>

#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
namespace {

// Where the core looks for the level of a device: see dispatcher/certified.hpp.
void install_certificate(const Run& run, const std::string& certificate) {
  const std::filesystem::path folder = loading::Environment::current().user_certificates;
  if (folder.empty())
    throw_error(ErrorClass::bad_argument,
                "certify: there is no user folder to install the certificate in; set HOME");
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  std::string file =
      fmt::format("{}-{}{}", run.subject.device, run.subject.library_sha256.substr(0, 16),
                  loading::certificate_ending);
  std::replace(file.begin(), file.end(), ':', '-');
  write_whole_file(folder / file, read_whole_file(certificate));
  fmt::print("installed: {}\n", (folder / file).string());
}

}  // namespace

int certify_report(const Options& options) {
  if (options.files.size() > 1 && options.out.empty())
    throw_error(ErrorClass::bad_argument,
                "certify: several reports are the shards of one run; give a folder for the common "
                "one with --out FOLDER");
  const std::string folder = options.files.size() > 1 ? options.out : options.files.at(0),
                    journal = folder + "/journal.jsonl";
  if (options.files.size() > 1) merge_shards(options.files, folder);
  Run run = read_journal(journal);
  const auto refuse = [&](const std::string& why) {
    throw_error(ErrorClass::bad_argument,
                fmt::format("certify: {} is not a complete report: {}", folder, why));
  };
  if (!run.ended || run.interrupted) refuse("the run was interrupted; --resume continues it");
  if (!suite_of(run).empty())
    refuse(
        fmt::format("it is of the tests of {}, which give no level; certify the report of "
                    "Backplane's own cases, whose folder this one lies in",
                    suite_of(run)));
  if (!is_whole(run)) refuse("it has only some of the cases of its level (a filter or a shard)");
  if (!run.doubled.empty()) refuse(fmt::format("case {} is there twice", run.doubled[0]));
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
