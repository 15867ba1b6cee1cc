#include <backplane/autograd/autograd.hpp>
#include <backplane/autograd/hooks.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/embedding.hpp>
#include <backplane/nn/sizes.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

// From 0 on, if there is one.
std::optional<std::int64_t> checked_padding(const char* layer, std::optional<std::int64_t> index,
                                            std::int64_t num_embeddings) {
  if (!index) return index;
  BP_CHECK(*index < num_embeddings && *index >= -num_embeddings,
           "{}: padding_idx {} is not among {} rows; take a number below", layer, *index,
           num_embeddings);
  return *index < 0 ? *index + num_embeddings : *index;
}

template <class Options>
Parameter normal_table(const char* layer, std::int64_t num_embeddings, std::int64_t embedding_dim,
                       const Options& options) {
  BP_CHECK(num_embeddings >= 0 && embedding_dim >= 0, "{}: {} rows of {} numbers; pass 0 or more",
           layer, num_embeddings, embedding_dim);
  const Tensor table = randn({num_embeddings, embedding_dim}, options.dtype, options.device);
  if (options.padding_idx) fill_(select(table, 0, *options.padding_idx), 0);
  return Parameter(table);
}

Parameter given_table(const char* layer, const Tensor& table, bool freeze) {
  BP_CHECK(table.defined() && table.ndim() == 2, "{}: the table is {}; pass [rows, columns]", layer,
           table.defined() ? to_string(table.shape()) : "undefined");
  return Parameter(table, !freeze);
}

// Scales the rows that `indices` names and whose norm is above `max_norm`, in place.
void limit_norms(const Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
  const NoGrad no_grad;
  const Tensor rows = unique_values(flatten(indices));
  const Tensor values = index_select(detach(weight), 0, rows);
  const Tensor norms = norm(values, norm_type, {1}, true);
  const Tensor factors = where(norms > max_norm, max_norm / (norms + 1e-7), 1.0);
  index_put_(weight, {rows}, values * factors);
}

// The weight, through which gradients go divided by how often `indices` names each row.
Tensor scaled_by_frequency(const Tensor& weight, const Tensor& indices) {
  const Tensor alias = reshape(weight, weight.shape());
  if (!requires_grad(alias)) return alias;
  const Tensor counts = bincount(flatten(indices), {}, weight.size(0));
  const Tensor divisors = unsqueeze(cast(clamp_min(counts, 1), weight.dtype()), 1);
  autograd::register_hook(alias, [=](const Tensor& gradient) { return gradient / divisors; });
  return alias;
}

template <class Options>
Tensor prepared(const Tensor& weight, const Tensor& input, const Options& options) {
  if (options.max_norm) limit_norms(weight, input, *options.max_norm, options.norm_type);
  return options.scale_grad_by_freq ? scaled_by_frequency(weight, input) : weight;
}

template <class Options> std::string norm_text(const Options& options) {
  std::string text;
  if (options.max_norm) text += ", max_norm=" + repr(options.max_norm);
  if (options.norm_type != 2) text += ", norm_type=" + repr(options.norm_type);
  if (options.scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  return text;
}

// Looks at the values where the host has them: elsewhere it would have to wait.
void check_offsets(const Tensor& offsets, const Tensor& input) {
  if (!offsets.defined() || offsets.numel() == 0 || offsets.device() != host_device()) return;
  std::int64_t before = 0;
  const std::vector<std::int64_t> all = to_vector<std::int64_t>(cast(offsets, i64));
  for (std::size_t i = 0; i < all.size(); ++i) {
    BP_CHECK(i != 0 || all[0] == 0, "EmbeddingBag: the first offset is {}; begin at 0", all[0]);
    BP_CHECK(all[i] >= before && all[i] <= input.numel(),
             "EmbeddingBag: offset {} is {}, after {} and for {} indices; offsets must rise, and "
             "end within the indices",
             i, all[i], before, input.numel());
    before = all[i];
  }
}

void check_mode(const EmbeddingBagOptions& options) {
  BP_CHECK(options.mode == "mean" || options.mode == "sum" || options.mode == "max",
           "EmbeddingBag: mode is '{}'; pass 'mean', 'sum' or 'max'", options.mode);
  BP_CHECK(options.mode != "max" || !options.scale_grad_by_freq,
           "EmbeddingBag: scale_grad_by_freq with mode 'max'; use 'mean' or 'sum'");
}

}  // namespace

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim,
                     const EmbeddingOptions& options)
    : options_(options) {
  options_.padding_idx = checked_padding("Embedding", options.padding_idx, num_embeddings);
  weight = normal_table("Embedding", num_embeddings, embedding_dim, options_);
}

Embedding Embedding::from_pretrained(const Tensor& embeddings, bool freeze,
                                     EmbeddingOptions options) {
  Embedding made(options);
  made.weight = given_table("Embedding", embeddings, freeze);
  made.options_.padding_idx = checked_padding("Embedding", options.padding_idx, embeddings.size(0));
  return made;
}

void Embedding::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
}

Tensor Embedding::forward(const Tensor& input) const {
  return embedding(prepared(weight, input, options_), input, options_.padding_idx.value_or(-1));
}

std::string Embedding::extra_repr() const {
  std::string text = fmt::format("{}, {}", weight.size(0), weight.size(1));
  if (options_.padding_idx) text += fmt::format(", padding_idx={}", *options_.padding_idx);
  return text + norm_text(options_);
}

EmbeddingBag::EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim,
                           const EmbeddingBagOptions& options)
    : options_(options) {
  check_mode(options);
  options_.padding_idx = checked_padding("EmbeddingBag", options.padding_idx, num_embeddings);
  weight = normal_table("EmbeddingBag", num_embeddings, embedding_dim, options_);
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, bool freeze,
                                           EmbeddingBagOptions options) {
  check_mode(options);
  EmbeddingBag made(options);
  made.weight = given_table("EmbeddingBag", embeddings, freeze);
  made.options_.padding_idx =
      checked_padding("EmbeddingBag", options.padding_idx, embeddings.size(0));
  return made;
}

void EmbeddingBag::list_parts(Parts& parts) {
  parts.parameter("weight", weight);
}

Tensor EmbeddingBag::forward(const Tensor& input, const Tensor& offsets,
                             const Tensor& per_sample_weights) const {
  check_offsets(offsets, input);
  return embedding_bag(input, prepared(weight, input, options_), offsets, options_.mode,
                       per_sample_weights, options_.include_last_offset,
                       options_.padding_idx.value_or(-1));
}

std::vector<Tensor> EmbeddingBag::forward_all(std::span<const Tensor> inputs) const {
  BP_CHECK(!inputs.empty() && inputs.size() <= 3,
           "EmbeddingBag: got {} tensors; pass the input, offsets and weights", inputs.size());
  const auto at = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : Tensor(); };
  return {forward(inputs[0], at(1), at(2))};
}

std::string EmbeddingBag::extra_repr() const {
  std::string text = fmt::format("{}, {}{}, mode='{}'", weight.size(0), weight.size(1),
                                 norm_text(options_), options_.mode);
  if (options_.padding_idx) text += fmt::format(", padding_idx={}", *options_.padding_idx);
  return text;
}

}  // namespace bp::nn
