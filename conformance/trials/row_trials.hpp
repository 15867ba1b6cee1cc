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

}  // namespace bp::conform
