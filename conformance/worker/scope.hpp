// The worker process: keeps one device open in one lane and dumbly runs scripts (protocol/script.hpp), under instruments. And
// what a lane offers it: scopes, in which scripts run under watch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <backplane/tensor/error.hpp>

#include "cases/case.hpp"
#include "protocol/script.hpp"

namespace bp {
struct DeviceRecord;
}

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

// What the instruments saw, by kind; each kind keeps its first few entries. The kinds:
//   zones    written outside of what was asked for
//   inputs   changed by a call that only reads it
//   gaps     changed between the elements of an output
//   failed   changed by a call that failed
//   copies   not what a write, copy or fill should have made of it
//   late     changed after the work was said to be done
//   paths    differs by the way in which it is read
//   host     what the plugin did wrong with the host's functions
//   promises `supports` said yes and `run` answered BP_UNSUPPORTED
class Watch {
 public:
  void add(const char* kind, Json entry);
  void merge(const Watch& other);
  void set_lost(const std::string& why) { lost_ = why; }
  bool lost() const { return !lost_.empty(); }
  bool saw_something() const { return lost() || !seen_.empty(); }
  Json json() const;

 private:
  Json seen_ = Json::object();
  std::string lost_;
};

// Objects of one script, or of one thread of it. Used by one thread at a time.
class Scope {
 public:
  virtual ~Scope() = default;
  // One step's result; without a "code" it is BP_OK. Throws bp::Error, which becomes {"code", "message"}.
  virtual Json step(const Json& step) = 0;
  // Of the object's elements, all work being done.
  virtual std::uint64_t hash(int) { return 0; }
  // Looks at everything once more, then releases all. No step may follow.
  virtual void finish() {}
  Watch watch;
};

// A sum of counters that ought to come back to where they were. Negative: unknown.
struct Counters {
  std::int64_t host_allocations = 0;  // through bp_host.allocate_host
  std::int64_t device_allocations =
      0;  // that the worker holds; of the core: that its allocator reserved
  std::int64_t files = 0, threads = 0;
  std::int64_t heap = 0;     // bytes in use of malloc, mapped blocks included
  std::int64_t address = 0;  // bytes of address space, where someone asks
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counters, host_allocations, device_allocations, files, threads,
                                   heap, address)
// By how much each rose, or fell.
Json growth_json(const Counters& from, const Counters& to);
// Of each a list: by how much it had risen after a quarter of the marks, two, three and all. Empty for less than four marks.
Json growth_by_quarters(const Counters& base, const std::vector<Counters>& marks);
// All but the first two and the last.
Counters process_counters();
// Takes as long as a small case: it reads a line for each mapping.
Counters with_address_space(Counters counters);

class LaneDriver {
 public:
  virtual ~LaneDriver() = default;
  // `within`: the scope's steps see that one's objects as well, which nobody changes meanwhile; it settles and looks at
  // what both share.
  virtual std::unique_ptr<Scope> scope(std::uint8_t poison, Scope* within = nullptr) = 0;
  // What Subject is read from; only of the direct lane.
  virtual Json describe() { return {}; }
  virtual Counters counters() = 0;
  // Calls so far of kernels that do not declare BP_KERNEL_DETERMINISTIC.
  virtual std::uint64_t varying_calls() const { return 0; }
  // Settings that a script changed are as usual again.
  virtual void reset() {}
  // From where the instruments take host memory for their next copy, and back to there: a script that is run again then
  // copies from the same addresses. Intel's OpenCL runtime keeps about 100 bytes for each address that it has not seen.
  virtual std::uint64_t staging_place() const { return 0; }
  virtual void return_to(std::uint64_t) {}
};

// Throw bp::Error if the device cannot be opened.
std::unique_ptr<LaneDriver> open_direct_lane(const std::string& device, const std::string& plugin);
std::unique_ptr<LaneDriver> open_core_lane(const std::string& device, const std::string& plugin);
std::unique_ptr<LaneDriver> open_bare_lane(const std::string& device, const std::string& plugin);

// "times", or with "milliseconds" until that time has passed, but "at_least" so often.
struct Repetitions {
  explicit Repetitions(const Json& step);
  // After so many: the clock is looked at when that is a multiple of `every`.
  bool go_on(std::int64_t done, int every = 1) const;

  const std::int64_t times, at_least;
  const double milliseconds;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

// {"do":"repeat"}: see repeat.cpp.
Json run_repeat(LaneDriver& lane, Scope& within, const Json& step, std::uint8_t poison,
                Watch& watch);

// {"do":"side_streams"} of the core lane.
Json run_side_streams(DeviceRecord& record, const Json& step);

// {"do":"alive"}: does what was written come back? Both functions copy so many bytes.
inline constexpr int num_sent = 100;
Json there_and_back(const std::function<void(const void* sent)>& write,
                    const std::function<void(void* came)>& read);

// FNV-1a in words of 8 bytes.
std::uint64_t hash_bytes(const void* data, std::size_t bytes);

// The plugin's file for a device: the one given, or as the core would find it. Throws bad_argument.
std::string find_plugin_file(const std::string& device, const std::string& plugin);

// The result of a step that failed.
Json failure_json(const Error& error);

}  // namespace bp::conform
