// report.html: one page with all that the journal says, for a browser without a network. Counts are summed here, and
// only failures keep their names, so that a hundred thousand cases stay below 2 MB.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "inputs/values.hpp"
#include "report/files.hpp"
#include "report/page.hpp"
#include "report/report.hpp"

namespace bp::conform {
namespace {

constexpr std::size_t most_failures = 1500, most_slow = 25, longest_why = 400;

std::string cut(const std::string& text) {
  return text.size() <= longest_why ? text : text.substr(0, longest_why) + " ...";
}

std::vector<std::string> layouts_of(const Record& record) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= record.one.layouts.size();) {
    const std::size_t end = std::min(record.one.layouts.find('.', at), record.one.layouts.size());
    const std::string part = record.one.layouts.substr(at, end - at);
    if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end())
      parts.push_back(part);
    at = end + 1;
  }
  if (parts.empty()) parts.emplace_back("plain");
  // A case counts once, for what is special about it.
  if (parts.size() > 1) std::erase(parts, "plain");
  return parts;
}

// Operator x dtype x layout x lane, summed.
void add_map(const Run& run, Json& page) {
  std::set<std::string> names;
  for (const Record& record : run.records)
    if (record.one.lane != Lane::probe)
      for (const std::string& layout : layouts_of(record)) names.insert(layout);
  const std::vector<std::string> layouts(names.begin(), names.end());
  std::map<std::tuple<std::string, unsigned, std::size_t, int>, std::array<int, 5>> cells;
  for (const Record& record : run.records) {
    if (record.one.lane == Lane::probe) continue;
    const std::string layout = layouts_of(record).front();
    const auto place = static_cast<std::size_t>(
        std::lower_bound(layouts.begin(), layouts.end(), layout) - layouts.begin());
    std::array<int, 5>& cell =
        cells[{record.one.op, index(record.one.dtype), place, record.one.lane == Lane::core}];
    const Outcome outcome = record.verdict.outcome;
    ++cell[0];
    cell[1] += outcome == Outcome::pass;
    cell[2] += record.verdict.native();
    cell[3] += is_failure(record);
    cell[4] += outcome == Outcome::unsupported;
  }
  Json& map = page["map"] = Json::array();
  for (const auto& [key, cell] : cells)
    map.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), cell[0],
                   cell[1], cell[2], cell[3], cell[4]});
  page["layouts"] = layouts;
  for (unsigned i = 0; i < num_dtypes; ++i)
    page["dtypes"].push_back(short_name(static_cast<Dtype>(i)));
}

void add_failures(const Run& run, const std::vector<Waiver>& waivers, Json& page) {
  Json failures = Json::array(), flaky = Json::array();
  std::size_t more = 0;
  for (const Record& record : run.records) {
    if (!is_failure(record)) continue;
    const std::string waived = is_waived(record, waivers) ? " (waived)" : "";
    if (record.verdict.outcome == Outcome::flaky && flaky.size() < most_failures)
      flaky.push_back({record.name, cut(record.verdict.why)});
    if (failures.size() < most_failures)
      failures.push_back({record.name, name(record.verdict.outcome) + waived,
                          cut(record.verdict.why), repeating_command(record.name, run.header)});
    else
      ++more;
  }
  page["failures"] = failures;
  page["flaky"] = flaky;
  page["more_failures"] = more;
}

void add_accuracy(const Run& run, Json& page) {
  struct Worst {
    double ulp = 0, share = 0;
    std::string rule;
  };
  std::map<std::pair<std::string, unsigned>, Worst> rows;
  for (const Record& record : run.records) {
    const Verdict& verdict = record.verdict;
    if (record.one.lane == Lane::probe || (verdict.worst_ulp == 0 && verdict.worst_share == 0))
      continue;
    Worst& worst = rows[{record.one.op, index(record.one.dtype)}];
    worst.ulp = std::max(worst.ulp, verdict.worst_ulp);
    if (verdict.worst_share < worst.share && !worst.rule.empty()) continue;
    worst.share = verdict.worst_share;
    worst.rule = verdict.rule;
  }
  Json& list = page["accuracy"] = Json::array();
  for (const auto& [key, worst] : rows)
    list.push_back({key.first, short_name(static_cast<Dtype>(key.second)), worst.ulp, worst.share,
                    cut(worst.rule)});
}

