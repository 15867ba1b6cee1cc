// A case brought to trial: what a worker is to do, and the verdict on what it answered.
#pragma once

#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "cases/subject.hpp"
#include "inputs/problem.hpp"
#include "judge/calls.hpp"
#include "protocol/script.hpp"

namespace bp::conform {

// The names are in trial.cpp, in this order.
enum class Outcome : std::uint8_t {
  pass,
  fail,
  unsupported,  // the plugin said so, as it may; counted, and it costs the level where the level asks for it
  mistrusted,  // the output proves nothing (all of it equal, say)
  crash,
  timeout,
  flaky,  // passed only on a retry; a failure
};
const char* name(Outcome outcome);
// Throws bad_argument for a word that is none.
Outcome outcome_named(std::string_view text);
bool is_failure(Outcome outcome);  // anything but pass and unsupported

struct Verdict {
  Outcome outcome = Outcome::pass;
  std::string
      rung;  // that served the row: native, legalized, generated, decomposed, host, view; empty for probes
  std::string why;         // a sentence for anything but pass
  std::string rule;        // how it was decided
  double worst_ulp = 0;    // of all results
  double worst_share = 0;  // of the bound
  double bias = 0;         // see Comparison
  std::string hash;        // of the outputs' bytes
  bool native() const;     // kernel, legalized, generated, decomposed or view: not the host
};

class Trial {
 public:
  virtual ~Trial() = default;
  // Scripts are run in order, each on the same worker; outputs of the first two must agree (they differ in poison).
  virtual int num_scripts() const { return 2; }
  virtual Json script(int index) = 0;
  // Do the answers leave open what the last script tells once more? Then judge() gets its second answer as well.
  virtual bool asks_again(const std::vector<Json>&) { return false; }
  // While the worker runs: computes what is expected.
  virtual void prepare() {}
  virtual Verdict judge(const std::vector<Json>& answers) = 0;
  virtual int timeout_seconds() const { return 20; }
};

// Thrown where an answer is found to be wrong.
struct Wrong {
  std::string why;
};
template <class... Args> void demand(bool holds, fmt::format_string<Args...> why, Args&&... args) {
  if (!holds) throw Wrong{fmt::format(why, std::forward<Args>(args)...)};
}
// Of a sentence that says what is wrong, empty if nothing is.
inline void demand_none(const std::string& why) {
  if (!why.empty()) throw Wrong{why};
}

// Throws bad_argument for a case that cannot be made.
std::unique_ptr<Trial> make_trial(const Case& one, const Subject& subject);

inline constexpr int poisons[2] = {0xff, 0x11};

// A script with its head; steps are added.
Json new_script(const Case& one, int index);
// Appends and returns the position, by which its result is found.
std::size_t add_step(Json& script, Json step);

// The result of a step; an object without "code" where there is none.
const Json& result_of(const Json& answer, std::size_t step);
int code_of(const Json& result);
std::string message_of(const Json& result);
// "error 1: ..."
std::string error_of(const Json& result);
// Did every kernel's `supports` say no, as it may to a problem as small as this one?
bool is_refused(const Json& result);
const Bytes* bytes_of(const Json& result);

// What the instruments say, as a sentence; empty if nothing. `written`: inputs that the row writes, as it should.
std::string complaint_of(const Json& answer, const std::vector<int>& written = {});

// Did only kernels run that declare that they give the same bits each time?
bool repeats_bits(const Json& answer);
bool repeats_bits(const std::vector<Json>& answers);

// Why two runs with different poison give different bytes: `changes` if the second one's poison gives others again.
const char* disagreement(bool changes);

// Keeps the first failure.
void fail_with(Verdict& verdict, const std::string& why);
// False if the kernels said UNSUPPORTED, which the verdict then says; throws Wrong if the call failed.
bool has_succeeded(Verdict& verdict, const Json& result);

// The worst rung among those that served: that of the row itself where it is counted.
std::string served_rung(const Json& result, const std::string& op);

// Compares one result and takes the figures over into the verdict.
void judge_result(Verdict& verdict, const Bytes& bytes, const ExpectedTensor& expected,
                  const std::string& what);

std::string hash_of(const std::vector<Bytes>& all);

// Throws bad_argument for a case that no probe stands for.
std::unique_ptr<Trial> make_probe(const Case& one, const Subject& subject);

// ---- Trials of rows of the table: each kind judges one question

// What they share: the call of the row, what the oracle says of it, and two runs that are judged one after the other.
class RowTrial : public Trial {
 public:
  RowTrial(const Case& one, const Subject& subject)
      : one_(one), subject_(subject), problem_(decisive_problem(one, subject.numerics)) {}

  void prepare() override { expected_ = expect(problem_, one_, subject_.numerics, false); }
  Verdict judge(const std::vector<Json>& answers) final;

 protected:
  // By which the row was served; empty where nobody asks.
  virtual std::string rung_of(const Json&) const { return {}; }
  // Tensors that the call writes, as it should.
  virtual std::vector<int> written_tensors() const { return {}; }
  // Throws Wrong. No run before has failed, and the instruments complain of nothing.
  virtual void judge_run(Verdict& verdict, const Json& answer, std::size_t run) = 0;
  // After the runs.
  virtual void conclude(Verdict& verdict, const std::vector<Json>&) {
    verdict.hash = hash_of(seen_);
  }

  // What a step read; throws Wrong if it could not.
  static const Bytes& read_of(const Json& answer, std::size_t step, const std::string& what);
  static constexpr int first_result = 200;  // objects of the row's own call; tensors are 0 and up
  static int object_at(int first, std::size_t i) { return first + static_cast<int>(i); }
  std::size_t num_results() const { return count_results(problem_); }
  bool uses_stream() const { return one_.form == "stream" && subject_.has_streams; }
  void add_tensors(Json& script) const {
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i)
      add_step(script, tensor_step(problem_.tensors[i], object_at(0, i), false));
  }

  Case one_;
  const Subject& subject_;
  Problem problem_;
  Expected expected_;
  std::vector<Bytes> seen_;  // the values that the verdict's hash is of
};

using MakeTrial = std::unique_ptr<Trial>(const Case& one, const Subject& subject);
MakeTrial make_call_trial;      // a call: is its result right?
MakeTrial make_refusal_trial;   // a call that must be refused ("error")
MakeTrial make_gradient_trial;  // its derivative ("grad")
MakeTrial make_relation_trial;  // what holds between it and others (is_relation)
MakeTrial make_repeat_trial;    // the same call in other company ("repeat", "threads")

}  // namespace bp::conform
