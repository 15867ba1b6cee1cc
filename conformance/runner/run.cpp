// backplane conform: from what a person wrote to all cases of a selection on a device, into a folder; or a list of them; or, with
// --through, the tests of PyTorch and ONNX on a device.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <spawn.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_set>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"
#include "runner/journal.hpp"
#include "runner/pool.hpp"

namespace bp::conform {

// ---- Options

namespace {

std::uint64_t parse_challenge(std::string text) {
  if (text.starts_with("0x")) text.erase(0, 2);
  std::uint64_t seed = 0;
  if (!read_all_as(text, seed, 16))
    refuse("conform: --challenge {}: not a hexadecimal number of up to 16 digits", text);
  return seed;
}

// "1/4" is the first of four.
void parse_shard(const std::string& text, Selection& out) {
  int shard = 0, of = 0, length = 0;
  const int num_read = std::sscanf(text.c_str(), "%d/%d%n", &shard, &of, &length);
  if (num_read != 2 || text[static_cast<std::size_t>(length)] != '\0' || shard < 1 || shard > of)
    refuse("conform: --shard {}: should be like 1/4, the first of four", text);
  out.shard = shard - 1;
  out.num_shards = of;
}

const char* name(Profile profile) {
  constexpr const char* names[] = {"quick", "normal", "full"};
  return names[static_cast<int>(profile)];
}

Profile profile_from_name(const std::string& text) {
  for (const Profile profile : {Profile::quick, Profile::normal, Profile::full})
    if (text == name(profile)) return profile;
  refuse("conform: --profile {}: there are quick, normal and full", text);
}

}  // namespace

Selection selection_of(const Options& options) {
  Selection out = options.selection;
  out.profile = options.quick  ? Profile::quick
                : options.full ? Profile::full
                               : profile_from_name(options.profile);
  if (out.level < 0 || out.level > 5)
    refuse("conform: --level {}: there are levels 0 to 5", out.level);
  if (!options.challenge.empty()) out.seed = parse_challenge(options.challenge);
  if (!options.shard.empty()) parse_shard(options.shard, out);
  return out;
}

void to_json(Json& json, Profile profile) {
  json = name(profile);
}
void from_json(const Json& json, Profile& profile) {
  profile = profile_from_name(json.get<std::string>());
}

Bench bench_of(const Options& options) {
  if (options.device.empty())
    refuse("conform: which device? --device acme:0; 'backplane devices' lists them");
  Bench bench;
  bench.plan.device = options.device;
  if (!options.plugin.empty()) {
    std::error_code missing;
    bench.plan.plugin = std::filesystem::canonical(options.plugin, missing);
    if (missing) refuse("conform: --plugin {}: {}", options.plugin, missing.message());
  }
  bench.plan.environment = options.environment;
  for (const std::string& entry : options.environment)
    if (entry.find('=') == std::string::npos)
      refuse("conform: --env {}: should be NAME=VALUE", entry);
  bench.subject = describe_subject(bench.plan);
  // A case may have to wait for the compilation of several kernels, on a machine that has others to do.
  if (bench.subject.compiles) bench.patience = 6;
  return bench;
}

int jobs_of(const Options& options) {
  return options.jobs > 0 ? options.jobs
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string journal_of(const std::string& report) {
  return std::filesystem::is_directory(report) ? report + "/journal.jsonl" : report;
}

// ---- Runs

namespace {

namespace fs = std::filesystem;

Json describe_host() {
  utsname system{};
  uname(&system);
  std::string processor;
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; processor.empty() && std::getline(cpus, line);)
    if (line.starts_with("model name"))
      processor = line.substr(std::min(line.find(':') + 2, line.size()));
  return {{"system", system.sysname},
          {"release", system.release},
          {"machine", system.machine},
          {"processor", processor},
          {"cores", std::thread::hardware_concurrency()}};
}

// Leaves of `cases` those that the journal of an earlier run lacks; false if that run came to its end.
bool leave_undone(const std::string& path, const Bench& bench, std::vector<Case>& cases) {
  const Run before = read_journal(path);
  if (before.header.at("digest") != digest_of(cases))
    refuse(
        "conform: cannot resume {}: it is of other cases; give the same options, or leave out "
        "--resume",
        path);
  if (before.subject.library_sha256 != bench.subject.library_sha256)
    refuse("conform: cannot resume {}: {} has changed since", path, bench.subject.library);
  std::unordered_set<std::string> done;
  for (const Record& record : before.records) done.insert(record.name);
  std::erase_if(cases, [&](const Case& one) { return done.contains(name_of(one)); });
  return !before.ended || before.interrupted || !cases.empty();
}

// Every case into the journal; false if interrupted.
bool run_cases(const std::vector<Case>& cases, Bench& bench, const Options& options,
               const std::string& path, Journal& journal) {
  bench.plan.journal = journal.file();
  bench.plan.stop = &InterruptGuard::requested();
  Progress progress(cases.size(), options.quiet ? Progress::Shows::failures : Progress::Shows::all,
                    read_journal(path).header);
  run_pool(bench, cases, jobs_of(options), progress, [&](const Record& record) {
    journal.write(record);
    return true;
  });
  const bool interrupted = InterruptGuard::requested();
  if (!interrupted) write_aggregates(read_journal(path).records, journal);
  end_run(journal, progress.seconds(), interrupted);
  return !interrupted;
}

bool has_journal(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none) && fs::file_size(path, none) > 0;
}

// "conform-acme-0", where a device's reports lie.
std::string usual_folder(const std::string& device) {
  std::string folder = "conform-" + device;
  std::ranges::replace(folder, ':', '-');
  return folder;
}

// The folder of a report, made if it is missing; `usual` without --out.
std::string folder_of(const Options& options, const std::string& usual) {
  const std::string folder = options.out.empty() ? usual : options.out;
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) refuse("conform: cannot make the folder {}: {}", folder, problem.message());
  return folder;
}

