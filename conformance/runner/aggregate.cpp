#include "runner/aggregate.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace bp::conform {
namespace {

// Enough cases for a mean; so sure of it that chance is not an explanation (ten thousand rows would give none); and so much
// that it is not an honest kernel's habit: sums in any order, fused or not, lean by less than a thousandth of their bound.
constexpr std::size_t fewest_cases = 8;
constexpr double sure = 7, much = 0.02;

struct Sums {
  std::size_t count = 0;
  int level = 5;
  double bias = 0, squares = 0, share = 0;
};

// The class that has a bound from the problem; a row's ULP may lean as its author likes.
bool accumulates(const Record& record) {
  return record.verdict.outcome == Outcome::pass &&
         record.verdict.rule.find("gamma") != std::string::npos;
}

Aggregate finish(const std::string& row, const Sums& sums) {
  Aggregate all;
  all.row = row;
  all.level = sums.level;
  all.cases = sums.count;
  const auto count = static_cast<double>(sums.count);
  all.bias = sums.bias / count;
  all.share = sums.share / count;
  const double variance = sums.squares / count - all.bias * all.bias;
  const double standard_error = std::sqrt(std::max(variance, 1e-12) / count);
  all.t = all.bias / standard_error;
  all.leans = sums.count >= fewest_cases && std::abs(all.t) > sure && std::abs(all.bias) > much;
  return all;
}

}  // namespace

std::vector<Aggregate> aggregate_bias(const std::vector<Record>& records) {
  std::map<std::string, Sums> rows;
  for (const Record& record : records) {
    if (!accumulates(record)) continue;
    const std::size_t from = record.name.find(':') + 1;
    Sums& sums = rows[record.name.substr(from, record.name.find(']') + 1 - from)];
    ++sums.count;
    sums.level = std::min(sums.level, record.one.level);
    sums.bias += record.verdict.bias;
    sums.squares += record.verdict.bias * record.verdict.bias;
    sums.share += record.verdict.worst_share;
  }
  std::vector<Aggregate> all;
  for (const auto& [row, sums] : rows) all.push_back(finish(row, sums));
  return all;
}

Json to_json(const Aggregate& all) {
  return {{"aggregate",
           {{"row", all.row},
            {"cases", all.cases},
            {"bias", all.bias},
            {"t", all.t},
            {"share", all.share},
            {"leans", all.leans}}}};
}

Record record_of(const Aggregate& all) {
  Record record;
  record.name = "probe:bias." + all.row + "@1";
  record.one.lane = Lane::probe;
  record.one.op = "bias." + all.row.substr(0, all.row.find('['));
  record.one.level = all.level;
  record.one.family = "bias";
  record.verdict.outcome = Outcome::fail;
  record.verdict.bias = all.bias;
  record.verdict.rule = "bias";
  record.verdict.why = fmt::format(
      "{}: errors lean to one side, by {:.3g} of their bound in the mean over {} cases ({:.1f} "
      "standard "
      "errors from 0): products or sums have fewer bits than the dtype, undeclared",
      all.row, all.bias, all.cases, all.t);
  return record;
}

bool is_aggregate(std::string_view record_name) {
  return record_name.starts_with("probe:bias.");
}

void write_aggregates(const std::vector<Record>& records, Journal& journal) {
  for (const Aggregate& each : aggregate_bias(records)) {
    journal.write(to_json(each));
    if (each.leans) journal.write(record_of(each));
  }
}

}  // namespace bp::conform
