// bin/backplane: what is here, what works, and why something does not.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include <backplane/tensor/error.hpp>

#include "commands.hpp"
#include "trial.hpp"

namespace {

using bp::tools::Options;
using Command = int (*)(const Options&);

constexpr int failed = 1;
constexpr int misused = 2;

struct CommandLine {
  CLI::App app{"Backplane: the devices, plugins and operators of this machine", "backplane"};
  Options options;
  Command chosen = nullptr;

  CommandLine() {
    app.require_subcommand(0, 1);  // so that an unknown one is named; see main
    app.set_version_flag("--version", BP_VERSION);
    CLI::App* devices = add("devices", "List this machine's devices", bp::tools::devices);
    devices
        ->add_option("names", options.devices,
                     "Devices or backends: show all facts about them (this opens them)")
        ->type_name("NAME");
    add("plugins", "List the folders that are searched for plugins, and what is in them",
        bp::tools::plugins);
    add("doctor", "Explain for each plugin why it is used or not; fails if no device is usable",
        bp::tools::doctor);

    // For the commands above, which start it.
    CLI::App* attempt =
        app.add_subcommand("try", "Take one plugin through all of its start")->group("");
    attempt->add_option("words", options.arguments)->required();
    attempt->callback([this] { chosen = bp::tools::attempt; });

    CLI::App* ops =
        add("ops", "List the operators; with --device, how each is served there", bp::tools::ops);
    ops->add_option("--device", options.devices,
                    "Run each operator's samples on this device (repeatable)")
        ->type_name("NAME");
    ops->add_flag("--every-sample", options.every_sample,
                  "Also run samples that only compile a generated kernel for another layout")
        ->needs("--device");
    ops->add_flag("--markdown", options.markdown, "Print the table of docs/coverage.md")
        ->needs("--device")
        ->excludes("--json");

    CLI::App* lint =
        add("lint", "Check why a loader would reject a plugin's library; fails if it would",
            bp::tools::lint, /*loads=*/false);
    lint->add_option("files", options.files, "Libraries")->required()->type_name("FILE");

    CLI::App* conform = app.add_subcommand(
        "conform", "Test a plugin with the conformance suite; see conform --help");
    conform->prefix_command()->set_help_flag();
    conform->callback([this, conform] {
      options.arguments = conform->remaining();
      chosen = bp::tools::conform;
    });

    CLI::App* fallbacks =
        add("fallbacks", "Run a program and print where each of its calls ran, slowest ways first",
            bp::tools::fallbacks, /*loads=*/false);
    fallbacks->prefix_command()->footer("Then the program: backplane fallbacks python train.py");
    fallbacks->add_option("--output", options.file, "Write the table here; default: standard error")
        ->type_name("FILE");
    fallbacks->callback([this, fallbacks] {
      options.arguments = fallbacks->remaining();
      if (options.arguments.empty())
        throw CLI::RequiredError("A program (backplane fallbacks python train.py)");
      chosen = bp::tools::fallbacks;
    });

    CLI::App* repeat = add("repeat",
                           "Repeat a call that BACKPLANE_SHADOW saved, and compare it with the "
                           "host's; fails if they differ",
                           bp::tools::repeat);
    repeat->add_option("file", options.file, "The saved call")->required()->type_name("FILE");
    repeat
        ->add_option("--device", options.devices, "Repeat it on this device; default: where it ran")
        ->expected(1)
        ->type_name("NAME");

    CLI::App* cache =
        add("cache", "Show the compiled kernels on disk", bp::tools::cache, /*loads=*/false);
    cache->add_flag("--clear", options.clear, "Delete them all");

    CLI::App* tune =
        add("tune", "Show which ways of computing are the fastest on this machine, and find it out",
            bp::tools::tune);
    tune->prefix_command()->footer(
        "Then a program, to decide for its shapes: backplane tune python train.py");
    tune->add_option("--device", options.devices, "Decide for usual shapes on it (repeatable)")
        ->allow_extra_args(false)
        ->type_name("NAME");
    tune->add_flag("--forget", options.clear, "First delete what was decided");
    tune->callback([this, tune] {
      options.arguments = tune->remaining();
      chosen = bp::tools::tune;
    });

    CLI::App* backend = add("new-backend", "Create a project for a plugin, ready to build and test",
                            bp::tools::new_backend, /*loads=*/false);
    backend->add_option("name", options.name, "Name of the backend: acme makes the device acme:0")
        ->required();
    backend->add_option("--dir", options.directory, "A new or empty folder; default: the name")
        ->type_name("DIR");
    backend->add_flag("--c11", options.c11, "Write the project in C instead of C++");
  }

 private:
  CLI::App* add(const char* name, const char* description, Command command, bool loads = true) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->add_flag("--json", options.json, "Print JSON");
    if (loads)
      sub->add_option("--plugin", options.plugins,
                      "A library, a manifest or a folder of manifests to search first (repeatable)")
          ->allow_extra_args(false)  // what follows is a name
          ->type_name("PATH");
    sub->callback([this, command] { chosen = command; });
    return sub;
  }
};

}  // namespace

int main(int argc, char** argv) {
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return line.app.exit(error) == 0 ? 0 : misused;
  }
  if (!line.chosen) {
    std::fputs("backplane: name a command; 'backplane --help' lists them\n", stderr);
    return misused;
  }
  try {
    return line.chosen(line.options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane: %s\n", error.what());
    return failed;
  }
}
