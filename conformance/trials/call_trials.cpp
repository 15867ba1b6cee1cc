// A row called as an application calls it, or its kernel as the core calls that, with nothing of the core between: twice with
// different poison, against what the oracle says.
#include <algorithm>
#include <fmt/format.h>

#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/shape.hpp>

#include "cases/kernels.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

constexpr int first_given = 100;  // objects: outputs that the call writes into
constexpr int stream_object = 300;

// What both lanes share: two runs that must agree, of which the first one's results are judged.
class CallTrial : public RowTrial {
 public:
  using RowTrial::RowTrial;

  bool asks_again(const std::vector<Json>& answers) override {
    return answers.size() > 1 && may_differ_wrongly(answers[0]) && repeats_bits(answers) &&
           !agree(answers[0], answers[1]);
  }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rung = rung_of(answers.at(0));
    for (std::size_t run = 0; run < std::min<std::size_t>(answers.size(), 2); ++run)
      judge_run(verdict, answers[run], run);
    if (verdict.outcome == Outcome::pass && asks_again(answers))
      fail_with(verdict, disagreement(answers.size() > 2 && !agree(answers[1], answers[2])));
    verdict.hash = hash_of(first_);
    return verdict;
  }

 protected:
  virtual bool may_differ_wrongly(const Json& answer) const = 0;
  virtual std::string rung_of(const Json& answer) const = 0;
  // Do two runs give the same values?
  virtual bool agree(const Json& one, const Json& other) const = 0;
  virtual void judge_run(Verdict& verdict, const Json& answer, std::size_t run) = 0;

  std::vector<Bytes> first_;  // what the first run gave
};

// ---- Through the core

