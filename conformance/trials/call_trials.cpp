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

 protected:
  virtual bool may_differ_wrongly(const Json& answer) const = 0;
  // Do two runs give the same values?
  virtual bool agree(const Json& one, const Json& other) const = 0;

  void conclude(Verdict& verdict, const std::vector<Json>& answers) override {
    if (verdict.outcome == Outcome::pass && asks_again(answers))
      fail_with(verdict, disagreement(answers.size() > 2 && !agree(answers[1], answers[2])));
    RowTrial::conclude(verdict, answers);
  }
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
      for (const int object : written_tensors())  // which that call has moved on
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
    for (const int object : written_tensors())
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

  // Running statistics, or all tensors of a list.
  std::vector<int> written_tensors() const override {
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

  static unsigned char poison_of(const Laid& given, std::size_t run) {
    return static_cast<unsigned char>(given.dtype == boolean ? static_cast<int>(run)
                                                             : poisons[run]);
  }
  // Outputs that are there already, full of poison, with gaps.
  void add_given(Json& script, int index) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      given_[i].storage.assign(given_[i].storage.size(),
                               poison_of(given_[i], static_cast<std::size_t>(index)));
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
    const Json& row = result_of(answer, steps_.row);
    if (!expected_.error.empty()) {
      verdict.rule = "an error that names " + expected_.error;
      return demand(code_of(row) != BP_OK, "it gives a result; expected an error that names '{}'",
                    expected_.error);
    }
    if (!has_succeeded(verdict, row)) return;
    demand(expected_.results.size() == num_results(),
           "the suite expects {} results, the row has {}", expected_.results.size(), num_results());
    check_kinds(row);
    for (std::size_t i = 0; i < num_results() && verdict.outcome == Outcome::pass; ++i)
      judge_one(verdict, answer, run, i);
    for (std::size_t i = 0; i < steps_.storages.size() && verdict.outcome == Outcome::pass; ++i)
      check_gaps(answer, run, i);
    for (std::size_t i = 0; i < steps_.running.size() && verdict.outcome == Outcome::pass; ++i)
      judge_running(verdict, answer, i);
  }

  // What the call brings up to date, or leaves as it was; and what lies between the elements.
  void judge_running(Verdict& verdict, const Json& answer, std::size_t i) const {
    const int tensor = written_tensors()[i];
    Laid before = problem_.tensors[static_cast<std::size_t>(tensor)], after = before;
    const Bytes* bytes = bytes_of(result_of(answer, steps_.running[i]));
    demand(bytes && bytes->size() >= before.storage.size(),
           "tensor {} cannot be read after the call", tensor);
    after.storage.assign(bytes->begin(),
                         bytes->begin() + static_cast<std::ptrdiff_t>(before.storage.size()));
    const Bytes elements = packed_elements(after);
    const auto written = std::ranges::find(expected_.written, static_cast<std::size_t>(tensor),
                                           &WrittenTensor::tensor);
    if (written == expected_.written.end()) {
      demand(elements == packed_elements(before),
             "tensor {} was changed, which this call only reads", tensor);
    } else {
      const std::string rule = verdict.rule;
      judge_result(verdict, elements, written->after,
                   fmt::format("what the call left in tensor {}", tensor));
      verdict.rule = rule;
    }
    const std::size_t size = itemsize(before.dtype);
    for_each_element(before, [&](std::int64_t k, unsigned char* at) {
      std::copy_n(elements.begin() + k * static_cast<std::ptrdiff_t>(size), size, at);
    });
    demand(before.storage == after.storage,
           "memory of tensor {}, between its elements, was written", tensor);
  }

  // Of results that the call made.
  void check_kinds(const Json& row) const {
    if (one_.form == "out" || one_.form == "in_place") return;
    const Json shapes = row.value("shapes", Json::array()),
               dtypes = row.value("dtypes", Json::array());
    for (std::size_t i = 0; i < num_results(); ++i) {
      const ExpectedTensor& expected = expected_.results[i];
      demand(shapes.size() > i && dtypes.size() > i, "it gives no result {}", i);
      demand(shapes[i] == Json(expected.shape), "result {} has shape {}, expected {}", i,
             shapes[i].dump(), Json(expected.shape).dump());
      const std::string dtype = dtypes[i].get<std::string>();
      demand(dtype_from_name(dtype) == expected.dtype, "result {} is {}, expected {}", i, dtype,
             short_name(expected.dtype));
    }
  }

  void judge_one(Verdict& verdict, const Json& answer, std::size_t run, std::size_t i) {
    const std::string what = fmt::format("result {}", i);
    const Bytes& bytes = read_of(answer, steps_.values[i], what);
    if (run != 0) return;
    seen_.push_back(bytes);
    judge_result(verdict, bytes, expected_.results[i], what);
    if (verdict.outcome == Outcome::pass && is_unvaried(one_, problem_, expected_.results[i])) {
      verdict.outcome = Outcome::mistrusted;
      verdict.why = "all elements of the result are alike: another input would prove more";
    }
  }

  bool agree(const Json& one, const Json& other) const override {
    return std::ranges::all_of(steps_.values, [&](std::size_t step) {
      const Bytes *a = bytes_of(result_of(one, step)), *b = bytes_of(result_of(other, step));
      return !a || !b || *a == *b;
    });
  }

  // What lies between the elements of a given output is still there.
  void check_gaps(const Json& answer, std::size_t run, std::size_t i) const {
    const Bytes* bytes = bytes_of(result_of(answer, steps_.storages[i]));
    demand(bytes && bytes->size() >= given_[i].storage.size(),
           "the output's memory cannot be read");
    const unsigned char poison = poison_of(given_[i], run);
    Laid seen = given_[i];
    seen.storage = *bytes;
    for_each_element(seen, [&](std::int64_t, unsigned char* at) {
      std::fill_n(at, itemsize(seen.dtype), poison);
    });
    for (std::size_t at = 0; at < given_[i].storage.size(); ++at)
      demand(seen.storage[at] == poison,
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

  // An output's elements; throws Wrong if it could not be read.
  Bytes elements_of(const Json& answer, std::size_t i) const {
    Laid seen = call_.outputs[i];
    Bytes all;
    for (const std::size_t read : reads_[i]) {
      const Bytes* bytes = bytes_of(result_of(answer, read));
      demand(bytes != nullptr, "output {} cannot be read: {}", i,
             message_of(result_of(answer, read)));
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    demand(all.size() == seen.storage.size(), "output {} has {} bytes, expected {}", i, all.size(),
           seen.storage.size());
    seen.storage = std::move(all);
    return packed_elements(seen);
  }
  Bytes elements_or_none(const Json& answer, std::size_t i) const try {
    return elements_of(answer, i);
  } catch (const Wrong&) {
    return {};
  }
  bool agree(const Json& one, const Json& other) const override {
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      if (elements_or_none(one, i) != elements_or_none(other, i)) return false;
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
    const Json& result = result_of(answer, call_at_);
    if (code_of(result) == BP_UNSUPPORTED && result.value("kernel", -1) < 0) {
      verdict.rule = "declined by supports";  // as a kernel may: the call goes another way
      return;
    }
    demand(code_of(result) != BP_UNSUPPORTED,
           "declares that it takes the call, and then says that it cannot (UNSUPPORTED): declare "
           "less, or give it a `supports`");
    has_succeeded(verdict, result);
    demand(result.value("fault", std::uint64_t{0}) == 0, "reports a bad index among good ones");
    demand(expected_.results.size() >= call_.outputs.size(),
           "the suite expects fewer results than the row has");
    if (call_.is_allocated_by_kernel()) check_shapes(result);
    for (std::size_t i = 0; i < call_.outputs.size() && verdict.outcome == Outcome::pass; ++i) {
      const Bytes elements = elements_of(answer, i);
      if (run != 0) continue;
      seen_.push_back(elements);
      judge_result(verdict, elements, expected_.results[i], fmt::format("output {}", i));
    }
  }

  // Of outputs that the kernel allocated.
  void check_shapes(const Json& result) const {
    const Json outputs = result.value("outputs", Json::array());
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const Json wanted = expected_.results[i].shape,
                 found = outputs.size() > i ? outputs[i].value("shape", Json()) : Json();
      demand(found == wanted, "output {} was allocated with shape {}, expected {}", i, found.dump(),
             wanted.dump());
    }
  }

  DirectProblem call_;
  std::vector<int> objects_;  // of the outputs
  std::size_t call_at_ = 0;
  std::vector<std::vector<std::size_t>> reads_;
};

}  // namespace

std::unique_ptr<Trial> make_call_trial(const Case& one, const Subject& subject) {
  if (one.lane == Lane::direct) return std::make_unique<DirectTrial>(one, subject);
  return std::make_unique<CoreTrial>(one, subject);
}

}  // namespace bp::conform
