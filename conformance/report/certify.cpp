// backplane conform certify: a certificate, of a complete report only.
#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

#include "report/report.hpp"
#include "runner/commands.hpp"

namespace bp::conform {

int certify_report(const Options& options) {
  if (options.files.size() > 1 && options.out.empty())
    throw_error(
        ErrorClass::bad_argument,
        "certify: several reports are the shards of one run; where shall it go? --out FOLDER");
  const std::string folder = options.files.size() > 1 ? options.out : options.files.at(0),
                    journal = folder + "/journal.jsonl";
  if (options.files.size() > 1) merge_shards(options.files, folder);
  Run run = read_journal(journal);
  const auto refuse = [&](const std::string& why) {
    throw_error(ErrorClass::bad_argument,
                fmt::format("certify: {} is no complete report: {}", folder, why));
  };
  if (!run.ended || run.interrupted) refuse("the run was interrupted; --resume goes on");
  if (!is_whole(run)) refuse("it has only some of the cases of its level (a filter or a shard)");
  if (!run.doubled.empty()) refuse(fmt::format("case {} is there twice", run.doubled[0]));
  std::vector<Waiver> waivers;
  if (!options.waivers.empty()) waivers = read_waivers(options.waivers);
  const Summary summary = summarize(run, waivers);
  run.header["waivers"] = waivers_json(waivers);
  fmt::print("{}", text_summary(run, summary));
  if (!summary.ok) {
    fmt::print("certify: nothing to certify while cases fail\n");
    return exit_failed;
  }
  if (options.files.size() > 1) write_reports(folder, options.waivers, nullptr);
  write_certificate(run, summary, journal, folder + "/certificate.json");
  fmt::print("certificate: {}/certificate.json\n", folder);
  return 0;
}

}  // namespace bp::conform