class CoreTrial : public CallTrial {
 public:
  CoreTrial(const Case& one, const Subject& subject) : CallTrial(one, subject) {
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
          if (std::ranges::find(objects, tensor) == objects.end()) objects.push_back(tensor);
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

  bool may_differ_wrongly(const Json&) const override {
    return !has_trait(one_.op, Trait::undetermined);
  }
  std::string rung_of(const Json& answer) const override {
    return served_rung(result_of(answer, steps_.row), one_.op);
  }

  void judge_run(Verdict& verdict, const Json& answer, std::size_t run) override {
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
    const auto written = std::ranges::find_if(expected_.written, [&](const WrittenTensor& each) {
      return each.tensor == static_cast<std::size_t>(tensor);
    });
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

  bool agree(const Json& one, const Json& other) const override {
    return std::ranges::all_of(steps_.values, [&](std::size_t step) {
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
};

// ---- A kernel

class DirectTrial : public CallTrial {
 public:
  DirectTrial(const Case& one, const Subject& subject) : CallTrial(one, subject) {
    if (!make_direct_call(one, problem_, subject, call_))
      refuse_case(one, "no kernel that the plugin declares gets this call");
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      objects_.push_back(call_.in_place_of >= 0 ? call_.in_place_of : object_at(first_given, i));
  }

  Json script(int index) override {
    Json script = new_script(one_, index);
    reads_.clear();
    for (std::size_t i = 0; i < call_.problem.tensors.size(); ++i)
      add_memory(script["steps"], call_.problem.tensors[i], object_at(0, i), true);
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      if (call_.in_place_of < 0 && !call_.is_allocated_by_kernel())
        add_memory(script["steps"], call_.outputs[i], objects_[i], false);
    if (uses_stream()) add_step(script, {{"do", "stream"}, {"object", stream_object}});
    Json step = call_step(call_.problem, call_.outputs, objects_);
    if (uses_stream()) step["stream"] = stream_object;
    if (const int kernel = place_of_kernel(one_, subject_); kernel >= 0) step["kernel"] = kernel;
    if (one_.form == "recycled")
      add_step(script, step);  // into the same memory, which then is not poison any more
    call_at_ = add_step(script, std::move(step));
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) add_reads(script, i);
    return script;
  }

 private:
  bool may_differ_wrongly(const Json& answer) const override {
    return code_of(result_of(answer, call_at_)) == BP_OK;
  }
  std::string rung_of(const Json&) const override { return "native"; }

  // An output's elements; empty, and why, if it could not be read.
  Bytes elements_of(const Json& answer, std::size_t i, std::string* why = nullptr) const {
    std::string ignored, &problem = why ? *why : ignored;
    Laid seen = call_.outputs[i];
    Bytes all;
    for (const std::size_t read : reads_[i]) {
      const Bytes* bytes = bytes_of(result_of(answer, read));
      if (!bytes)
        return problem = "cannot be read: " + message_of(result_of(answer, read)), Bytes();
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    if (all.size() != seen.storage.size())
      return problem = fmt::format("has {} bytes, expected {}", all.size(), seen.storage.size()),
             Bytes();
    seen.storage = std::move(all);
    return packed_elements(seen);
  }
  bool agree(const Json& one, const Json& other) const override {
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      if (elements_of(one, i) != elements_of(other, i)) return false;
    return true;
  }

  // All of the output's memory, or of a sparse one each element.
  void add_reads(Json& script, std::size_t i) {
    const Laid& laid = call_.outputs[i];
    std::vector<std::size_t>& reads = reads_.emplace_back();
    if (!laid.sparse_bytes) {
      const std::uint64_t count = laid.storage.size();
      if (count != 0) reads.push_back(add_step(script, read_step(objects_[i], 0, count)));
      return;
    }
    for (const std::uint64_t offset : sparse_offsets(laid))
      reads.push_back(add_step(script, read_step(objects_[i], offset, itemsize(laid.dtype))));
  }

  void judge_run(Verdict& verdict, const Json& answer, std::size_t run) override {
    if (verdict.outcome != Outcome::pass) return;
    if (const std::string complaint = complaint_of(answer); !complaint.empty())
      return fail_with(verdict, complaint);
    const Json& result = result_of(answer, call_at_);
    if (code_of(result) == BP_UNSUPPORTED && result.value("kernel", -1) < 0) {
      verdict.rule = "declined by supports";  // as a kernel may: the call goes another way
      return;
    }
    if (code_of(result) == BP_UNSUPPORTED)
      return fail_with(verdict,
                       "declares that it takes the call, and then says that it cannot "
                       "(UNSUPPORTED): declare less, or give it a `supports`");
    if (!has_succeeded(verdict, result)) return;
    if (result.value("fault", std::uint64_t{0}) != 0)
      return fail_with(verdict, "reports a bad index among good ones");
    if (expected_.results.size() < call_.outputs.size())
      return fail_with(verdict, "the suite expects fewer results than the row has");
    if (call_.is_allocated_by_kernel()) check_shapes(verdict, result);
    for (std::size_t i = 0; i < call_.outputs.size() && verdict.outcome == Outcome::pass; ++i)
      judge_output(verdict, answer, run, i);
  }

  // Of outputs that the kernel allocated.
  void check_shapes(Verdict& verdict, const Json& result) const {
    const auto outputs = result.find("outputs");
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const Json wanted = expected_.results[i].shape;
      const Json found = outputs != result.end() && outputs->size() > i
                             ? (*outputs)[i].value("shape", Json())
                             : Json();
      if (found != wanted)
        fail_with(verdict, "output {} was allocated with shape {}, expected {}", i, found.dump(),
                  wanted.dump());
    }
  }

  void judge_output(Verdict& verdict, const Json& answer, std::size_t run, std::size_t i) {
    std::string why;
    const Bytes elements = elements_of(answer, i, &why);
    if (!why.empty()) return fail_with(verdict, "output {} {}", i, why);
    if (run != 0) return;
    first_.push_back(elements);
    judge_result(verdict, elements, expected_.results[i], fmt::format("output {}", i));
  }

  DirectProblem call_;
  std::vector<int> objects_;  // of the outputs
  std::size_t call_at_ = 0;
  std::vector<std::vector<std::size_t>> reads_;
};

}  // namespace

std::unique_ptr<Trial> make_core_trial(const Case& one, const Subject& subject) {
  return std::make_unique<CoreTrial>(one, subject);
}

std::unique_ptr<Trial> make_direct_trial(const Case& one, const Subject& subject) {
  return std::make_unique<DirectTrial>(one, subject);
}

}  // namespace bp::conform
