// What the probes are made of: a plan of steps, and what their answers must say; and small calls, which several of them repeat.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cases/kernels.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

// What a step of a plan must read.
struct Expectation {
  std::size_t step;
  Bytes bytes;
  std::string what;
};

struct ProbePlan {
  std::string lane = "direct";
  Json steps = Json::array();
  // A sentence if the answer is wrong, else empty. The instruments' complaints come first and need no word here.
  std::function<std::string(const Json& answer)> judge;
  int scripts = 2;  // each with another poison
  int timeout_seconds = 20;
  bool once = false;        // not to be run again in search of leaks
  std::string unsupported;  // why the device need not do this: the outcome is then "unsupported"

  // Appends and returns the position of its result.
  std::size_t add(Json step);
  // One script, run once: it repeats by itself, and is not to be run again in search of leaks.
  void run_once(int timeout);
  // No step may fail; then `next` judges.
  void judge_after_success(std::function<std::string(const Json& answer)> next);
  // No step may fail, and these ones must have read what they should.
  void expect_reads(std::vector<Expectation> reads);
};

// A plan that knows what the objects of its script ought to hold: what a step does to memory, it does to a picture.
class PicturedPlan {
 public:
  ProbePlan plan;

  // `space`: of the device's memories.
  void allocate(int object, std::uint64_t bytes, std::uint64_t alignment = 1,
                std::uint32_t space = 0);
  void write(int object, std::uint64_t offset, const Bytes& data, int stream = 0);
  // An object that holds this from its first byte on.
  void make(int object, const Bytes& data, std::uint64_t alignment = 1, std::uint32_t space = 0);
  void copy(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
            std::uint64_t count, int stream = 0);
  void fill(int object, std::uint64_t offset, std::uint64_t count, const Bytes& pattern,
            int stream = 0);
  // Reads, and expects what the picture shows now; all of the object unless there is an offset.
  void expect(int object, const std::string& what, int stream = 0);
  void expect_part(int object, std::uint64_t offset, std::uint64_t count, const std::string& what,
                   int stream = 0);
  // No step fails, and all reads are as expected.
  ProbePlan take();

 private:
  std::map<int, Bytes> pictures_;
  std::vector<Expectation> reads_;
};

struct Probe {
  const char* name;  // after the family's: "copy"
  std::vector<std::string> (*variants)(const Subject& subject, int profile);
  ProbePlan (*plan)(const std::string& variant, const Subject& subject);
};

// The families, each in its file.
std::vector<Probe> load_probes();
std::vector<Probe> memory_probes();
std::vector<Probe> space_probes();
std::vector<Probe> host_memory_probes();
std::vector<Probe> facts_probes();
std::vector<Probe> stream_probes();
std::vector<Probe> async_probes();
std::vector<Probe> wait_probes();
std::vector<Probe> busy_probes();
std::vector<Probe> late_probes();
std::vector<Probe> capture_probes();
std::vector<Probe> order_probes();
std::vector<Probe> stream_memory_probes();
std::vector<Probe> plan_probes();
std::vector<Probe> negative_probes();
std::vector<Probe> counter_probes();
std::vector<Probe> stress_probes();
std::vector<Probe> together_probes();

// ---- Pieces of plans -------------------------------------------------------------------------------------

// One step of the bare lane, whose result `judge` judges if it did not fail.
ProbePlan ask_bare(Json step, std::function<std::string(const Json& result)> judge);

// Bytes that differ from their neighbours and for each seed.
Bytes pattern_bytes(std::size_t count, unsigned seed);
// The same step on a stream, in one of the device's memories.
Json on_stream(Json step, int stream);
Json in_space(Json step, std::uint32_t space);
Json copy_step(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
               std::uint64_t count, int stream = 0);
Json fill_step(int object, std::uint64_t offset, std::uint64_t count, Bytes pattern,
               int stream = 0);
Json simple_step(const char* what, int stream = 0);
Json object_step(const char* what, int object);  // "stream", "event", "release"
// "record", "wait"
Json event_step(const char* what, int event, int stream);
// Of the core lane: a vector, and a call of a row whose result is a new object.
Json core_vector(int object, const char* dtype, std::size_t count, const Bytes& bytes);
Json core_call(const char* op, Json args, int result);
Json raw_allocate_step(std::uint64_t bytes, std::uint64_t alignment);

// "step 3 (copy): BP_INTERNAL ..." for the first step that failed; empty if none did.
std::string first_failure(const Json& answer, const Json& steps);
// Is this a failure with the code that is said, and a message? A sentence if not.
std::string refused(const Json& result, int code, const std::string& what);
// After memory ran out in the step before last: BP_OUT_OF_MEMORY with a message, and the step "alive" copies. `what` was asked.
std::string exhausted(const Json& answer, std::size_t asked, std::size_t alive,
                      const std::string& what);
// Compares what a step read; empty if equal.
std::string differs(const Json& answer, std::size_t step, const Bytes& expected,
                    const std::string& what);
// The first of these reads that differs; empty if none does.
std::string differs(const Json& answer, const std::vector<Expectation>& reads);
// Does a counter grow all the time? `growth` is repeat's; `heap_bytes`: of malloc that one repetition may not keep.
std::string grows(const Json& growth, double times, double heap_bytes = 8);

// Where there are streams, and events.
std::vector<std::string> with_events(const Subject& subject, int profile);
std::vector<std::string> one_variant(const Subject& subject, int profile);
// Where this is so.
template <bool Subject::*fact> std::vector<std::string> where(const Subject& subject, int profile) {
  return subject.*fact ? one_variant(subject, profile) : std::vector<std::string>();
}

// "exp[f32]", ...: rows and dtypes for which some declared kernel takes a small call. `profile` as of derive_cases: one
// dtype for each row, two, or all.
std::vector<std::string> small_calls(const Subject& subject, int profile);

// Steps that make the objects, the call, and the objects of its outputs.
struct SmallCall {
  Json setup = Json::array();
  Json call;
  std::vector<int> outputs;
  std::string op;
  std::size_t num_shapes =
      1;  // that turn by turn are called: the turn behind them has other values alone
};
// Its objects are `first_object` and up. `turn`: another shape, where the row has several that the kernel takes, and other values. Throws bad_argument for a name
// that small_calls does not give.
SmallCall small_call(const std::string& name, const Subject& subject, std::size_t turn = 0,
                     int first_object = 0);

}  // namespace bp::conform
