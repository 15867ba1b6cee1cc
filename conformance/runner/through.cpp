// backplane conform --through: the tests of PyTorch and ONNX on a device, by their own Python. through/driver.py keeps a
// process for each operator; here its verdicts become a journal, and so the same reports as those of our own cases.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "refuse.hpp"
#include "report/files.hpp"
#include "report/report.hpp"
#include "runner/commands.hpp"

#ifndef BP_THROUGH_FOLDER
#  define BP_THROUGH_FOLDER ""
#endif

namespace bp::conform {
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

std::string progress_line(const Json& verdict) {
  return fmt::format("{:<11} {}{}\n", verdict.at("outcome").get<std::string>(),
                     verdict.at("case").get<std::string>(),
                     verdict.contains("why") ? ": " + verdict["why"].get<std::string>() : "");
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
    header["selection"] = selection;
    header["digest"] = digest_of_names(names);
    header["cases"] = names.size();
    journal.write({{"run", header}});
    while (!open.empty() && driver.next(line)) {
      open.erase(line.at("case").get<std::string>());
      const bool is_quiet = line["outcome"] == "pass" || line["outcome"] == "unsupported";
      if (!options.quiet || !is_quiet) fmt::print(stderr, "{}", progress_line(line));
      line["level"] = 3;
      line["family"] = options.through;
      journal.write(line);
    }
    const long seconds = now_seconds() - header["started"].get<long>();
    journal.write({{"end", {{"seconds", seconds}, {"interrupted", !open.empty()}}}});
  }
  if (!open.empty())
    refuse("conform: the driver of {} ended with {} of {} cases left, {} first", options.through,
           open.size(), names.size(), *open.begin());
  return write_reports(folder, options.waivers, stdout);
}

}  // namespace bp::conform
