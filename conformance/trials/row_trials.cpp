#include "trials/row_trials.hpp"

namespace bp::conform {

Json Chain::script(int index) {
  Json script = new_script(one_, index);
  calls_.clear();
  next_object_ = 1000;
  add_tensors(script);
  row_ = add_step(script, row_step(problem_, first_result));
  build(script);
  return script;
}

std::vector<int> Chain::add_call(Json& script, const std::string& op, Json arguments,
                                 std::size_t num_results, const Json& more) {
  std::vector<int> results;
  for (std::size_t i = 0; i < num_results; ++i) results.push_back(new_object());
  Json row = {{"do", "row"},        {"op", op},      {"args", std::move(arguments)},
              {"results", results}, {"quiet", true}, {"synchronize", false}};
  if (more.is_object()) row.update(more);
  calls_.push_back(add_step(script, std::move(row)));
  return results;
}

std::size_t Chain::add_values(Json& script, int object) {
  return add_step(script, {{"do", "values"}, {"object", object}});
}

const Bytes* Chain::take_values(Verdict& verdict, const Json& answer, std::size_t step,
                                const std::string& what) {
  const Json& result = result_of(answer, step);
  const Bytes* bytes = bytes_of(result);
  if (bytes)
    seen_.push_back(*bytes);
  else
    fail_with(verdict, "{} cannot be read: {}", what, error_of(result));
  return bytes;
}

// False if there is nothing more to judge.
bool Chain::judge_calls(Verdict& verdict, const Json& answer) const {
  if (const std::string complaint = complaint_of(answer); !complaint.empty())
    fail_with(verdict, complaint);
  has_succeeded(verdict, result_of(answer, row_));
  for (const std::size_t call : calls_)
    if (const Json& result = result_of(answer, call);
        code_of(result) != BP_OK && verdict.outcome == Outcome::pass)
      fail_with(verdict, "the call alone succeeds; after it, " + error_of(result));
  return verdict.outcome == Outcome::pass;
}

Verdict Chain::judge(const std::vector<Json>& answers) {
  Verdict verdict;
  seen_.clear();
  verdict.rung = served_rung(result_of(answers.at(0), row_), one_.op);
  for (const Json& answer : answers)
    if (judge_calls(verdict, answer)) judge_values(verdict, answer);
  verdict.hash = hash_of(seen_);
  return verdict;
}

Json arguments_with(const Problem& problem, const std::vector<int>& objects) {
  Json list = core_arguments(problem, 0);
  const auto replaced = [&](Json& object) { object = objects.at(object.get<std::size_t>()); };
  for (Json& each : list) {
    if (each.contains("tensor")) replaced(each["tensor"]);
    if (each.contains("tensors"))
      for (Json& one : each["tensors"])
        if (!one.is_null()) replaced(one);
  }
  return list;
}

}  // namespace bp::conform
