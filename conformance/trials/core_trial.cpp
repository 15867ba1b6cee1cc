// A row called as an application calls it, twice with different poison, against what the oracle says.
#include <algorithm>
#include <fmt/format.h>

#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/shape.hpp>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

constexpr int first_given = 100;  // objects: outputs that the call writes into
constexpr int stream_object = 300;

class CoreTrial : public RowTrial {
 public:
  CoreTrial(const Case& one, const Subject& subject) : RowTrial(one, subject) {
    const bool writes = one.form == "out" || one.form == "in_place";
    if (writes && problem_.outputs.empty())
      refuse_case(one, "the row cannot write into a given tensor");
    if (one.form != "out") return;
    for (const OutputSpec& spec : problem_.outputs)
      given_.push_back(lay_out(spec.dtype, IntList(spec.shape).to_vector(), "step2", one.seed));
  }

  Json script(int index) override {
    Json script = new_script(one_, index);
    steps_ = {};
    add_tensors(script);
    if (one_.form == "recycled") {
      add_call_and_release(script);
      for (const int object : written_arguments())  // which that call has moved on
        add_step(script,
                 tensor_step(problem_.tensors[static_cast<std::size_t>(object)], object, false));
    }
    if (problem_.op->draws != Draws::never) add_step(script, {{"do", "host"}, {"seed", one_.seed}});
    add_given(script, index);
    Json row = own_row_step();
    if (uses_stream()) {
      add_step(script, {{"do", "stream"}, {"object", stream_object}});
      row["stream"] = stream_object;
    }
    steps_.row = add_step(script, std::move(row));
    if (uses_stream()) add_step(script, {{"do", "synchronize"}, {"stream", stream_object}});
    for (std::size_t i = 0; i < num_results(); ++i) {
      const int object = result_object(i);
      steps_.values.push_back(add_step(script, {{"do", "values"}, {"object", object}}));
      if (!given_.empty())
        steps_.storages.push_back(add_step(script, {{"do", "storage"}, {"object", object}}));
    }
    for (const int object : written_arguments())
      steps_.running.push_back(add_step(script, {{"do", "storage"}, {"object", object}}));
    return script;
  }

