// The subcommands of `backplane`. Each prints to the standard output and returns the exit code; what it
// cannot do at all it throws, and main says so in one sentence.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bp::tools {

struct Options {
  bool json = false;
  bool markdown = false;                       // ops
  bool every_sample = false;                   // ops
  std::vector<std::filesystem::path> plugins;  // devices, plugins, doctor, ops: looked at first
  std::vector<std::string> devices;            // devices, ops, repeat
  std::vector<std::filesystem::path> files;    // lint
  std::filesystem::path file;                  // repeat: a saved call; fallbacks: where to write
  bool clear = false;                          // cache, tune
  std::vector<std::string>
      arguments;  // conform: for that program; fallbacks, tune: the program; try: see attempt.cpp
  std::string name;                 // new-backend: "acme"
  std::filesystem::path directory;  // new-backend
  bool c11 = false;                 // new-backend
};

// What can be computed on; of those that are named, all that is known.
int devices(const Options& options);

// The places that are searched and what is in them, in order. Opens no library.
int plugins(const Options& options);

// Why each plugin is or isn't used. 1 unless some device can be used.
int doctor(const Options& options);

// The operators; with devices, where each runs on them, found by running it.
int ops(const Options& options);

// What the loader would hold against these libraries. 1 if it would refuse one.
int lint(const Options& options);

// The conformance suite, which takes over this process.
int conform(const Options& options);

// Runs a program and says at its end what ran where in it. The program's own exit code.
int fallbacks(const Options& options);

// Repeats a call that BACKPLANE_SHADOW saved, on a device and on the host. 1 if they differ.
int repeat(const Options& options);

// The compiled kernels on disk, after deleting them if that is wished.
int cache(const Options& options);

// What the tuner has decided on this machine, after deciding for a device or a program if that is wished.
int tune(const Options& options);

// A backend's project in a new folder, from the template, with the maker's name in place of Acme's.
int new_backend(const Options& options);

}  // namespace bp::tools
