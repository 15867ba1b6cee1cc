// Calls that must be refused: with the right class of error and a sentence that names the operator, once, with outputs
// untouched, and a device that still answers.

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/shape.hpp>

#include "cases/kernels.hpp"
#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "trials/trial.hpp"

namespace bp::conform {
namespace {

constexpr int refused_output = 100;

bool is_bad_index(const Case& one) {
  return holds_bad_index(one.values);
}

class RefusalTrial : public RowTrial {
 public:
  RefusalTrial(const Case& one, const Subject& subject) : RowTrial(one, subject) {
    try {
      find_outputs(problem_);
    } catch (const Error&) {
      // The rule refuses the call itself, and not only its values.
    }
    if (one.lane != Lane::direct) return;
    Case plain = one;
    plain.form = "call";
    if (!is_bad_index(one) || !make_direct_call(plain, problem_, subject, call_))
      refuse_case(one, "kernels are asked for bad indices alone");
  }

  void prepare() override {}  // nothing but a refusal is expected

  Json script(int index) override {
    Json script = new_script(one_, index);
    one_.lane == Lane::direct ? add_direct(script) : add_core(script);
    alive_ = add_step(script, {{"do", "alive"}});
    return script;
  }

 private:
  bool writes_into_itself() const {
    return is_read_only_layout(std::string_view(one_.layouts).substr(0, one_.layouts.find('.')));
  }

  void add_core(Json& script) {
    add_tensors(script);
    Json row = row_step(problem_, first_result);
    row["undefined"] = is_bad_index(one_);
    if (writes_into_itself()) {
      row["into"] = {0};
      row["in_place"] = true;
    } else if (!problem_.outputs.empty()) {
      row["into"] = Json::array();
      for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
        const int object = object_at(refused_output, i);
        const OutputSpec& spec = problem_.outputs[i];
        add_step(script, tensor_step(lay_out(spec.dtype, IntList(spec.shape).to_vector(), "plain",
                                             one_.seed),
                                     object, false));
        row["into"].push_back(object);
      }
    }
    call_at_ = add_step(script, std::move(row));
    add_step(script, {{"do", "synchronize"}});
  }

  void add_direct(Json& script) {
    for (std::size_t i = 0; i < call_.problem.tensors.size(); ++i)
      add_memory(script["steps"], call_.problem.tensors[i], object_at(0, i), true);
    std::vector<int> objects;
    for (const Laid& output : call_.outputs) {
      objects.push_back(object_at(refused_output, objects.size()));
      add_memory(script["steps"], output, objects.back(), false);
    }
    call_at_ = add_step(script, call_step(call_.problem, call_.outputs, objects));
  }

  void judge_run(Verdict& verdict, const Json& answer, std::size_t) override {
    const Json& result = result_of(answer, call_at_);
    const int code = code_of(result);
    const bool is_direct = one_.lane == Lane::direct;
    const bool told_by_word = is_direct && result.value("fault", std::uint64_t{0}) != 0;
    verdict.rule = "a refusal that names the operator";
    if (is_direct && code == BP_UNSUPPORTED && result.value("kernel", -1) < 0) {
      verdict.rule = "declined by supports";
    } else {
      demand(code != BP_OK || told_by_word, "{}",
             is_bad_index(one_) ? "takes an index that is out of range"
                                : "takes a call that makes no sense");
      demand(code == BP_OK || code == BP_BAD_ARGUMENT, "error {}, expected {} (bad argument): {}",
             code, BP_BAD_ARGUMENT, message_of(result));
      demand(code == BP_OK || !message_of(result).empty(), "the error has no message");
      demand(code == BP_OK || !told_by_word,
             "the error is told twice: by the code and by the fault word");
      const Json& next = result_of(answer, call_at_ + 1);
      demand(is_direct || code_of(next) == BP_OK,
             "the error comes again at the next synchronize: {}", message_of(next));
    }
    const Json& alive = result_of(answer, alive_);
    demand(code_of(alive) == BP_OK, "the device no longer answers: {}", message_of(alive));
  }
  void conclude(Verdict&, const std::vector<Json>&) override {}  // no values are given

  DirectProblem call_;
  std::size_t call_at_ = 0, alive_ = 0;
};

}  // namespace

std::unique_ptr<Trial> make_refusal_trial(const Case& one, const Subject& subject) {
  return std::make_unique<RefusalTrial>(one, subject);
}

}  // namespace bp::conform