  bool asks_again(const std::vector<Json>& answers) override {
    return answers.size() > 1 && !has_trait(one_.op, Trait::undetermined) &&
           repeats_bits(answers) && !agree(answers[0], answers[1]);
  }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rung = served_rung(result_of(answers.at(0), steps_.row), one_.op);
    for (std::size_t run = 0; run < std::min<std::size_t>(answers.size(), 2); ++run)
      judge_run(verdict, answers[run], run);
    if (verdict.outcome == Outcome::pass && asks_again(answers))
      fail_with(verdict, disagreement(answers.size() > 2 && !agree(answers[1], answers[2])));
    verdict.hash = hash_of(first_);
    return verdict;
  }

 private:
  struct Steps {
    std::size_t row = 0;
    std::vector<std::size_t> values, storages, running;
  };

  int result_object(std::size_t i) const {
    if (one_.form == "in_place" && i == 0) return problem_.arguments[0].tensors[0];
    return object_at(given_.empty() ? first_result : first_given, i);
  }

  // What the call writes into: running statistics, or all tensors of a list.
  std::vector<int> written_arguments() const {
    std::vector<int> objects;
    for (std::size_t i = 0; i < problem_.arguments.size(); ++i)
      if (problem_.op->mutates >> i & 1u)
        for (const int tensor : problem_.arguments[i].tensors)
          if (std::find(objects.begin(), objects.end(), tensor) == objects.end())
            objects.push_back(tensor);
    return objects;
  }

  // Memory that a call before has used, and left full of its own numbers.
  void add_call_and_release(Json& script) const {
    add_step(script, {{"do", "host"}, {"recycle", true}});
    add_step(script, own_row_step());
    for (std::size_t i = 0; i < num_results(); ++i)
      add_step(script, {{"do", "release"}, {"object", object_at(first_result, i)}});
  }

  // Outputs that are there already, full of poison, with gaps.
  void add_given(Json& script, int index) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const auto poison =
          static_cast<unsigned char>(given_[i].dtype == boolean ? index : poisons[index]);
      given_[i].storage.assign(given_[i].storage.size(), poison);
      add_step(script, tensor_step(given_[i], object_at(first_given, i), false));
    }
  }

  Json own_row_step() const {
    Json row = row_step(problem_, first_result);
    if (one_.form != "out" && one_.form != "in_place") return row;
    row["into"] = Json::array();
    for (std::size_t i = 0; i < num_results(); ++i) row["into"].push_back(result_object(i));
    if (one_.form == "in_place") row["in_place"] = true;
    return row;
  }

  void judge_run(Verdict& verdict, const Json& answer, std::size_t run) {
    if (const std::string complaint = complaint_of(answer, written_arguments()); !complaint.empty())
      return fail_with(verdict, complaint);
    const Json& row = result_of(answer, steps_.row);
    if (!expected_.error.empty()) return judge_error(verdict, row);
    if (!has_succeeded(verdict, row)) return;
    if (expected_.results.size() != num_results())
      return fail_with(verdict, "the suite expects {} results, the row has {}",
                       expected_.results.size(), num_results());
    check_kinds(verdict, row);
    for (std::size_t i = 0; i < num_results() && verdict.outcome == Outcome::pass; ++i)
      judge_one(verdict, answer, run, i);
    for (std::size_t i = 0; i < steps_.storages.size() && verdict.outcome == Outcome::pass; ++i)
      judge_gaps(verdict, answer, run, i);
    for (std::size_t i = 0; i < steps_.running.size() && verdict.outcome == Outcome::pass; ++i)
      judge_running(verdict, answer, i);
  }

  // What the call brings up to date, or leaves as it was; and what lies between the elements.
  void judge_running(Verdict& verdict, const Json& answer, std::size_t i) const {
    const int tensor = written_arguments()[i];
    Laid before = problem_.tensors[static_cast<std::size_t>(tensor)], after = before;
    const Bytes* bytes = bytes_of(result_of(answer, steps_.running[i]));
    if (!bytes || bytes->size() < before.storage.size())
      return fail_with(verdict, "tensor {} cannot be read after the call", tensor);
    after.storage.assign(bytes->begin(),
                         bytes->begin() + static_cast<std::ptrdiff_t>(before.storage.size()));
    const Bytes elements = packed_elements(after);
    const auto written = std::find_if(
        expected_.written.begin(), expected_.written.end(),
        [&](const WrittenTensor& each) { return each.tensor == static_cast<std::size_t>(tensor); });
    if (written == expected_.written.end() && elements != packed_elements(before))
      fail_with(verdict, "tensor {} was changed, which this call only reads", tensor);
    if (written != expected_.written.end()) {
      const std::string rule = verdict.rule;
      judge_result(verdict, elements, written->after,
                   fmt::format("what the call left in tensor {}", tensor));
      verdict.rule = rule;
    }
    const std::size_t size = itemsize(before.dtype);
    for_each_element(before, [&](std::int64_t k, unsigned char* at) {
      std::copy_n(elements.begin() + k * static_cast<std::ptrdiff_t>(size), size, at);
    });
    if (before.storage != after.storage)
      fail_with(verdict, "memory of tensor {}, between its elements, was written", tensor);
  }

  void judge_error(Verdict& verdict, const Json& row) const {
    verdict.rule = "an error that names " + expected_.error;
    if (code_of(row) == BP_OK)
      fail_with(verdict,
                "it gives a result; expected an error that names '" + expected_.error + "'");
  }

  void check_kinds(Verdict& verdict, const Json& row) const {
    const bool has_new = one_.form != "out" && one_.form != "in_place";
    for (std::size_t i = 0; i < num_results() && has_new; ++i) {
      const ExpectedTensor& expected = expected_.results[i];
      const auto shapes = row.find("shapes"), dtypes = row.find("dtypes");
      if (shapes == row.end() || dtypes == row.end() || shapes->size() <= i || dtypes->size() <= i)
        return fail_with(verdict, "it gives no result {}", i);
      if ((*shapes)[i] != Json(expected.shape))
        return fail_with(verdict, "result {} has shape {}, expected {}", i, (*shapes)[i].dump(),
                         Json(expected.shape).dump());
      const std::string dtype = (*dtypes)[i].get<std::string>();
      Dtype found = f32;
      if (!dtype_of_short_name(dtype, found)) found = dtype_from_name(dtype);
      if (found != expected.dtype)
        return fail_with(verdict, "result {} is {}, expected {}", i, dtype,
                         short_name(expected.dtype));
    }
  }

  void judge_one(Verdict& verdict, const Json& answer, std::size_t run, std::size_t i) {
    const Json& result = result_of(answer, steps_.values[i]);
    const Bytes* bytes = bytes_of(result);
    if (!bytes) return fail_with(verdict, "result {} cannot be read: {}", i, error_of(result));
    const ExpectedTensor& expected = expected_.results[i];
    if (run == 0) {
      first_.push_back(*bytes);
      judge_result(verdict, *bytes, expected, fmt::format("result {}", i));
      if (verdict.outcome == Outcome::pass && is_unvaried(one_, problem_, expected)) {
        verdict.outcome = Outcome::mistrusted;
        verdict.why = "all elements of the result are alike: another input would prove more";
      }
    }
  }

  // Do two runs give the same values?
  bool agree(const Json& one, const Json& other) const {
    return std::all_of(steps_.values.begin(), steps_.values.end(), [&](std::size_t step) {
      const Bytes *a = bytes_of(result_of(one, step)), *b = bytes_of(result_of(other, step));
      return !a || !b || *a == *b;
    });
  }

  // What lies between the elements of a given output is still there.
  void judge_gaps(Verdict& verdict, const Json& answer, std::size_t run, std::size_t i) const {
    const Bytes* bytes = bytes_of(result_of(answer, steps_.storages[i]));
    if (!bytes || bytes->size() < given_[i].storage.size())
      return fail_with(verdict, "the output's memory cannot be read");
    const auto poison = static_cast<unsigned char>(
        given_[i].dtype == boolean ? run : static_cast<std::size_t>(poisons[run]));
    Laid seen = given_[i];
    seen.storage = *bytes;
    for_each_element(seen, [&](std::int64_t, unsigned char* at) {
      for (std::uint32_t k = 0; k < itemsize(seen.dtype); ++k) at[k] = poison;
    });
    for (std::size_t at = 0; at < given_[i].storage.size(); ++at)
      if (seen.storage[at] != poison)
        return fail_with(verdict,
                         "byte {} of the output's memory, between its elements, was written", at);
  }

  std::vector<Laid> given_;
  Steps steps_;
  std::vector<Bytes> first_;
};

}  // namespace

std::unique_ptr<Trial> make_core_trial(const Case& one, const Subject& subject) {
  return std::make_unique<CoreTrial>(one, subject);
}

}  // namespace bp::conform
