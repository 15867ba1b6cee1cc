// What the probes are made of: a plan of steps, what their answers must say, and small calls, which several of them repeat.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "cases/kernels.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

// A failure with the code that is said, and a message.
void demand_refusal(const Json& result, int code, const std::string& what);

class ProbePlan;

// The results of a plan's steps, by their positions.
class Answer {
 public:
  Answer(const Json& json, const ProbePlan& plan) : json_(json), plan_(plan) {}

  const Json& operator[](std::size_t step) const { return result_of(json_, step); }
  int code(std::size_t step) const { return code_of((*this)[step]); }
  bool repeats_bits() const { return conform::repeats_bits(json_); }
  // Did these steps, each beside each, read the same bytes?
  bool same_bytes(const std::vector<std::size_t>& some,
                  const std::vector<std::size_t>& others) const;

  // Each step has answered as it must: "step 3 (copy): error 7: ..."
  void demand_codes() const;
  void demand_bytes(std::size_t step, const Bytes& expected, const std::string& what) const;
  // After memory ran out in the step `asked`: BP_OUT_OF_MEMORY with a message, and the step "alive" copies.
  void demand_exhausted(std::size_t asked, std::size_t alive, const std::string& what) const;

 private:
  const Json& json_;
  const ProbePlan& plan_;
};

// What a probe asks, and how the answer is judged: each step must answer the code that it was added with, what is read must
// be what the plan knows of its objects (what a step does to memory, it does to a picture), and `judge` must not throw Wrong.
// The instruments' complaints come first and need no word here.
class ProbePlan {
 public:
  ProbePlan(const std::string& chosen, const Subject& of) : variant(chosen), subject(of) {}

  const std::string variant;
  const Subject& subject;  // null for nobody; it outlives the plan's making, not its judging
  std::string lane = "direct";
  Json steps = Json::array();
  int scripts = 2;  // each with another poison
  int timeout_seconds = 20;
  bool once = false;         // not to be run again in search of leaks
  bool may_decline = false;  // an answer in which a kernel declines its call is right
  std::string unsupported;   // why the device need not do this: it then passes without a word
  std::function<void(const Answer&)> judge;

  // The variant as a number.
  std::uint64_t number() const { return std::stoull(variant); }

  // A step that may also answer BP_RETRY.
  static constexpr int ok_or_retry = -1;
  // Appends and returns the position of its result.
  std::size_t add(Json step, int code = BP_OK);
  // One script, run once: it repeats by itself, and is not to be run again in search of leaks.
  void run_once(int timeout);
  // Judges by this alone, whatever the steps answer.
  void judge_alone(std::function<void(const Answer&)> by);

  // `what`: "stream", "event", "release".
  void each(const char* what, std::initializer_list<int> objects);
  std::size_t on_stream(const char* what, int stream = 0, int code = BP_OK);
  std::size_t synchronize(int stream = 0, int code = BP_OK);
  // `what`: "record", "wait", "query_event", "synchronize_event", "destroy".
  std::size_t on_event(const char* what, int event, int stream = 0, int code = BP_OK);
  std::size_t is_alive();

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
  void expect_bytes(std::size_t step, Bytes bytes, const std::string& what);

  // A sentence if the answer is wrong, else empty.
  std::string fault_of(const Json& answer) const;

 private:
  friend Answer;
  struct Read {
    std::size_t step;
    Bytes bytes;
    std::string what;
  };

  std::vector<int> codes_;  // for each step
  std::map<int, Bytes> pictures_;
  std::vector<Read> reads_;
  bool judges_alone_ = false;
};

// The names that a probe is run under, each of which its plan reads as it likes: those of all profiles, and with the normal
// and the full one others behind them. None on devices that it does not apply to.
using Applies = bool (*)(const Subject& subject);
struct Variants {
  std::vector<std::string> names = {""};
  Applies applies = nullptr;
  std::vector<std::string> in_normal = {}, in_full = {};
  // Instead of all these.
  std::vector<std::string> (*find)(const Subject& subject, int profile) = nullptr;
};

