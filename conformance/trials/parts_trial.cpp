// Pieces of a call: each slice of a batch gives that slice of the batch's result ("batch"), and tensors joined give what
// their results joined are ("joined").
#include <algorithm>
#include <fmt/format.h>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/views.hpp>

#include "inputs/parts.hpp"
#include "inputs/values.hpp"
#include "trials/row_trials.hpp"

namespace bp::conform {
namespace {

// What is expected of a piece: that piece of what is expected of the whole, with its bounds.
ExpectedTensor expected_of_part(const ExpectedTensor& whole, std::size_t dim, std::int64_t start,
                                std::int64_t length) {
  ExpectedTensor part = whole;
  const auto at = static_cast<std::int64_t>(dim);
  part.shape[dim] = length;
  part.typical.clear();  // says something of many elements alone
  if (whole.wide.defined()) part.wide = contiguous(views::narrow(whole.wide, at, start, length));
  if (whole.flushed.defined())
    part.flushed = contiguous(views::narrow(whole.flushed, at, start, length));
  if (whole.bound.empty()) return part;
  std::size_t inner = parts_of(whole.dtype);
  for (std::size_t d = dim + 1; d < whole.shape.size(); ++d)
    inner *= static_cast<std::size_t>(whole.shape[d]);
  const std::size_t line = inner * static_cast<std::size_t>(whole.shape[dim]);
  part.bound.clear();
  for (std::size_t from = 0; from < whole.bound.size(); from += line) {
    const auto first = whole.bound.begin() +
                       static_cast<std::ptrdiff_t>(from + inner * static_cast<std::size_t>(start));
    part.bound.insert(
        part.bound.end(), first,
        first + static_cast<std::ptrdiff_t>(inner * static_cast<std::size_t>(length)));
  }
  return part;
}

class PartsTrial : public Chain {
 public:
  PartsTrial(const Case& one, const Subject& subject) : Chain(one, subject) {
    const std::optional<Split> found = split_of(problem_, one.seed, one.form == "joined");
    if (!found) refuse_case(one, "the row does not compute pieces of this call by themselves");
    split_ = *found;
  }

 protected:
  void build(Json& script) override {
    checks_.clear();
    if (one_.form == "joined") return build_joined(script);
    Sizes slices = {0, split_.size / 2, split_.size - 1};
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    for (const std::int64_t slice : slices) {
      const std::vector<int> results = add_part(script, slice, 1).results;
      for (std::size_t r = 0; r < results.size(); ++r)
        checks_.push_back({add_values(script, results[r]), r, slice, 1,
                           fmt::format("slice {} of the batch, result {}", slice, r)});
    }
  }

  void judge_values(Verdict& verdict, const Json& answer) override {
    if (!expected_.error.empty() || expected_.results.size() < num_results())
      return fail_with(verdict, "the suite expects no result of this call");
    for (const Check& check : checks_) {
      const Bytes* bytes = take_values(verdict, answer, check.step, check.what);
      if (!bytes || verdict.outcome != Outcome::pass) return;
      judge_result(
          verdict, *bytes,
          expected_of_part(expected_.results[check.result], split_.dim, check.start, check.length),
          check.what);
    }
    verdict.rule = fmt::format("{} along dimension {}: {}", one_.form, split_.dim, verdict.rule);
  }

 private:
  struct Check {
    std::size_t step, result;
    std::int64_t start, length;
    std::string what;
  };
  struct Part {
    std::vector<int> tensors, results;
  };

  Part add_part(Json& script, std::int64_t start, std::int64_t length) {
    Part part;
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      const Cut* cut = split_.cut_of(t);
      part.tensors.push_back(static_cast<int>(t));
      if (cut)
        part.tensors.back() = add_call(script, "narrow",
                                       {{{"tensor", static_cast<int>(t)}},
                                        {{"i", static_cast<std::int64_t>(cut->dim)}},
                                        {{"i", start}},
                                        {{"i", length}}})[0];
    }
    part.results = add_call(script, one_.op, arguments_with(problem_, part.tensors), num_results());
    return part;
  }

  int add_joined(Json& script, int first, int second, std::size_t dim) {
    const Json tensors = {{"tensors", {first, second}}};
    return add_call(script, "cat",
                    Json::array({tensors, {{"i", static_cast<std::int64_t>(dim)}}}))[0];
  }

  void build_joined(Json& script) {
    const std::int64_t border = split_.size / 3 + 1;
    const Part low = add_part(script, 0, border),
               high = add_part(script, border, split_.size - border);
    std::vector<int> whole = low.tensors;
    for (const Cut& cut : split_.cuts)
      whole[cut.tensor] =
          add_joined(script, low.tensors[cut.tensor], high.tensors[cut.tensor], cut.dim);
    const std::vector<int> of_whole =
        add_call(script, one_.op, arguments_with(problem_, whole), num_results());
    for (std::size_t r = 0; r < num_results(); ++r) {
      const int joined = add_joined(script, low.results[r], high.results[r], split_.dim);
      checks_.push_back({add_values(script, joined), r, 0, split_.size,
                         fmt::format("the results {} of two pieces, joined", r)});
      checks_.push_back({add_values(script, of_whole[r]), r, 0, split_.size,
                         fmt::format("result {} of two pieces that were joined", r)});
    }
  }

  Split split_;
  std::vector<Check> checks_;
};

}  // namespace

std::unique_ptr<Trial> make_parts_trial(const Case& one, const Subject& subject) {
  return std::make_unique<PartsTrial>(one, subject);
}

}  // namespace bp::conform
