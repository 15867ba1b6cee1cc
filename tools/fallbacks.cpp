// backplane fallbacks: what ran where in a program that knows nothing of this. Each of its processes that loads
// libbackplane leaves its counts in a folder.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/tensor/error.hpp>

#include "child_program.hpp"
#include "commands.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

// From the slowest way to the fastest: that is the order of the table.
constexpr std::array rungs{Rung::none,      Rung::host,   Rung::decomposed, Rung::legalized,
                           Rung::generated, Rung::native, Rung::view};

struct Row {
  std::string op, backend;
  std::array<std::uint64_t, rungs.size()> calls{};
};

struct Reason {
  std::string op, backend, rung, why;
  auto operator<=>(const Reason&) const = default;
};

struct Copies {
  std::uint64_t copies = 0, bytes = 0;
};

struct Counts {
  std::vector<Row> rows;
  std::set<Reason> reasons;
  std::map<std::pair<std::string, std::string>, Copies> copies;  // from, to
  std::size_t num_processes = 0;
};

class CountsFolder {
 public:
  CountsFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "backplane-counts-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw_error(
          ErrorClass::unsupported,
          fmt::format("fallbacks: cannot make the folder {}: {}; TMPDIR names another place",
                      pattern, std::strerror(errno)));
    path_ = pattern;
  }
  ~CountsFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  CountsFolder(const CountsFolder&) = delete;
  CountsFolder& operator=(const CountsFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Counts read_counts(const std::filesystem::path& folder) {
  Counts counts;
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path());
    const auto of_process = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
    if (!of_process.is_object()) continue;  // it was killed while it wrote
    ++counts.num_processes;
    for (const auto& one : of_process.at("calls")) {
      Row& row = rows[{one.at("op"), one.at("backend")}];
      row.op = one.at("op");
      row.backend = one.at("backend");
      for (std::size_t i = 0; i < rungs.size(); ++i)
        row.calls[i] += one.at(name(rungs[i])).get<std::uint64_t>();
    }
    for (const auto& one : of_process.at("reasons"))
      counts.reasons.insert({one.at("op"), one.at("backend"), one.at("rung"), one.at("why")});
    for (const auto& one : of_process.at("copies")) {
      Copies& copies = counts.copies[{one.at("from"), one.at("to")}];
      copies.copies += one.at("copies").get<std::uint64_t>();
      copies.bytes += one.at("bytes").get<std::uint64_t>();
    }
  }
  for (auto& [key, row] : rows) counts.rows.push_back(std::move(row));
  std::stable_sort(counts.rows.begin(), counts.rows.end(),
                   [](const Row& a, const Row& b) { return a.calls > b.calls; });
  return counts;
}

// "softmax (12), gelu (3)"
std::string operators_on(const Counts& counts, std::size_t rung) {
  std::string text;
  for (const Row& row : counts.rows)
    if (row.calls[rung])
      text += fmt::format("{}{} on {} ({})", text.empty() ? "" : ", ", row.op, row.backend,
                          row.calls[rung]);
  return text;
}

// "  softmax on acme: host: no kernel of softmax; ...", for those that the table has in this way.
void print_reasons(const Counts& counts, Rung rung, std::FILE* to) {
  for (const Reason& each : counts.reasons)
    if (each.rung == name(rung))
      fmt::print(to, "  {} on {}: {}\n", each.op, each.backend, each.why);
}

void print_copies(const Counts& counts, std::FILE* to) {
  if (counts.copies.empty()) return;
  Table table({"COPIED FROM", "TO", "COPIES", "BYTES"});
  for (const auto& [way, copies] : counts.copies)
    table.add({{way.first},
               {way.second},
               {std::to_string(copies.copies)},
               {std::to_string(copies.bytes)}});
  fmt::print(to, "\n");
  table.print(to);
}

// For each slow way, who took it and why; then what to do about it.
void print_summary(const Counts& counts, std::FILE* to) {
  static constexpr const char* ways[] = {"failed, since no way was left", "ran on the host",
                                         "ran as several kernels", "ran after a cast or a copy"};
  bool any = false;
  for (std::size_t i = 0; i < std::size(ways); ++i) {
    const std::string who = operators_on(counts, i);
    if (who.empty()) continue;
    fmt::print(to, "{}{}: {}\n", any ? "" : "\n", ways[i], who);
    print_reasons(counts, rungs[i], to);
    any = true;
  }
  if (any)
    fmt::print(
        to,
        "BACKPLANE_TRACE=ops shows each of these calls; 'backplane conform gaps' ranks which "
        "kernels to write\n");
  else
    fmt::print(to, "\nEvery call had a kernel of its device.\n");
}

void print_for_person(const Counts& counts, int status, std::FILE* to) {
  if (WIFSIGNALED(status))
    fmt::print(to, "The program was killed by signal {} ({}); what it counted is lost.\n",
               WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (counts.rows.empty()) {
    if (!WIFSIGNALED(status))
      fmt::print(to, "{}\n",
                 counts.num_processes
                     ? "The program loaded libbackplane and called no operator."
                     : "The program called nothing of Backplane, or left by _exit, "
                       "which leaves no time to count.");
    return;
  }
  std::vector<std::string> header{"OPERATOR", "BACKEND"};
  for (const Rung rung : rungs) header.emplace_back(rung == Rung::none ? "failed" : name(rung));
  Table table(std::move(header));
  for (const Row& row : counts.rows) {
    std::vector<Cell> cells{{row.op}, {row.backend}};
    for (const std::uint64_t calls : row.calls)
      cells.push_back({calls ? std::to_string(calls) : "-"});
    table.add(std::move(cells));
  }
  table.print(to);
  print_copies(counts, to);
  print_summary(counts, to);
}

void print_for_program(const Counts& counts, const Options& options, int status, std::FILE* to) {
  nlohmann::ordered_json out{{"program", options.arguments},
                             {"exit_code", exit_code_of(status)},
                             {"processes", counts.num_processes},
                             {"calls", nlohmann::ordered_json::array()}};
  for (const Row& row : counts.rows) {
    nlohmann::ordered_json one{{"op", row.op}, {"backend", row.backend}};
    for (std::size_t i = 0; i < rungs.size(); ++i) one[name(rungs[i])] = row.calls[i];
    out["calls"].push_back(std::move(one));
  }
  out["reasons"] = nlohmann::ordered_json::array();
  for (const Reason& each : counts.reasons)
    out["reasons"].push_back(
        {{"op", each.op}, {"backend", each.backend}, {"rung", each.rung}, {"why", each.why}});
  out["copies"] = nlohmann::ordered_json::array();
  for (const auto& [way, copies] : counts.copies)
    out["copies"].push_back({{"from", way.first},
                             {"to", way.second},
                             {"copies", copies.copies},
                             {"bytes", copies.bytes}});
  print_json(out, to);
}

}  // namespace

int fallbacks(const Options& options) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(nullptr, std::fclose);
  if (!options.file.empty()) {
    file.reset(std::fopen(options.file.c_str(), "w"));
    if (!file)
      throw_error(ErrorClass::bad_argument,
                  fmt::format("fallbacks: {} cannot be written: {}", options.file.string(),
                              std::strerror(errno)));
  }
  const CountsFolder folder;
  const int status =
      run_program("fallbacks", options.arguments, "BACKPLANE_COUNTS_DIR", folder.path());
  const Counts counts = read_counts(folder.path());
  std::FILE* to = file ? file.get() : stderr;
  options.json ? print_for_program(counts, options, status, to)
               : print_for_person(counts, status, to);
  return exit_code_of(status);
}

}  // namespace bp::tools
