#include <algorithm>
#include <cstring>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/error.hpp>
#include <backplane/tensor/views.hpp>

#include "inputs/problem.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

// How a dimension of the result may belong to dimensions of the tensors: guesses, which the oracle decides.
enum class Guess : std::uint8_t {
  aligned,     // as broadcasts do, from the right
  first,       // the same dimension of the first tensor
  alike,       // the same dimension of all tensors that have as many
  first_kept,  // of the first tensor, what is left when another dimension is reduced away
  second,      // from the right, of the second tensor: a product's columns
};
constexpr Guess guesses[] = {Guess::aligned, Guess::first, Guess::alike, Guess::first_kept,
                             Guess::second};

void cut_if(const Problem& problem, std::size_t tensor, std::int64_t dim, Split& split) {
  if (tensor >= problem.tensors.size()) return;
  const Sizes& shape = problem.tensors[tensor].shape;
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size())) return;
  if (shape[static_cast<std::size_t>(dim)] != split.size) return;
  split.cuts.push_back({tensor, static_cast<std::size_t>(dim)});
}

Split guessed(const Problem& problem, Guess guess, std::size_t dim, const Tensor& result) {
  Split split{dim, result.shape()[dim], {}};
  const auto at = static_cast<std::int64_t>(dim);
  const auto rank_of = [&](std::size_t tensor) {
    return static_cast<std::int64_t>(problem.tensors[tensor].shape.size());
  };
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const std::int64_t from_right = at - (result.ndim() - rank_of(t));
    if (guess == Guess::aligned) cut_if(problem, t, from_right, split);
    if (guess == Guess::first && t == 0) cut_if(problem, t, at, split);
    if (guess == Guess::alike && rank_of(t) == rank_of(0)) cut_if(problem, t, at, split);
    if (guess == Guess::first_kept && t == 0) cut_if(problem, t, at + 1, split);
    if (guess == Guess::second && t == 1) cut_if(problem, t, from_right, split);
  }
  return split;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  const Tensor first = contiguous(a), second = contiguous(b);
  return first.numel() == 0 ||
         std::memcmp(first.data_ptr(), second.data_ptr(), first.nbytes()) == 0;
}

// Does the row give, for each of three pieces, that piece of what it gives for the whole?
bool holds(const Problem& problem, const Split& split, std::uint64_t seed,
           const std::vector<Tensor>& whole) try {
  const std::int64_t middle = split.size / 2;
  const std::int64_t pieces[][2] = {{0, 1}, {middle, split.size - middle}, {split.size - 1, 1}};
  for (const auto& [start, length] : pieces) {
    const std::vector<Tensor> results = call_as_given(part_of(problem, split, start, length), seed);
    if (results.size() != whole.size()) return false;
    for (std::size_t r = 0; r < results.size(); ++r)
      if (!same_bits(results[r],
                     views::narrow(whole[r], static_cast<std::int64_t>(split.dim), start, length)))
        return false;
  }
  return true;
} catch (const Error&) {
  return false;  // the pieces are not a call
}

bool all_have(const std::vector<Tensor>& results, std::size_t dim) {
  return std::ranges::all_of(results, [&](const Tensor& each) {
    return static_cast<std::size_t>(each.ndim()) > dim &&
           each.shape()[dim] == results[0].shape()[dim];
  });
}

}  // namespace

const Cut* Split::cut_of(std::size_t tensor) const {
  const auto found = std::ranges::find(cuts, tensor, &Cut::tensor);
  return found == cuts.end() ? nullptr : &*found;
}

Laid narrowed(const Laid& laid, std::size_t dim, std::int64_t start, std::int64_t length) {
  Laid part = laid;
  part.shape[dim] = length;
  part.offset += start * laid.strides[dim];
  return part;
}

Problem part_of(const Problem& problem, const Split& split, std::int64_t start,
                std::int64_t length) {
  Problem part = problem.with_tensors({});
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const Cut* cut = split.cut_of(t);
    part.tensors.push_back(cut ? narrowed(problem.tensors[t], cut->dim, start, length)
                               : problem.tensors[t]);
  }
  return part;
}

std::optional<Split> split_of(const Problem& problem, std::uint64_t seed, bool from_last) {
  std::vector<Tensor> whole;
  try {
    whole = call_as_given(problem, seed);
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::size_t>(whole.at(0).ndim());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t dim = from_last ? rank - 1 - i : i;
    if (!all_have(whole, dim) || whole[0].shape()[dim] < 2 || whole[0].numel() == 0) continue;
    for (const Guess guess : guesses) {
      Split split = guessed(problem, guess, dim, whole[0]);
      if (!split.cuts.empty() && holds(problem, split, seed, whole)) return split;
    }
  }
  return std::nullopt;
}

}  // namespace bp::conform
