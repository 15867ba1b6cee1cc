// A kernel called as the core calls it, with nothing of the core between.
#include <algorithm>
#include <fmt/format.h>

#include "cases/kernels.hpp"
#include "inputs/problem.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

constexpr int first_direct_output = 100;
constexpr int direct_stream = 300;

class DirectTrial : public RowTrial {
 public:
  DirectTrial(const Case& one, const Subject& subject) : RowTrial(one, subject) {
    if (!make_direct_call(one, problem_, subject, call_))
      refuse_case(one, "no kernel that the plugin declares gets this call");
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      objects_.push_back(call_.in_place_of >= 0 ? call_.in_place_of
                                                : object_at(first_direct_output, i));
  }

  Json script(int index) override {
    Json script = new_script(one_, index);
    reads_.clear();
    for (std::size_t i = 0; i < call_.problem.tensors.size(); ++i)
      add_memory(script["steps"], call_.problem.tensors[i], object_at(0, i), true);
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      if (call_.in_place_of < 0 && !call_.is_allocated_by_kernel())
        add_memory(script["steps"], call_.outputs[i], objects_[i], false);
    if (uses_stream()) add_step(script, {{"do", "stream"}, {"object", direct_stream}});
    Json step = call_step(call_.problem, call_.outputs, objects_);
    if (uses_stream()) step["stream"] = direct_stream;
    if (const int kernel = place_of_kernel(one_, subject_); kernel >= 0) step["kernel"] = kernel;
    if (one_.form == "recycled")
      add_step(script, step);  // into the same memory, which then is not poison any more
    call_at_ = add_step(script, std::move(step));
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) add_reads(script, i);
    return script;
  }

  bool asks_again(const std::vector<Json>& answers) override {
    return answers.size() > 1 && code_of(result_of(answers[0], call_at_)) == BP_OK &&
           repeats_bits(answers) && !agree(answers[0], answers[1]);
  }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rung = "native";
    for (std::size_t run = 0; run < std::min<std::size_t>(answers.size(), 2); ++run)
      judge_run(verdict, answers[run], run);
    if (verdict.outcome == Outcome::pass && asks_again(answers))
      fail_with(verdict, disagreement(answers.size() > 2 && !agree(answers[1], answers[2])));
    verdict.hash = hash_of(first_);
    return verdict;
  }

 private:
  // An output's elements; empty if it could not be read.
  Bytes elements_of(const Json& answer, std::size_t i) const {
    Laid seen = call_.outputs[i];
    Bytes all;
    for (const std::size_t read : reads_[i])
      if (const Bytes* bytes = bytes_of(result_of(answer, read)))
        all.insert(all.end(), bytes->begin(), bytes->end());
    if (all.size() != seen.storage.size()) return {};
    seen.storage = std::move(all);
    return packed_elements(seen);
  }
  bool agree(const Json& one, const Json& other) const {
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

  void judge_run(Verdict& verdict, const Json& answer, std::size_t run) {
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
    Laid seen = call_.outputs[i];
    Bytes all;
    for (const std::size_t read : reads_[i]) {
      const Bytes* bytes = bytes_of(result_of(answer, read));
      if (!bytes)
        return fail_with(verdict, "output {} cannot be read: {}", i,
                         message_of(result_of(answer, read)));
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    if (all.size() != seen.storage.size())
      return fail_with(verdict, "output {} has {} bytes, expected {}", i, all.size(),
                       seen.storage.size());
    seen.storage = std::move(all);
    const Bytes elements = packed_elements(seen);
    if (run != 0) return;
    first_.push_back(elements);
    judge_result(verdict, elements, expected_.results[i], fmt::format("output {}", i));
  }

  DirectProblem call_;
  std::vector<int> objects_;  // of the outputs
  std::size_t call_at_ = 0;
  std::vector<std::vector<std::size_t>> reads_;
  std::vector<Bytes> first_;
};

}  // namespace

std::unique_ptr<Trial> make_direct_trial(const Case& one, const Subject& subject) {
  return std::make_unique<DirectTrial>(one, subject);
}

}  // namespace bp::conform
