// The shards of a run as one: what --shard 1/4 ... 4/4 found, perhaps on four machines.
#include <filesystem>
#include <set>

#include "refuse.hpp"
#include "report/report.hpp"
#include "runner/aggregate.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
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

}  // namespace bp::conform
