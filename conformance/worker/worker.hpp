// The worker process: keeps one device open in one lane and dumbly runs scripts (protocol/script.hpp), under instruments.
#pragma once

#include <string>

#include "cases/case.hpp"
#include "protocol/script.hpp"

namespace bp::conform {

struct WorkerOptions {
  std::string device;  // "acme:0"
  std::string plugin;  // the library's path; empty: searched for as the core does
  std::string lane =
      "direct";  // "direct": the plugin alone; "core": the public API; "bare": opens nothing by itself
  int journal = -1;  // file descriptor, opened to append; -1: none
};

// Reads requests from the one file descriptor until its end and answers each on the other. Before each it appends
// {"begin": CASE, "worker": PID} to the journal, in one write. A device that cannot be opened answers every request with
// {"case": NAME, "failed": SENTENCE}. Returns the process's exit code.
int run_worker(int requests, int answers, const WorkerOptions& options);

// The lane of the worker that a script needs: "direct", "core", or for probes what the script's "lane" says.
std::string worker_lane(const Case& one, const Json& script);

}  // namespace bp::conform
