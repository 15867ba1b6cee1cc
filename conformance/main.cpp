// backplane-conform: what a plugin really does, case by case.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/commands.hpp"
#include "worker/scope.hpp"

namespace {

using bp::conform::Options;

// A worker dies with its parent, leaves no core file and dies of what kills it.
int work(const bp::conform::WorkerOptions& options) {
  constexpr int requests = 3, answers = 4;  // see runner/worker_process.cpp
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(number, SIG_DFL);
  for (const int file : {requests, answers, options.journal})
    if (file >= 0) fcntl(file, F_SETFD, FD_CLOEXEC);
  return bp::conform::run_worker(requests, answers, options);
}

struct CommandLine {
  CLI::App app{"Backplane's conformance suite: tests a plugin case by case", "backplane conform"};
  Options options;
  bp::conform::WorkerOptions worker;
  std::function<int()> chosen;

  CommandLine() {
    app.require_subcommand(0, 1);  // so that an unknown one is named; see main
    add_run();
    add_single_cases();
    add_readers();
    add_selftest();
    add_worker();
  }

 private:
  // An option with the word that stands for its value.
  template <class Value>
  static CLI::Option* add_option(CLI::App* sub, const char* name, Value& value, const char* type,
                                 const char* description) {
    return sub->add_option(name, value, description)->type_name(type);
  }

  CLI::App* add(const char* name, const char* description, int (*command)(const Options&)) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->callback([this, command] { chosen = [this, command] { return command(options); }; });
    return sub;
  }

  void add_device(CLI::App* sub) {
    add_option(sub, "--device", options.device, "NAME", "The device to test: acme:0");
    add_option(sub, "--plugin", options.plugin, "PATH",
               "Its library, if it is not found automatically");
    add_option(sub, "--env", options.environment, "NAME=VALUE",
               "Variables for the workers (repeatable)");
    sub->add_option("--jobs", options.jobs, "Number of workers; by default one for each core")
        ->check(CLI::Range(1, 1024));
  }

  void add_selection(CLI::App* sub) {
    sub->add_option("--level", options.selection.level, "Up to this level, 0 to 5");
    add_option(sub, "--filter", options.selection.filters, "GLOB",
               "Only rows or cases that match: 'matmul*' (repeatable)");
    sub->add_option("--profile", options.profile, "quick, normal or full");
    sub->add_flag("--quick", options.quick, "The profile that takes seconds");
    sub->add_flag("--full", options.full, "The profile that takes many minutes")
        ->excludes("--quick");
    sub->add_option("--seed", options.selection.seed, "Seed of the values");
    add_option(sub, "--challenge", options.challenge, "HEX", "A seed chosen by someone else")
        ->excludes("--seed");
    add_option(sub, "--random", options.selection.random_cases, "N",
               "Additional cases with random axes");
    add_option(sub, "--shard", options.shard, "I/N", "1/4: the first of four parts");
  }

  void add_run() {
    CLI::App* run = add("run", "Run the cases of a device (the default)", bp::conform::run_conform);
    add_device(run);
    add_selection(run);
    add_option(run, "--out", options.out, "FOLDER", "Folder for the journal and reports");
    run->add_flag("--resume", options.resume, "Continue with the existing journal");
    add_option(run, "--waivers", options.waivers, "FILE",
               "What may fail, why, and until when (conformance.yaml)");
    run->add_option("--through", options.through,
                    "PyTorch's samples, or ONNX's node tests, in place of our own cases")
        ->check(CLI::IsMember({"pytorch", "onnx"}));
    add_option(run, "--python", options.python, "PATH",
               "The Python that has what --through needs; python3 by default");
    add_option(run, "--patience", options.patience, "SECONDS",
               "Seconds that a case of --through may take; 60 by default")
        ->check(CLI::PositiveNumber)
        ->needs("--through");
    run->add_flag("--quiet", options.quiet, "No progress, only failures");

    CLI::App* list =
        add("list", "List the cases in groups, or those of --filter", bp::conform::list_cases);
    add_device(list);
    add_selection(list);
    list->add_flag("--names", options.names, "The name of each case");
    list->add_flag("--count", options.count, "Count them for each row, dtype and level");
  }

