#include "runner/journal.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

#include <backplane/tensor/error.hpp>

#include "inputs/values.hpp"
#include "refuse.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
namespace {

// Calls visit(name in the journal, field) for what is left out where it says nothing.
template <class Visit> void each_field(auto& record, Visit visit) {
  auto& verdict = record.verdict;
  visit("rung", verdict.rung);
  visit("why", verdict.why);
  visit("rule", verdict.rule);
  visit("hash", verdict.hash);
  visit("accomplice", record.accomplice);
  visit("ulp", verdict.worst_ulp);
  visit("share", verdict.worst_share);
  visit("bias", verdict.bias);
}

Json record_line(const Record& record) {
  Json line = {{"case", record.name},
               {"outcome", name(record.verdict.outcome)},
               {"level", record.one.level},
               {"family", record.one.family},
               {"ms", std::round(record.ms * 100) / 100}};
  each_field(record, [&line](const char* key, const auto& value) {
    if (value == std::decay_t<decltype(value)>()) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      line[key] =
          std::isfinite(value) ? value : std::copysign(1e300, value);  // JSON has no infinity
    else
      line[key] = value;
  });
  return line;
}

// A name that this version does not know (an aggregate's, an older table's) still has its row.
Case case_of_name(const std::string& text) {
  try {
    return read_case(text);
  } catch (const std::exception&) {
    Case one;
    one.lane = text.starts_with("direct:") ? Lane::direct
               : text.starts_with("core:") ? Lane::core
                                           : Lane::probe;
    const std::size_t from = text.find(':') + 1;
    one.op = text.substr(from, text.find_first_of("[/@", from) - from);
    const std::size_t dtype = text.find('[') + 1;
    if (dtype != 0)
      dtype_of_short_name(text.substr(dtype, text.find_first_of(",]", dtype) - dtype), one.dtype);
    return one;
  }
}

Record read_record(const Json& line) {
  Record record;
  line.at("case").get_to(record.name);
  record.one = case_of_name(record.name);
  record.one.level = line.at("level").get<int>();
  record.one.family = line.value("family", "");
  record.ms = line.value("ms", 0.0);
  record.verdict.outcome = outcome_named(line.at("outcome").get<std::string>());
  each_field(record, [&line](const char* key, auto& value) { value = line.value(key, value); });
  return record;
}

// `places`: of the records, by name.
void take_line(const Json& line, Run& run, std::unordered_map<std::string, std::size_t>& places) {
  if (line.contains("run")) {
    run.header = line["run"];
    run.subject = read_subject(run.header.at("subject"));
  } else if (line.contains("case")) {
    Record record = read_record(line);
    const auto [place, is_new] = places.try_emplace(record.name, run.records.size());
    if (!is_new) run.doubled.push_back(record.name);
    if (is_new) run.records.emplace_back();
    run.records[place->second] = std::move(record);
  } else if (line.contains("end")) {
    run.ended = true;
    run.interrupted = line["end"].value("interrupted", false);
    run.seconds += line["end"].value("seconds", 0.0);
  } else if (line.contains("resume")) {
    run.ended = run.interrupted = false;
  }
}

void cut_torn_line(int file) {
  for (off_t end = lseek(file, 0, SEEK_END); end > 0; --end) {
    char last = 0;
    if (pread(file, &last, 1, end - 1) != 1 || last != '\n') continue;
    [[maybe_unused]] const int ignored = ftruncate(file, end);
    return;
  }
}

}  // namespace

Journal::Journal(const std::string& path, bool resume) : path_(path) {
  const int fresh = resume ? 0 : O_CREAT | O_TRUNC;
  file_ = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | fresh, 0644);
  if (file_ < 0) refuse("conform: cannot write the journal {}: {}", path, std::strerror(errno));
  if (resume) cut_torn_line(file_);
}

Journal::~Journal() {
  if (file_ < 0) return;
  fsync(file_);
  close(file_);
}