// The header of a journal, but for the cases that are chosen.
Json header_of(const Bench& bench, const Options& options) {
  return {{"tool", "backplane-conform " BP_VERSION},
          {"subject", to_json(bench.subject)},
          {"challenge", options.challenge},
          {"environment", options.environment},
          {"plugin", bench.plan.plugin},
          {"started", now_seconds()},
          {"host", describe_host()}};
}

}  // namespace

int run_conform(const Options& options) {
  if (!options.through.empty()) return run_through(options);
  if (!options.waivers.empty()) read_waivers(options.waivers);  // a bad one is better known now
  std::optional<InterruptGuard> guard(std::in_place);  // finding the cases takes a while, too
  const Selection selection = selection_of(options);
  Bench bench = bench_of(options);
  std::vector<Case> cases = derive_cases(bench.subject, selection);
  if (cases.empty()) refuse("conform: no case matches {}", fmt::join(selection.filters, " "));
  const std::size_t num_cases = cases.size();
  const std::string folder = folder_of(options, usual_folder(options.device)),
                    path = folder + "/journal.jsonl";
  const bool resumes = options.resume && has_journal(path);
  std::error_code none;
  if (!resumes && fs::is_regular_file(path)) fs::rename(path, folder + "/journal.old.jsonl", none);
  const bool runs = !resumes || leave_undone(path, bench, cases);
  auto journal = std::make_unique<Journal>(path, resumes);
  if (!resumes)
    begin_run(*journal, header_of(bench, options), selection, digest_of(cases), num_cases);
  else if (runs)
    journal->write({{"resume", {{"started", now_seconds()}}}});

  if (runs && !run_cases(cases, bench, options, path, *journal)) {
    const std::size_t done = read_journal(path).records.size();
    fmt::print(stderr,
               "conform: interrupted after {} of {} cases; {} keeps them, and --resume continues\n",
               done, num_cases, path);
    return exit_interrupted;
  }
  guard.reset();
  journal.reset();
  return write_reports(folder, options.waivers, stdout);
}