  void add_single_cases() {
    CLI::App* repro = add("repro", "Run one case and print all of it", bp::conform::repro_case);
    repro->add_flag("--gdb", options.debugger, "With the worker under gdb");
    CLI::App* shrink =
        add("shrink", "Find the simplest case that fails like this one", bp::conform::shrink_case);
    CLI::App* explain = add("explain", "Show how a case is judged", bp::conform::explain_case);
    add_option(explain, "--report", options.report, "FOLDER", "Compare it with passing cases");
    for (CLI::App* sub : {repro, shrink, explain}) {
      add_option(sub, "case", options.name, "CASE", "Its name")->required();
      add_device(sub);
    }
  }

  void add_readers() {
    CLI::App* gaps = add("gaps", "Rank the missing kernels by the models that they block",
                         bp::conform::show_gaps);
    add_option(gaps, "report", options.files, "FOLDER", "A folder")->required()->expected(1);
    gaps->add_option("--for", options.models, "Only these models: resnet50,bert")
        ->delimiter(',')
        ->type_name("MODELS");
    CLI::App* diff =
        add("diff", "Show what changed between two reports; fails if something got worse",
            bp::conform::diff_reports);
    add_option(diff, "reports", options.files, "FOLDER", "Two folders")->required()->expected(2);
    CLI::App* certify =
        add("certify", "Write the certificate of a complete report", bp::conform::certify_report);
    add_option(certify, "report", options.files, "FOLDER", "A folder, or those of all shards")
        ->required();
    add_option(certify, "--out", options.out, "FOLDER", "Folder for the shards' common report");
    add_option(certify, "--waivers", options.waivers, "FILE",
               "What may fail, why, and until when (conformance.yaml)");
    certify->add_flag("--install", options.install,
                      "Also install it, for 'backplane devices' and applications to show");
    CLI::App* verify =
        add("verify", "Check whether a certificate is valid", bp::conform::verify_certificate);
    add_option(verify, "certificate", options.files, "FILE",
               "A certificate, with its journal beside it")
        ->required()
        ->expected(1);
    add_option(verify, "--rerun", options.rerun, "SHARE",
               "Run a random part again and compare: 5%");
    add_device(verify);
  }

  void add_selftest() {
    CLI::App* selftest =
        add("selftest", "Check that the suite finds the faults that are built into the exam plugin",
            bp::conform::run_selftest);
    add_device(selftest);
    selftest->get_option("--plugin")->check(CLI::ExistingFile);
    add_option(selftest, "--faults", options.faults, "FILE", "The list of faults and variants");
    add_option(selftest, "--tenth", options.tenth, "N",
               "Only every tenth, beginning with this one");
    selftest->add_option("--seeds", options.seeds, "How often, with different seeds")
        ->check(CLI::Range(1, 100));
    add_option(selftest, "--only", options.only, "GLOB",
               "Only these faults or variants (repeatable)");
    selftest->add_flag("--matrix", options.whole_matrix,
                       "Do not stop at the first kill: every family's");
    add_option(selftest, "--write", options.write, "PATH",
               "The matrix as a page; what is not chosen stays there");
    selftest
        ->add_option("--at-once", options.at_once,
                     "Faults and variants side by side; they share the workers")
        ->check(CLI::Range(1, 1024));
    add_option(selftest, "--out", options.out, "FOLDER",
               "Keep results.jsonl and the journals here");
    selftest->add_flag("--resume", options.resume,
                       "Do not run again what FOLDER/results.jsonl holds, also of other runs");
    selftest->add_flag("--older", options.older,
                       "Take results of earlier builds of the exam's plugin; the page says so");
  }

  void add_worker() {
    CLI::App* sub = app.add_subcommand("worker", "")->group("");  // started by the others
    sub->callback([this] { chosen = [this] { return work(worker); }; });
    sub->add_option("--device", worker.device)->required();
    sub->add_option("--plugin", worker.plugin);
    sub->add_option("--lane", worker.lane);
    sub->add_option("--journal-fd", worker.journal);
  }
};

// `backplane conform --device acme:0` is a run.
std::vector<std::string> with_run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool asks_help = !words.empty() && (words[0] == "--help" || words[0] == "-h");
  if (!words.empty() && words[0].starts_with("-") && !asks_help) words.insert(words.begin(), "run");
  return {words.rbegin(), words.rend()};  // as CLI11 takes them
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line;
  try {
    line.app.parse(with_run(argc, argv));
  } catch (const CLI::ParseError& error) {
    return line.app.exit(error) == 0 ? 0 : bp::conform::exit_misused;
  }
  if (!line.chosen) {
    std::fputs("conform: name a command; 'backplane conform --help' lists them\n", stderr);
    return bp::conform::exit_misused;
  }
  try {
    return line.chosen();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return bp::conform::exit_misused;
  }
}