void add_gaps(const Run& run, Json& page) {
  struct Gap {
    std::set<std::string> dtypes;
    int cases = 0, host = 0, unsupported = 0, failed = 0;
  };
  std::map<std::string, Gap> gaps;
  for (const Record& record : run.records) {
    if (record.one.lane == Lane::probe || record.verdict.native()) continue;
    Gap& gap = gaps[record.one.op];
    gap.dtypes.emplace(short_name(record.one.dtype));
    ++gap.cases;
    gap.host += record.verdict.outcome == Outcome::pass;
    gap.unsupported += record.verdict.outcome == Outcome::unsupported;
    gap.failed += is_failure(record);
  }
  Json& list = page["gaps"] = Json::array();
  for (const auto& [op, gap] : gaps)
    list.push_back({op, fmt::format("{}", fmt::join(gap.dtypes, ", ")), gap.cases,
                    fmt::format("{} on the host, {} unsupported, {} failed", gap.host,
                                gap.unsupported, gap.failed)});
}

void add_slowest(const Run& run, Json& page) {
  std::vector<const Record*> records;
  for (const Record& record : run.records) records.push_back(&record);
  const std::size_t count = std::min(most_slow, records.size());
  std::partial_sort(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count),
                    records.end(), [](const Record* a, const Record* b) { return a->ms > b->ms; });
  Json& list = page["slowest"] = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back({records[i]->name, records[i]->ms});
}

void add_head(const Run& run, const Summary& summary, const std::vector<Waiver>& waivers,
              Json& page) {
  const Subject& subject = run.subject;
  const Json& selection = run.header.at("selection");
  page["device"] = subject.device;
  page["profile"] = summary.profile;
  page["verdict"] = !run.ended || run.interrupted ? "Interrupted."
                    : summary.ok                  ? "Nothing failed."
                                                  : "Failed.";
  page["about"] = fmt::format(
      "{} {} {}, {}; profile {}, seed {}{}", subject.vendor, subject.backend, subject.version,
      unit_text(subject), selection.value("profile", ""), selection.value("seed", 0ull),
      summary.excused.empty() ? ""
                              : fmt::format("; excused: {}", fmt::join(summary.excused, ", ")));
  page["correct"] = correct_text(run, summary);
  page["native"] = native_text(run, summary);
  page["total"] = summary.total;
  page["problems"] = summary.waiver_problems;
  page["levels"] = Json::array();
  for (std::size_t i = 0; i < summary.levels.size(); ++i) {
    const Count& c = summary.levels[i];
    if (c.run != 0 && suite_of(run).empty())
      page["levels"].push_back(
          {fmt::format("L{}", i), c.run, c.correct, c.native, c.failed, c.waived, c.unsupported});
  }
  page["waivers"] = Json::array();
  for (const Waiver& waiver : waivers)
    page["waivers"].push_back({waiver.pattern, waiver.kind, waiver.reason, waiver.address,
                               waiver.expires, waiver.matched});
  page["foot"] =
      fmt::format("{}; library {} sha256 {}; must-run list {}; {} on {}; {}",
                  run.header.value("tool", ""), subject.library, subject.library_sha256,
                  run.header.value("digest", ""), utc_time(run.header.value("started", 0L)),
                  run.header.value("host", Json::object()).value("processor", ""),
                  fmt::format("{} cases in {:.1f} s", summary.total.run, run.seconds));
}

}  // namespace

void write_html(const Run& run, const Summary& summary, const std::vector<Waiver>& waivers,
                const std::string& path) {
  Json page;
  add_head(run, summary, waivers, page);
  add_map(run, page);
  add_failures(run, waivers, page);
  add_accuracy(run, page);
  add_gaps(run, page);
  add_slowest(run, page);
  std::string data = page.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Nothing in it may end the script.
  for (std::size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.insert(at + 1, "\\");
  write_whole_file(
      path, fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                        "<link rel=\"icon\" href=\"data:,\"><title>{}: "
                        "{}</title>\n<style>{}</style></head>\n<body>{}"
                        "<script type=\"application/json\" "
                        "id=\"data\">{}</script>\n<script>{}</script></body></html>\n",
                        escape_markup(run.subject.device), escape_markup(summary.profile),
                        page_style, page_body, data, page_script));
}

}  // namespace bp::conform