void Journal::write(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  const std::scoped_lock guard(lock_);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw_error(ErrorClass::out_of_memory,
                  fmt::format("conform: cannot write the journal {}: {}; what it holds is kept, "
                              "and --resume continues",
                              path_, std::strerror(errno)));
    done += static_cast<std::size_t>(count);
  }
}

void Journal::write(const Record& record) {
  write(record_line(record));
}

Run read_journal(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) refuse("{}: cannot be read: {}", path, std::strerror(errno));
  Run run;
  std::unordered_map<std::string, std::size_t> places;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool cut_off = stream.eof();  // the last line, without its end
    // A worker that was killed may leave half of its line before another's.
    if (json.is_discarded() && (cut_off || line.starts_with("{\"beg"))) continue;
    const auto fail = [&](const std::string& why) {
      throw_error(
          ErrorClass::bad_argument,
          fmt::format("{}:{}: {}; this is not a journal of backplane conform, or it was damaged",
                      path, number, why));
    };
    if (!json.is_object()) fail("not a JSON object");
    if (number == 1 && !json.contains("run")) fail("does not begin with the run");
    try {
      take_line(json, run, places);
    } catch (const std::exception& problem) {
      fail(problem.what());
    }
  }
  if (run.header.is_null()) refuse("{}: an empty journal", path);
  return run;
}

// ---- What no single case shows

namespace {

// Enough cases for a mean; so sure of it that chance is not an explanation (ten thousand rows would give none); and so much
// that it is not an honest kernel's habit: sums in any order, fused or not, lean by less than a thousandth of their bound.
constexpr std::size_t fewest_cases = 8;
constexpr double sure = 7, much = 0.02;

}  // namespace

std::vector<Aggregate> aggregate_bias(const std::vector<Record>& records) {
  struct Sums {
    Aggregate of;
    double squares = 0;
  };
  std::map<std::string, Sums> rows;
  for (const Record& record : records) {
    // The class that has a bound from the problem; a row's ULP may lean as its author likes.
    const bool accumulates = record.verdict.rule.find("gamma") != std::string::npos;
    if (!accumulates || record.verdict.outcome != Outcome::pass) continue;
    const std::size_t from = record.name.find(':') + 1;
    Sums& sums = rows[record.name.substr(from, record.name.find(']') + 1 - from)];
    const bool is_first = sums.of.cases++ == 0;
    sums.of.level = is_first ? record.one.level : std::min(sums.of.level, record.one.level);
    sums.of.bias += record.verdict.bias;
    sums.of.share += record.verdict.worst_share;
    sums.squares += record.verdict.bias * record.verdict.bias;
  }
  std::vector<Aggregate> all;
  for (auto& [row, sums] : rows) {
    Aggregate& each = all.emplace_back(sums.of);
    const auto count = static_cast<double>(each.cases);
    each.row = row;
    each.bias /= count;
    each.share /= count;
    const double variance = sums.squares / count - each.bias * each.bias;
    each.t = each.bias / std::sqrt(std::max(variance, 1e-12) / count);
    each.leans =
        each.cases >= fewest_cases && std::abs(each.t) > sure && std::abs(each.bias) > much;
  }
  return all;
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

void begin_run(Journal& journal, Json header, const Selection& selection, const std::string& digest,
               std::size_t num_cases) {
  header["selection"] = selection;
  header["digest"] = digest;
  header["cases"] = num_cases;
  journal.write({{"run", std::move(header)}});
}

void end_run(Journal& journal, double seconds, bool interrupted) {
  journal.write({{"end", {{"seconds", seconds}, {"interrupted", interrupted}}}});
}

void write_aggregates(const std::vector<Record>& records, Journal& journal) {
  for (const Aggregate& each : aggregate_bias(records)) {
    journal.write({{"aggregate", each}});
    if (each.leans) journal.write(record_of(each));
  }
}

}  // namespace bp::conform
