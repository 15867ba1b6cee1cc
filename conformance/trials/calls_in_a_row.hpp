// Trials of what holds between several calls: a call of the row, and others on the same tensors and on what they gave,
// one after the other on the device, with nobody waiting in between.
#pragma once

#include <string>
#include <vector>

#include "trials/row_trials.hpp"

namespace bp::conform {

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
  const std::vector<unsigned char>* take_values(Verdict& verdict, const Json& answer,
                                                std::size_t step, const std::string& what);

 private:
  bool judge_calls(Verdict& verdict, const Json& answer) const;

  int next_object_ = 1000;
  std::size_t row_ = 0;
  std::vector<std::size_t> calls_;
  std::vector<std::vector<unsigned char>> seen_;
};

// The row's arguments with other objects in the place of its tensors.
Json arguments_with(const Problem& problem, const std::vector<int>& objects);

}  // namespace bp::conform
