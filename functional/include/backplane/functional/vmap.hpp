// vmap: calls a function of one element once for a whole batch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// Calls `function` once. Inside, each input lacks its dimension in `in_dims` (one for each input; none: the same tensor for all
// elements), and each operator call with such a tensor serves the whole batch, by the row's rule (core_ops/batch.hpp). Each result
// gets the batch as dimension 0; results that do not depend on the batch are repeated without a copy.
//   bp::vmap([&](std::span<const Tensor> x) { return std::vector{matmul(weights, x[0])}; }, inputs, {0});
// Random numbers are the same for all elements. Runs may nest.
// Throws bad_argument if no input has a batch or their sizes differ, where a tensor that all elements share is written from one
// of the batch's, and where elements would get results of different shapes.
using BatchedFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
BP_API std::vector<Tensor> vmap(const BatchedFunction& function, std::span<const Tensor> inputs,
                                std::span<const std::optional<std::int64_t>> in_dims);

}  // namespace bp
