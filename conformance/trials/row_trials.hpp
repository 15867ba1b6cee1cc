// Trials of rows of the table: each kind judges one question.
#pragma once

#include <memory>

#include "inputs/problem.hpp"
#include "judge/calls.hpp"
#include "judge/expected.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

// What they share: the call of the row, and what the oracle says of it.
class RowTrial : public Trial {
 public:
  RowTrial(const Case& one, const Subject& subject)
      : one_(one), subject_(subject), problem_(decisive_problem(one, subject.numerics)) {}

  void prepare() override { expected_ = expect(problem_, one_, subject_.numerics, false); }

 protected:
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
};

// A call: is its result right?
std::unique_ptr<Trial> make_core_trial(const Case& one, const Subject& subject);
std::unique_ptr<Trial> make_direct_trial(const Case& one, const Subject& subject);
// A call that must be refused ("error").
std::unique_ptr<Trial> make_refusal_trial(const Case& one, const Subject& subject);
// Its derivative ("grad").
std::unique_ptr<Trial> make_gradient_trial(const Case& one, const Subject& subject);
// The same values in another layout, or the same call in other forms ("layouts", "forms").
std::unique_ptr<Trial> make_same_values_trial(const Case& one, const Subject& subject);
// Its pieces ("batch", "joined").
std::unique_ptr<Trial> make_parts_trial(const Case& one, const Subject& subject);
// What undoes it, or makes the same ("round_trip").
std::unique_ptr<Trial> make_round_trip_trial(const Case& one, const Subject& subject);
// The same call in other company ("repeat", "threads").
std::unique_ptr<Trial> make_repeat_trial(const Case& one, const Subject& subject);

// Trials of what holds between several calls: a call of the row, and others on the same tensors and on what they gave,
// one after the other on the device, with nobody waiting in between.
class Chain : public RowTrial {
 public:
  Json script(int index) final;
  Verdict judge(const std::vector<Json>& answers) final;

 protected:
  using RowTrial::RowTrial;

  // Adds what follows the row's own call.
  virtual void build(Json& script) = 0;
  // All calls have succeeded.
  virtual void judge_values(Verdict& verdict, const Json& answer) = 0;

  int new_object() { return next_object_++; }
  // A call of any row, whose results become new objects.
  std::vector<int> add_call(Json& script, const std::string& op, Json arguments,
                            std::size_t num_results = 1, const Json& more = {});
  // The step's position; its bytes are there when values are judged.
  std::size_t add_values(Json& script, int object);
  // Takes the bytes into the verdict's hash; null, and a failure, where there are none.
  const Bytes* take_values(Verdict& verdict, const Json& answer, std::size_t step,
                           const std::string& what);

 private:
  bool judge_calls(Verdict& verdict, const Json& answer) const;

  int next_object_ = 1000;
  std::size_t row_ = 0;
  std::vector<std::size_t> calls_;
  std::vector<Bytes> seen_;
};

// The row's arguments with other objects in the place of its tensors.
Json arguments_with(const Problem& problem, const std::vector<int>& objects);

}  // namespace bp::conform
