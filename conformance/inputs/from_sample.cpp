// Arguments cloned from the samples that each row of the table has.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/samples/samples.hpp>

#include "inputs/problem.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

// A sample without anything of a device.
struct ClonedSample {
  std::string recipe;
  Problem problem;
};
using ClonedSamples = std::vector<ClonedSample>;

Laid clone_tensor(const Tensor& tensor) {
  Laid laid;
  laid.dtype = tensor.dtype();
  laid.shape = tensor.shape().to_vector();
  laid.strides = tensor.strides().to_vector();
  laid.offset = tensor.storage_offset();
  const std::int64_t elements = laid.offset + reach_of(laid.shape, laid.strides);
  laid.storage.resize(static_cast<std::size_t>(elements) * tensor.itemsize());
  if (tensor.numel() == 0) return laid;
  copy_to_host_memory(make_view(tensor, {elements}, {1}, 0), laid.storage.data());
  return laid;
}

Problem clone_sample(const Sample& sample) {
  Problem cloned;
  std::map<const bp_tensor*, int> seen;
  for (const bp_value& value : sample.args)
    cloned.add_argument(value, [&](const bp_tensor* tensor) {
      // A tensor that is there twice stays one.
      const auto [found, is_new] = seen.emplace(tensor, static_cast<int>(cloned.tensors.size()));
      if (is_new) cloned.tensors.push_back(clone_tensor(Tensor::share(TensorImpl::of(tensor))));
      return found->second;
    });
  return cloned;
}

// The samples of a row in a dtype, a few of them kept: cases come row by row.
std::shared_ptr<const ClonedSamples> cloned_samples(const Operator& op, Dtype dtype,
                                                    std::uint32_t variant) {
  static std::mutex lock;
  static std::map<std::tuple<const Operator*, Dtype, std::uint32_t>,
                  std::shared_ptr<const ClonedSamples>>
      kept;
  constexpr std::size_t most_kept = 24;
  const std::lock_guard<std::mutex> locked(lock);
  if (const auto found = kept.find({&op, dtype, variant}); found != kept.end())
    return found->second;
  auto samples = std::make_shared<ClonedSamples>();
  for (const Sample& sample : samples_of(op, dtype, oracle(), variant))
    samples->push_back({sample.recipe, clone_sample(sample)});
  if (kept.size() == most_kept) kept.clear();
  return kept[{&op, dtype, variant}] = samples;
}

// Tensors whose numbers mean something: others in their place would make another, or no, problem.
bool keeps_its_values(const Operator& op, std::string_view argument) {
  static constexpr std::string_view always[] = {
      "index",     "indices",    "target",        "running_mean",  "running_var",
      "rstd",      "variance",   "mean",          "std",           "logsumexp",
      "attn_mask", "pos_weight", "lengths",       "sequence_lens", "batch_sizes",
      "targets",   "boxes",      "input_lengths", "target_lengths"};
  if (std::ranges::find(always, argument) != std::end(always)) return true;
  if (argument == "weight") return op.schema->find("reduction") >= 0;  // of a loss
  if (argument == op.schema->arguments[0].name && has_trait(op.name(), Trait::telling_input))
    return true;
  return argument == "result";
}

}  // namespace

void plan_from_sample(const Case& one, std::uint64_t draw, PlannedProblem& plan) {
  const std::string recipe = one.shape.substr(std::string_view("sample:").size());
  Problem& problem = plan.problem;
  const auto variant = static_cast<std::uint32_t>(one.seed - 1 + draw * 1000003);
  const auto samples = cloned_samples(*problem.op, one.dtype, variant);
  const auto found = std::ranges::find(*samples, recipe, &ClonedSample::recipe);
  if (found == samples->end()) refuse_case(one, "the row has no sample '" + recipe + "'");
  Operator* const op = problem.op;
  problem = found->problem;
  problem.op = op;
  for (const Laid& laid : problem.tensors) {
    PlannedTensor& planned = plan.tensors.emplace_back();
    planned.dtype = laid.dtype;
    planned.shape = laid.shape;
  }
  for (std::size_t i = 0; i < problem.arguments.size(); ++i) {
    const bool keeps = keeps_its_values(*op, op->schema->arguments[i].name);
    for (const int tensor : problem.arguments[i].tensors)
      plan.tensors[static_cast<std::size_t>(tensor)].keeps_values |= keeps;
  }
}

}  // namespace bp::conform
