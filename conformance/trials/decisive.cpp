#include "trials/decisive.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <backplane/tensor/error.hpp>

#include "inputs/layouts.hpp"
#include "trials/answers.hpp"

namespace bp::conform {
namespace {

constexpr std::uint64_t most_draws = 8;
constexpr std::int64_t few = 4;  // may happen to be all such as decide nothing

bool is_open(const ExpectedTensor& expected) {
  return !expected.only_shape && !expected.bound.empty() &&
         std::all_of(expected.bound.begin(), expected.bound.end(),
                     [](double bound) { return bound == HUGE_VAL; });
}

bool are_all_alike(const ExpectedTensor& expected) {
  constexpr std::int64_t large = 64;
  if (expected.only_shape || !is_floating(expected.dtype) || !expected.wide.defined()) return false;
  const std::int64_t count = expected.wide.numel();
  if (count < large || !expected.wide.is_contiguous()) return false;
  const auto* bytes = static_cast<const unsigned char*>(expected.wide.data_ptr());
  const std::size_t size = expected.wide.itemsize();
  return std::memcmp(bytes, bytes + size, static_cast<std::size_t>(count - 1) * size) == 0;
}

bool depends_on_few_numbers(const Case& one, const Problem& problem) {
  const bool rounds = is_floating(one.dtype) || is_complex(one.dtype);
  return rounds && one.form != "error" &&
         std::any_of(problem.tensors.begin(), problem.tensors.end(), [](const Laid& laid) {
           return laid.sparse_bytes == 0 && numel_of(laid.shape) <= few && numel_of(laid.shape) > 0;
         });
}

bool is_decided(const Case& one, const Problem& problem, const Numerics& numerics) {
  try {
    const Expected expected = expect_call(problem, one, numerics, one.form == "grad");
    return !expected.error.empty() || std::none_of(expected.results.begin(), expected.results.end(),
                                                   [&](const ExpectedTensor& each) {
                                                     return is_open(each) ||
                                                            is_unvaried(one, problem, each);
                                                   });
  } catch (const Error&) {
    return true;  // the trial meets it, and says so
  }
}

}  // namespace

bool is_unvaried(const Case& one, const Problem& problem, const ExpectedTensor& expected) {
  return !problem.tensors.empty() && one.form != "aliased" &&
         (one.values == "normal" || one.values == "exact" || one.values == "positive") &&
         one.layouts.find("expand") == std::string::npos &&
         one.layouts.find("inner") == std::string::npos && are_all_alike(expected);
}

Problem decisive_problem(const Case& one, const Numerics& numerics) {
  Problem first = make_problem(one);
  if (!depends_on_few_numbers(one, first)) return first;
  Case plain = one;  // other layouts get the same values
  plain.layouts = one.shape.starts_with("sample:") ? "own" : "plain";
  for (std::uint64_t draw = 0; draw < most_draws; ++draw)
    if (is_decided(plain, make_problem(plain, draw), numerics)) return make_problem(one, draw);
  return first;
}

}  // namespace bp::conform