// ---- Lists: the cases in groups by level and question, their names, or how many there are

namespace {

void print_counts(const std::vector<Case>& cases) {
  using Counts = std::array<int, num_levels + 1>;  // by level, and all
  std::map<std::string, Counts> rows;
  Counts sums{};
  for (const Case& one : cases) {
    const std::string row = one.lane == Lane::probe
                                ? "probe:" + one.op
                                : fmt::format("{}[{}]", one.op, short_name(one.dtype));
    for (Counts* counts : {&rows[row], &sums}) {
      ++(*counts)[static_cast<std::size_t>(one.level)];
      ++counts->back();
    }
  }
  const auto print = [](const std::string& row, const auto& cells) {
    fmt::print("{:<48}{:>7}{:>8}\n", row, fmt::join(cells.begin(), cells.end() - 1, ""),
               cells.back());
  };
  print("ROW", std::array{"L0", "L1", "L2", "L3", "L4", "L5", "ALL"});
  for (const auto& [row, counts] : rows) print(row, counts);
  print("all", sums);
}

void print_groups(const std::vector<Case>& cases) {
  std::map<std::pair<int, std::string>, std::vector<const Case*>> groups;
  for (const Case& one : cases) {
    // "probe:memory" for all probes of memory, else what a case asks.
    const bool is_probe = one.lane == Lane::probe;
    const std::string group = is_probe ? "probe:" + one.op.substr(0, one.op.find('.')) : one.family;
    groups[{one.level, group}].push_back(&one);
  }
  fmt::print("{:<7}{:<24}{:>8}  {}\n", "LEVEL", "GROUP", "CASES", "FOR EXAMPLE");
  for (const auto& [key, group] : groups)
    fmt::print("{:<7}{:<24}{:>8}  {}\n", key.first, key.second, group.size(), name_of(*group[0]));
  fmt::print("\n{} cases; --names lists them, 'explain CASE' says what one asks\n", cases.size());
}

}  // namespace

int list_cases(const Options& options) {
  const Selection selection = selection_of(options);
  const Subject subject = options.device.empty() ? Subject() : bench_of(options).subject;
  const std::vector<Case> cases = derive_cases(subject, selection);
  if (options.count)
    print_counts(cases);
  else if (!options.names && options.selection.filters.empty())
    print_groups(cases);
  else
    for (const Case& one : cases) fmt::print("{}\n", name_of(one));
  return 0;
}

// ---- --through: through/driver.py keeps a process for each operator, in the Python of the tests; here its verdicts become a
// journal, and so the same reports as those of our own cases

