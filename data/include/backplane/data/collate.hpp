// One batch of many samples.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <backplane/data/sample.hpp>

namespace bp::data {

using Collate = std::function<Batch(std::vector<Sample> samples)>;

// As PyTorch's, place by place of the trees:
//   tensors of one shape   one tensor with a new first dimension
//   numbers                a vector of f64, of int64 if all are whole, of bool if all are bools
//   text                   a list of it
//   lists, dicts           a list or dict of batches; all have the same length, or the same keys
// Throws bad_argument for None, for kinds, shapes or keys that differ, and names the place and both samples: by `indices`
// where they are given, else by their places in the batch.
BP_API Batch default_collate(const std::vector<Sample>& samples,
                             std::span<const std::int64_t> indices = {});

}  // namespace bp::data
