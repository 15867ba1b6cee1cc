// How a row is judged, and the calls of the oracle that this takes.
#pragma once

#include <vector>

#include "judge/bounds.hpp"

namespace bp::conform {

// The call in its own dtypes: the results' shapes and dtypes, and the values of exact rows. Throws what the row throws.
// `written`: the tensors whose memory is another one after it.
std::vector<Tensor> call_as_given(const Problem& problem, std::uint64_t seed,
                                  std::vector<std::size_t>* written = nullptr);

// Which rule holds for a call that gives `given`, and its wide inputs; the wide results are left open.
Evaluation evaluation_of(const Problem& problem, const Case& one, const Numerics& numerics,
                         const std::vector<Tensor>& given);

// Fresh wide inputs with each element changed; `through` as in Evaluation.
std::vector<Tensor> changed_inputs(const Problem& problem, std::optional<Dtype> through,
                                   const Change& change);

// Rows that choose among equal numbers: which zero they give is left open.
bool leaves_zero_open(const Operator& op);

// The derivative: gradients of the inputs behind the call's results. `expected` has the latter.
void add_gradients(const Evaluation& all, Expected& expected);

}  // namespace bp::conform
