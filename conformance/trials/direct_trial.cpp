// A kernel called as the core calls it, with nothing of the core between.
#include <fmt/format.h>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/shape.hpp>

#include "cases/kernels.hpp"
#include "inputs/element.hpp"
#include "inputs/layouts.hpp"
#include "trials/answers.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

constexpr int first_direct_output = 100;
constexpr int direct_stream = 300;

std::uint64_t bytes_behind(const Laid& laid) {
  return laid.sparse_bytes ? laid.sparse_bytes : laid.storage.size();
}

class DirectTrial : public Trial {
 public:
  DirectTrial(const Case& one, const Subject& subject)
      : one_(one), subject_(subject), asked_(make_problem(one)) {
    if (!make_direct_call(one, asked_, subject, call_))
      throw_error(ErrorClass::bad_argument,
                  "case '" + name_of(one) + "': no kernel that the plugin declares gets this call");
  }

  Json script(int index) override {
    Json script = new_script(one_, index);
    reads_.clear();
    for (std::size_t i = 0; i < call_.problem.tensors.size(); ++i)
      add_memory(script, call_.problem.tensors[i], static_cast<int>(i));
    for (std::size_t i = 0; i < call_.outputs.size(); ++i)
      if (call_.in_place_of < 0 && !call_.is_allocated_by_kernel()) {
        const std::uint64_t bytes = bytes_behind(call_.outputs[i]);
        add_step(script, {{"do", "allocate"},
                          {"object", output_object(i)},
                          {"bytes", bytes},
                          {"alignment", 64}});
        if (call_.outputs[i].sparse_bytes) script["steps"].back()["sparse"] = true;
      }
    if (uses_stream()) add_step(script, {{"do", "stream"}, {"object", direct_stream}});
    Json step = call_step();
    if (one_.form == "recycled")
      add_step(script, step);  // into the same memory, which then is no poison any more
    call_at_ = add_step(script, std::move(step));
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) add_reads(script, i);
    return script;
  }

  void prepare() override { expected_ = expect_call(asked_, one_, subject_.numerics, false); }

  Verdict judge(const std::vector<Json>& answers) override {
    Verdict verdict;
    verdict.rung = "native";
    for (std::size_t run = 0; run < answers.size(); ++run) judge_run(verdict, answers[run], run);
    verdict.hash = hash_of(first_);
    return verdict;
  }

 private:
  bool uses_stream() const { return one_.form == "stream" && subject_.has_streams; }
  int output_object(std::size_t i) const {
    return call_.in_place_of >= 0 ? call_.in_place_of : first_direct_output + static_cast<int>(i);
  }

  static void add_memory(Json& script, const Laid& laid, int object) {
    Json step = {
        {"do", "allocate"}, {"object", object}, {"bytes", bytes_behind(laid)}, {"alignment", 64}};
    if (!laid.sparse_bytes) {
      add_step(script, std::move(step));
      add_step(script, {{"do", "write"},
                        {"object", object},
                        {"offset", 0},
                        {"bytes", Json::binary(laid.storage)}});
      return;
    }
    step["sparse"] = true;
    add_step(script, std::move(step));
    const std::vector<std::uint64_t> offsets = sparse_offsets(laid);
    const std::size_t size = itemsize(laid.dtype);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto from = laid.storage.begin() + static_cast<std::ptrdiff_t>(i * size);
      add_step(script, {{"do", "write"},
                        {"object", object},
                        {"offset", offsets[i]},
                        {"bytes", Json::binary({from, from + static_cast<std::ptrdiff_t>(size)})}});
    }
  }

  Json call_step() const {
    Json step = {{"do", "call"},
                 {"op", one_.op},
                 {"args", direct_arguments(call_.problem, 0)},
                 {"outputs", Json::array()},
                 {"synchronize", true}};
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const Laid& laid = call_.outputs[i];
      step["outputs"].push_back(
          {{"object", output_object(i)},
           {"offset", static_cast<std::uint64_t>(laid.offset) * itemsize(laid.dtype)},
           {"dtype", short_name(laid.dtype)},
           {"shape", laid.shape},
           {"strides", laid.strides}});
    }
    if (uses_stream()) step["stream"] = direct_stream;
    if (const int kernel = place_of_kernel(one_, subject_); kernel >= 0) step["kernel"] = kernel;
    return step;
  }

  // All of the output's memory, or of a sparse one each element.
  void add_reads(Json& script, std::size_t i) {
    const Laid& laid = call_.outputs[i];
    std::vector<std::size_t>& reads = reads_.emplace_back();
    if (!laid.sparse_bytes) {
      const std::uint64_t count = laid.storage.size();
      if (count != 0)
        reads.push_back(add_step(
            script,
            {{"do", "read"}, {"object", output_object(i)}, {"offset", 0}, {"count", count}}));
      return;
    }
    for (const std::uint64_t offset : sparse_offsets(laid))
      reads.push_back(add_step(script, {{"do", "read"},
                                        {"object", output_object(i)},
                                        {"offset", offset},
                                        {"count", itemsize(laid.dtype)}}));
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
    if (code_of(result) != BP_OK)
      return fail_with(verdict, fmt::format("error {}: {}", code_of(result), message_of(result)));
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
        fail_with(verdict, fmt::format("output {} was allocated with shape {}, expected {}", i,
                                       found.dump(), wanted.dump()));
    }
  }

  void judge_output(Verdict& verdict, const Json& answer, std::size_t run, std::size_t i) {
    Laid seen = call_.outputs[i];
    std::vector<unsigned char> all;
    for (const std::size_t read : reads_[i]) {
      const std::vector<unsigned char>* bytes = bytes_of(result_of(answer, read));
      if (!bytes)
        return fail_with(verdict, fmt::format("output {} cannot be read: {}", i,
                                              message_of(result_of(answer, read))));
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    if (all.size() != seen.storage.size())
      return fail_with(verdict, fmt::format("output {} has {} bytes, expected {}", i, all.size(),
                                            seen.storage.size()));
    seen.storage = std::move(all);
    const std::vector<unsigned char> elements = packed_elements(seen);
    if (run != 0) {
      if (first_[i] != elements && subject_.repeats_bits(one_.op))
        fail_with(verdict, fmt::format("two runs give different outputs {}: reads memory that "
                                       "nobody wrote, or leaves elements unwritten",
                                       i));
      return;
    }
    first_.push_back(elements);
    judge_result(verdict, elements, expected_.results[i], fmt::format("output {}", i));
  }

  Case one_;
  const Subject& subject_;
  Problem asked_;
  DirectProblem call_;
  Expected expected_;
  std::size_t call_at_ = 0;
  std::vector<std::vector<std::size_t>> reads_;
  std::vector<std::vector<unsigned char>> first_;
};

}  // namespace

std::unique_ptr<Trial> make_direct_trial(const Case& one, const Subject& subject) {
  return std::make_unique<DirectTrial>(one, subject);
}

}  // namespace bp::conform
