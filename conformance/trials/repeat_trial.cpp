// The same call gives the same bits: again and again ("repeat"), and while other threads make other calls of the row
// ("threads").
#include <algorithm>
#include <fmt/format.h>

#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/error.hpp>

#include "inputs/problem.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

constexpr int times_at_stress = 1200;
constexpr std::size_t threads_at_stress = 4;
constexpr int own_stream = 300;

// The row's other shapes, with other values: what the threads beside the first one compute.
std::vector<Problem> other_problems(const Case& one) {
  const std::vector<std::string> shapes = split_text(find_row_facts(one.op)->shapes, ' ');
  std::vector<Problem> others;
  const auto add = [&](const std::string& shape) {
    Case other = one;
    other.shape = shape;
    other.seed += 1 + others.size();
    others.push_back(make_problem(other));
  };
  for (std::size_t i = 0; i < shapes.size() && others.size() + 1 < threads_at_stress; ++i) {
    if (shapes[i] == one.shape ||
        shapes[i].starts_with("sample:") != one.shape.starts_with("sample:"))
      continue;
    try {
      add(shapes[i]);
    } catch (const Error&) {
      continue;  // a shape that this dtype does not go with
    }
  }
  while (others.size() + 1 < threads_at_stress) add(one.shape);
  return others;
}

// Many calls: all distinct hashes of their results are reported, and there may be one for each thread.
class RepeatTrial : public RowTrial {
 public:
  RepeatTrial(const Case& one, const Subject& subject) : RowTrial(one, subject) {
    if (one.form == "threads") others_ = other_problems(one);
  }

  int timeout_seconds() const override { return 60; }

  Json script(int index) override {
    Json script = new_script(one_, index);
    add_tensors(script);
    const Json row = row_step(problem_, first_result);
    first_ = add_step(script, row);
    values_.clear();
    for (const Json& object : row["results"])
      values_.push_back(add_step(script, {{"do", "values"}, {"object", object}}));
    const int threads = 1 + static_cast<int>(others_.size());
    Json repeat = {{"do", "repeat"},
                   {"times", index == 0 ? times_at_stress / threads : 10},
                   {"threads", threads},
                   {"steps", Json::array({row})},
                   {"hash", row["results"]}};
    alone_.clear();
    if (threads > 1) repeat["by_thread"] = works(script);
    repeat_ = add_step(script, std::move(repeat));
    return script;
  }

 private:
  // What each thread does; before, it is done alone. Every other thread has a stream of its own.
  Json works(Json& script) {
    Json works = Json::array();
    for (std::size_t i = 0; i <= others_.size(); ++i) {
      const Problem& problem = i == 0 ? problem_ : others_[i - 1];
      Json setup = Json::array(), row = row_step(problem, first_result);
      for (std::size_t t = 0; t < problem.tensors.size(); ++t)
        setup.push_back(tensor_step(problem.tensors[t], object_at(0, t), false));
      Json steps = Json::array();
      if (i % 2 != 0 && subject_.has_streams) {
        setup.push_back({{"do", "stream"}, {"object", own_stream}});
        row["stream"] = own_stream;
        steps.push_back(row);
        steps.push_back({{"do", "synchronize"}, {"stream", own_stream}});
      } else {
        steps.push_back(row);
      }
      works.push_back({{"setup", setup}, {"steps", steps}, {"hash", row["results"]}});
      alone_.push_back(add_step(script, {{"do", "repeat"},
                                         {"times", 1},
                                         {"threads", 1},
                                         {"by_thread", Json::array({works.back()})}}));
    }
    return works;
  }

  std::string rung_of(const Json& answer) const override {
    return served_rung(result_of(answer, first_), one_.op);
  }

  void judge_run(Verdict& verdict, const Json& answer, std::size_t) override {
    const std::string rule = "the same bits each time";
    verdict.rule = rule;
    if (verdict.outcome == Outcome::unsupported ||
        !has_succeeded(verdict, result_of(answer, first_)))
      return;
    const std::size_t count = std::min(expected_.results.size(), num_results());
    for (std::size_t i = 0; i < count && verdict.outcome == Outcome::pass; ++i) {
      const Bytes* bytes = bytes_of(result_of(answer, values_[i]));
      demand(bytes != nullptr, "result {} cannot be read", i);
      judge_result(verdict, *bytes, expected_.results[i], fmt::format("result {}", i));
      verdict.rule = rule;
    }
    if (verdict.outcome == Outcome::pass) check_hashes(answer);
  }
  void conclude(Verdict&, const std::vector<Json>&) override {}

  void check_hashes(const Json& answer) const {
    const Json& result = result_of(answer, repeat_);
    demand(code_of(result) == BP_OK, "error {} among many calls: {}", code_of(result),
           message_of(result));
    const Json hashes = result.value("hashes", Json::object());
    demand(!hashes.empty(), "no call was repeated");
    if (!repeats_bits(answer)) return;
    demand(!alone_.empty() || hashes.size() == 1, "not the same result each time: {}",
           hashes.dump());
    for (std::size_t i = 0; i < alone_.size(); ++i) {
      const Json &alone = result_of(answer, alone_[i])["hashes"], &together = result["each"][i];
      demand(alone != Json(nullptr) && alone.size() == 1 && together.size() == 1 &&
                 alone.begin().key() == together.begin().key(),
             "thread {}, while the others make other calls: {}; alone: {}", i, together.dump(),
             alone.dump());
    }
  }

  std::vector<Problem> others_;
  std::vector<std::size_t> alone_;
  std::size_t first_ = 0, repeat_ = 0;
  std::vector<std::size_t> values_;
};

}  // namespace

std::unique_ptr<Trial> make_repeat_trial(const Case& one, const Subject& subject) {
  if (one.lane != Lane::core) refuse_case(one, "only the core lane repeats calls");
  return std::make_unique<RepeatTrial>(one, subject);
}

}  // namespace bp::conform