namespace {

namespace fs = std::filesystem;

std::string find_driver() {
  const fs::path installed = fs::read_symlink("/proc/self/exe").parent_path().parent_path() /
                             "share/backplane/conformance/through";
  for (const fs::path& folder : {installed, fs::path(BP_THROUGH_FOLDER)})
    if (fs::is_regular_file(folder / "driver.py")) return folder / "driver.py";
  refuse("conform: --through: driver.py is neither in {} nor in {}; install Backplane's SDK",
         installed.string(), BP_THROUGH_FOLDER);
}

// The driver and its standard output, a JSON object a line.
class Driver {
 public:
  explicit Driver(std::vector<std::string> words) : program_(words[0]) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      refuse("conform: no pipe for {}: {}", program_, std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int problem =
        posix_spawnp(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    lines_ = fdopen(ends[0], "r");
    if (problem == 0) return;
    std::fclose(lines_);
    refuse("conform: cannot start {}: {}; give a Python with --python", program_,
           std::strerror(problem));
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() {
    std::fclose(lines_);  // a driver that still writes ends by it
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    std::free(line_);
  }

  // False at its end.
  bool next(Json& out) {
    const ssize_t length = getline(&line_, &capacity_, lines_);
    if (length <= 0) return false;
    out = Json::parse(line_, line_ + length, nullptr, /*allow_exceptions=*/false);
    if (out.is_object()) return true;
    refuse("conform: {} wrote what is not a verdict: {}", program_, line_);
  }

 private:
  std::string program_;
  pid_t pid_ = -1;
  std::FILE* lines_ = nullptr;
  char* line_ = nullptr;
  std::size_t capacity_ = 0;
};

std::vector<std::string> command_of(const Options& options, const Selection& selection) {
  std::vector<std::string> words = {options.python.empty() ? "python3" : options.python,
                                    "-B",
                                    find_driver(),
                                    options.through,
                                    "--device",
                                    options.device,
                                    "--profile",
                                    name(selection.profile),
                                    "--jobs",
                                    std::to_string(jobs_of(options))};
  if (options.patience > 0) words.push_back(fmt::format("--patience={}", options.patience));
  for (const std::string& filter : selection.filters)
    words.insert(words.end(), {"--filter=" + filter});
  return words;
}

// What the driver's processes find the plugin by.
void set_environment(const Bench& bench) {
  for (const std::string& entry : bench.plan.environment) {
    const std::size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  if (bench.plan.plugin.empty()) return;
  std::string folders = fs::path(bench.plan.plugin).parent_path();
  if (const char* others = std::getenv("BACKPLANE_PLUGIN_PATH"); others != nullptr && *others)
    folders += fmt::format(":{}", others);
  setenv("BACKPLANE_PLUGIN_PATH", folders.c_str(), 1);
}

void refuse_options(const Options& options) {
  for (const auto& [is_given, option] :
       {std::pair{options.resume, "--resume"}, std::pair{!options.shard.empty(), "--shard"},
        std::pair{!options.challenge.empty(), "--challenge"}})
    if (is_given) refuse("conform: --through {} takes no {}", options.through, option);
}

}  // namespace

int run_through(const Options& options) {
  refuse_options(options);
  if (!options.waivers.empty()) read_waivers(options.waivers);
  const Selection selection = selection_of(options);
  const Bench bench = bench_of(options);
  set_environment(bench);
  Driver driver(command_of(options, selection));
  Json line;
  if (!driver.next(line)) refuse("conform: {} ended before it began", options.through);
  if (line.contains("missing"))
    refuse("conform: --through {}: {}", options.through, line["missing"].get<std::string>());
  auto names = line.at("cases").get<std::vector<std::string>>();
  if (names.empty())
    refuse("conform: no case of --through {} matches {}", options.through,
           fmt::join(selection.filters, " "));

  const std::string folder =
      folder_of(options, usual_folder(options.device) + "/" + options.through);
  std::set<std::string> open(names.begin(), names.end());
  {
    Journal journal(folder + "/journal.jsonl", /*resume=*/false);
    Json header = header_of(bench, options);
    header["through"] = {{"suite", options.through}, {"versions", line.at("suite")}};
    begin_run(journal, header, selection, digest_of_names(names), names.size());
    while (!open.empty() && driver.next(line)) {
      const std::string outcome = line.at("outcome"), one = line.at("case");
      open.erase(one);
      if (!options.quiet || (outcome != "pass" && outcome != "unsupported"))
        fmt::print(stderr, "{:<11} {}{}\n", outcome, one,
                   line.contains("why") ? ": " + line["why"].get<std::string>() : "");
      line["level"] = 3;
      line["family"] = options.through;
      journal.write(line);
    }
    const long seconds = now_seconds() - header["started"].get<long>();
    end_run(journal, static_cast<double>(seconds), !open.empty());
  }
  if (!open.empty())
    refuse("conform: the driver of {} ended with {} of {} cases left, {} first", options.through,
           open.size(), names.size(), *open.begin());
  return write_reports(folder, options.waivers, stdout);
}

}  // namespace bp::conform
