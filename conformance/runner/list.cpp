// backplane conform list: the cases in groups by level and question, their names, or how many there are.
#include <fmt/format.h>
#include <map>

#include "inputs/values.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
namespace {

void print_counts(const std::vector<Case>& cases) {
  std::map<std::string, std::array<int, 6>> rows;
  std::array<int, 6> levels{};
  for (const Case& one : cases) {
    const std::string row = one.lane == Lane::probe
                                ? "probe:" + one.op
                                : fmt::format("{}[{}]", one.op, short_name(one.dtype));
    const auto level = static_cast<std::size_t>(one.level);
    ++rows[row][level];
    ++levels[level];
  }
  const auto print = [](const std::string& row, const std::array<int, 6>& counts) {
    int all = 0;
    for (const int count : counts) all += count;
    fmt::print("{:<48}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}{:>8}\n", row, counts[0], counts[1], counts[2],
               counts[3], counts[4], counts[5], all);
  };
  fmt::print("{:<48}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}{:>8}\n", "ROW", "L0", "L1", "L2", "L3", "L4",
             "L5", "ALL");
  for (const auto& [row, counts] : rows) print(row, counts);
  print("all", levels);
}

struct ListedGroup {
  int num_cases = 0;
  std::string example;
};

// "probe:memory" for all probes of memory, else what a case asks.
std::string listed_under(const Case& one) {
  return one.lane == Lane::probe ? "probe:" + one.op.substr(0, one.op.find('.')) : one.family;
}

void print_groups(const std::vector<Case>& cases) {
  std::map<std::pair<int, std::string>, ListedGroup> groups;
  for (const Case& one : cases) {
    ListedGroup& group = groups[{one.level, listed_under(one)}];
    if (group.num_cases++ == 0) group.example = name_of(one);
  }
  fmt::print("{:<7}{:<24}{:>8}  {}\n", "LEVEL", "GROUP", "CASES", "FOR EXAMPLE");
  for (const auto& [key, group] : groups)
    fmt::print("{:<7}{:<24}{:>8}  {}\n", key.first, key.second, group.num_cases, group.example);
  fmt::print("\n{} cases; --names lists them, 'explain CASE' says what one asks\n", cases.size());
}

}  // namespace

int list_cases(const Options& options) {
  const Selection selection = selection_of(options);
  const Subject subject = options.device.empty() ? Subject() : bench_of(options).subject;
  const std::vector<Case> cases = derive_cases(subject, selection);
  if (options.count) {
    print_counts(cases);
    return 0;
  }
  if (!options.names && options.selection.filters.empty()) {
    print_groups(cases);
    return 0;
  }
  for (const Case& one : cases) fmt::print("{}\n", name_of(one));
  return 0;
}

}  // namespace bp::conform
