// backplane conform diff: from one report to another.
#include <fmt/format.h>
#include <map>

#include "report/report.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
namespace {

// Worse is larger.
int badness(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::pass: return verdict.native() ? 0 : 1;
    case Outcome::unsupported: return 2;
    default: return 3;
  }
}

std::string say(const Verdict& verdict) {
  return verdict.rung.empty() ? name(verdict.outcome)
                              : fmt::format("{} ({})", name(verdict.outcome), verdict.rung);
}

struct Changes {
  std::vector<std::string> worse, better, less_exact, other_bits;
  int only_first = 0, only_second = 0;

  void compare(const Record& before, const Record& after) {
    const int was = badness(before.verdict), is = badness(after.verdict);
    const std::string line =
        fmt::format("{}: {} -> {}{}{}", after.name, say(before.verdict), say(after.verdict),
                    after.verdict.why.empty() ? "" : ": ", after.verdict.why);
    if (is > was)
      worse.push_back(line);
    else if (is < was)
      better.push_back(line);
    else if (after.verdict.worst_share > 2 * before.verdict.worst_share &&
             after.verdict.worst_share > 0.25)
      less_exact.push_back(fmt::format("{}: {:.3g} -> {:.3g} of the bound", after.name,
                                       before.verdict.worst_share, after.verdict.worst_share));
    else if (before.verdict.hash != after.verdict.hash)
      other_bits.push_back(after.name);
  }
};

void print_list(const char* what, const std::vector<std::string>& lines) {
  constexpr std::size_t most = 200;
  if (lines.empty()) return;
  fmt::print("{} ({}):\n", what, lines.size());
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) fmt::print("  {}\n", lines[i]);
  if (lines.size() > most) fmt::print("  and {} more\n", lines.size() - most);
}

}  // namespace

int diff_reports(const Options& options) {
  const Run before = read_journal(journal_of(options.files.at(0))),
            after = read_journal(journal_of(options.files.at(1)));
  std::map<std::string, const Record*> earlier;
  for (const Record& record : before.records) earlier[record.name] = &record;
  Changes changes;
  for (const Record& record : after.records) {
    const auto found = earlier.find(record.name);
    if (found == earlier.end()) {
      ++changes.only_second;
      if (badness(record.verdict) == 3)
        changes.worse.push_back(
            fmt::format("{}: new, {}: {}", record.name, say(record.verdict), record.verdict.why));
      continue;
    }
    changes.compare(*found->second, record);
    earlier.erase(found);
  }
  changes.only_first = static_cast<int>(earlier.size());
  fmt::print("{} ({}, {} cases) -> {} ({}, {} cases)\n", before.subject.device,
             before.subject.version, before.records.size(), after.subject.device,
             after.subject.version, after.records.size());
  print_list("worse", changes.worse);
  print_list("less exact", changes.less_exact);
  print_list("better", changes.better);
  if (!changes.other_bits.empty())
    fmt::print("other bits, the same verdict: {} cases\n", changes.other_bits.size());
  if (changes.only_first != 0) fmt::print("only in the first: {} cases\n", changes.only_first);
  if (changes.only_second != 0) fmt::print("only in the second: {} cases\n", changes.only_second);
  fmt::print("{}\n", changes.worse.empty()
                         ? "nothing got worse"
                         : fmt::format("{} cases got worse", changes.worse.size()));
  return changes.worse.empty() ? 0 : exit_failed;
}

}  // namespace bp::conform