struct Probe {
  const char* name;  // after the family's: "copy"
  void (*make)(ProbePlan& plan);
  Variants variants = {};
};
struct ProbeFamily {
  const char* name;  // "memory"
  int level;
  std::vector<Probe> probes;
  std::vector<Case> cases(const Subject& subject, int profile) const;
};
const std::vector<ProbeFamily>& probe_families();

// Those of one file each.
std::vector<ProbeFamily> load_families();
std::vector<ProbeFamily> memory_families();
std::vector<ProbeFamily> facts_families();
std::vector<ProbeFamily> stream_families();
std::vector<ProbeFamily> busy_families();
std::vector<ProbeFamily> late_families();
std::vector<ProbeFamily> replay_families();
std::vector<ProbeFamily> negative_families();
std::vector<ProbeFamily> stress_families();

// ---- What probes apply to

template <bool Subject::*fact> bool has(const Subject& subject) {
  return subject.*fact;
}
// Streams whose work is not done when a call returns.
inline bool has_queues(const Subject& subject) {
  return subject.has_streams && !subject.synchronous();
}
template <bool Subject::*fact> bool has_queues_and(const Subject& subject) {
  return subject.*fact && has_queues(subject);
}
inline bool has_events(const Subject& subject) {
  return subject.has_streams && subject.has_events;
}

// ---- Pieces of plans

// One step of the bare lane, whose result `judge` judges if it did not fail.
void ask_bare(ProbePlan& plan, Json step, std::function<void(const Json& result)> judge);

// Bytes that differ from their neighbours and for each seed.
Bytes pattern_bytes(std::size_t count, std::uint64_t seed);
// The same step on a stream, in one of the device's memories.
Json on_stream(Json step, int stream);
Json in_space(Json step, std::uint32_t space);
Json copy_step(int to, std::uint64_t to_offset, int from, std::uint64_t from_offset,
               std::uint64_t count, int stream = 0);
Json fill_step(int object, std::uint64_t offset, std::uint64_t count, Bytes pattern,
               int stream = 0);
Json stream_step(const char* what, int stream = 0);
Json object_step(const char* what, int object);
Json event_step(const char* what, int event, int stream = 0);
// Of the core lane: a vector, and a call of a row whose result is a new object.
Json core_vector(int object, const char* dtype, std::size_t count, const Bytes& bytes);
Json core_call(const char* op, Json args, int result);
Json raw_allocate_step(std::uint64_t bytes, std::uint64_t alignment = 64);

// Does a counter grow all the time? `growth` is repeat's; `heap_bytes`: of malloc that one repetition may not keep.
std::string grows(const Json& growth, double times, double heap_bytes = 8);

// "exp[f32]", ...: rows and dtypes for which some declared kernel takes a small call. `profile` as of derive_cases: one
// dtype for each row, two, or all.
std::vector<std::string> small_calls(const Subject& subject, int profile);
// About so many of them, from all over the list.
std::vector<std::string> some_small_calls(const Subject& subject, int profile, std::size_t most);
// "exp" of "exp[f32]"; null if the row is not there.
const Operator* row_of_call(const std::string& call);

// Steps that make the objects, the call, and the objects of its outputs.
struct SmallCall {
  Json setup = Json::array();
  Json call;
  std::vector<int> outputs;
  // That turn by turn are called: the turn behind them has other values alone.
  std::size_t num_shapes = 1;
};
// Its objects are `first_object` and up. `turn`: another shape, where the row has several that the kernel takes, and other
// values. Throws bad_argument for a name that small_calls does not give.
SmallCall small_call(const std::string& name, const Subject& subject, std::size_t turn = 0,
                     int first_object = 0);
// Makes the objects; then calls, and reads the outputs, which gives the reads' positions.
void set_up(ProbePlan& plan, const Json& setup);
std::vector<std::size_t> read_all(ProbePlan& plan, const std::vector<int>& objects);

}  // namespace bp::conform
