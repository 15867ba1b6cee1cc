// Tables whose rows are looked up by number.
#pragma once

#include <optional>

#include <backplane/loading/loader.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx =
      {};  // a row that gets no gradient and begins as 0; negative from the end
  std::optional<double> max_norm =
      {};  // forward scales down, in place, rows whose norm is above this
  double norm_type = 2;
  bool scale_grad_by_freq = false;  // divides gradients of a row by how often it was looked up
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// Indices of any shape to [..., embedding_dim]. The table begins normal with mean 0 and variance 1. With max_norm, forward
// writes the table: one thread at a time.
class BP_API Embedding : public Module {
 public:
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim,
            const EmbeddingOptions& options = {});
  // With a given table, [num_embeddings, embedding_dim], which is not trained if it is frozen.
  static Embedding from_pretrained(const Tensor& embeddings, bool freeze = true,
                                   EmbeddingOptions options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  Parameter weight;  // [num_embeddings, embedding_dim]

 private:
  explicit Embedding(const EmbeddingOptions& options) : options_(options) {}

  EmbeddingOptions options_;
};

struct EmbeddingBagOptions {
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;  // not for "max"
  std::string mode = "mean";        // or "sum", "max"
  bool include_last_offset = false;
  std::optional<std::int64_t> padding_idx = {};  // a row that bags ignore
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// The sum, mean or largest elements of the rows of each bag: each row of a matrix of indices, or,
// of a vector, the part that begins at each of `offsets`. per_sample_weights, for "sum", multiply
// the rows.
class BP_API EmbeddingBag : public Module {
 public:
  EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim,
               const EmbeddingBagOptions& options = {});
  static EmbeddingBag from_pretrained(const Tensor& embeddings, bool freeze = true,
                                      EmbeddingBagOptions options = {});
  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& input) const override { return forward(input, {}); }
  Tensor forward(const Tensor& input, const Tensor& offsets,
                 const Tensor& per_sample_weights = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
  using Module::operator();
  Tensor operator()(const Tensor& input, const Tensor& offsets,
                    const Tensor& per_sample_weights = {}) const {
    return called(*this, input, offsets, per_sample_weights);
  }
  std::string extra_repr() const override;

  Parameter weight;  // [num_embeddings, embedding_dim]

 private:
  explicit EmbeddingBag(const EmbeddingBagOptions& options) : options_(options) {}

  EmbeddingBagOptions options_;
};

}  // namespace bp::nn
