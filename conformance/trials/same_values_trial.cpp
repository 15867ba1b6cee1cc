// The same values in another layout ("layouts"), or called in other forms ("forms": on another stream, into memory that
// was given, into memory that was used before), give the same: bit for bit where nothing leaves the bits open.
#include <fmt/format.h>

#include "inputs/problem.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

constexpr int first_tensor_in_layout = 400;
constexpr int first_given_of_forms = 600;
constexpr int stream_of_forms = 700;

class SameValuesTrial : public Chain {
 public:
  SameValuesTrial(const Case& one, const Subject& subject) : Chain(one, subject) {
    // The row's own call is the plain one; then come the others.
    if (one.form != "layouts") return;
    other_ = std::move(problem_);
    Case plain = one;
    plain.layouts = one.shape.starts_with("sample:") ? "own" : "plain";
    problem_ = decisive_problem(plain, subject.numerics);
  }

 protected:
  void build(Json& script) override {
    ways_.clear();
    std::vector<int> own;
    for (std::size_t r = 0; r < num_results(); ++r) own.push_back(object_at(first_result, r));
    add_way("the plain call", own);
    if (one_.form == "layouts")
      add_layouts(script);
    else
      add_ways(script);
    for (Way& way : ways_)
      for (const int object : way.results) way.values.push_back(add_values(script, object));
  }

  void judge_values(Verdict& verdict, const Json& answer) override {
    if (!expected_.error.empty() || expected_.results.size() < num_results())
      return fail_with(verdict, "the suite expects no result of this call");
    std::string rule;
    for (std::size_t r = 0; r < num_results(); ++r) {
      const Bytes* first = nullptr;
      for (const Way& way : ways_) {
        const std::string what = fmt::format("{}, result {}", way.name, r);
        const auto* bytes = take_values(verdict, answer, way.values[r], what);
        if (!bytes || verdict.outcome != Outcome::pass) return;
        judge_result(verdict, *bytes, expected_.results[r], what);
        if (!first) first = bytes;
        if (verdict.outcome == Outcome::pass && must_agree(expected_.results[r], answer) &&
            *bytes != *first)
          fail_with(verdict, what + ": other bits than the plain call's");
        if (verdict.outcome != Outcome::pass) return;
      }
      rule += (must_agree(expected_.results[r], answer) ? "the same bits; " : "") + verdict.rule;
    }
    verdict.rule = rule;
  }

 private:
  struct Way {
    std::string name;
    std::vector<int> results;
    std::vector<std::size_t> values;
  };

  void add_way(const std::string& name, std::vector<int> results) {
    ways_.push_back({name, std::move(results), {}});
  }

  void add_layouts(Json& script) {
    std::vector<int> objects;
    for (std::size_t t = 0; t < other_.tensors.size(); ++t) {
      objects.push_back(object_at(first_tensor_in_layout, t));
      add_step(script, tensor_step(other_.tensors[t], objects.back(), false));
    }
    add_way("laid out as " + one_.layouts,
            add_call(script, one_.op, arguments_with(other_, objects), num_results()));
  }

  void add_ways(Json& script) {
    const Json arguments = core_arguments(problem_, 0);
    add_way("called again", add_call(script, one_.op, arguments, num_results()));
    if (subject_.has_streams) {
      add_step(script, {{"do", "stream"}, {"object", stream_of_forms}});
      add_way("on another stream",
              add_call(script, one_.op, arguments, num_results(), {{"stream", stream_of_forms}}));
      add_step(script, {{"do", "synchronize"}, {"stream", stream_of_forms}});
    }
    if (problem_.outputs.size() != num_results()) return;
    std::vector<int> given;
    for (const OutputSpec& spec : problem_.outputs) {
      given.push_back(object_at(first_given_of_forms, given.size()));
      const Laid laid = lay_out(spec.dtype, {spec.shape.begin(), spec.shape.end()}, "plain", 1);
      add_step(script, tensor_step(laid, given.back(), false));
    }
    // It writes what is given, and the look at inputs would call that a change.
    add_call(script, one_.op, arguments, num_results(),
             {{"into", given}, {"quiet", false}, {"synchronize", true}});
    add_way("into given memory", given);
  }

  // Other layouts may go other ways through the same sum; other calls of one layout may not, of a kernel that declares
  // that it repeats its bits.
  bool must_agree(const ExpectedTensor& expected, const Json& answer) const {
    if (expected.only_shape) return false;
    if (one_.form != "layouts") return repeats_bits(answer);
    const bool is_open = expected.any_zero || expected.flushed.defined() || expected.zero_below > 0;
    return expected.bound.empty() && !is_open && !is_floating(expected.dtype) &&
           !is_complex(expected.dtype);
  }

  Problem other_;
  std::vector<Way> ways_;
};

}  // namespace

std::unique_ptr<Trial> make_same_values_trial(const Case& one, const Subject& subject) {
  return std::make_unique<SameValuesTrial>(one, subject);
}

}  // namespace bp::conform
