// The order in which samples are taken, and which of them form a batch.
//
// An order is a function of the sampler's options and its epoch alone: the numbers come from Philox by seed and epoch, so
// that it is the same on every machine, and only these two need to be kept to continue it later.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <backplane/data/dataset.hpp>

namespace bp::data {

class BP_API Sampler {
 public:
  virtual ~Sampler() = default;
  // How many indices an epoch has.
  virtual std::int64_t size() const = 0;
  // The indices of the current epoch, in order: `size` of them.
  virtual std::vector<std::int64_t> indices() const = 0;

  std::int64_t epoch() const { return epoch_; }
  virtual void set_epoch(std::int64_t epoch) { epoch_ = epoch; }

  // Seed and epoch; options that decide the order otherwise are compared. load_state_dict throws bad_argument for the state of
  // another kind of sampler, or of one with another size.
  State state_dict() const;
  void load_state_dict(const State& state);

 protected:
  virtual const char* kind() const { return "Sampler"; }
  // Further state of a custom sampler.
  virtual void write_state(State&) const {}
  virtual void read_state(const State&) {}

 private:
  std::int64_t epoch_ = 0;
};
using SamplerPtr = std::shared_ptr<Sampler>;

// 0, 1, ... size - 1.
class BP_API SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(std::int64_t size);
  std::int64_t size() const override { return size_; }
  std::vector<std::int64_t> indices() const override;

 protected:
  const char* kind() const override { return "SequentialSampler"; }

 private:
  std::int64_t size_;
};

// `num_samples`, 0: as many as samples. Without replacement, more than that are several permutations one after the other.
struct RandomSamplerOptions {
  bool replacement = false;
  std::int64_t num_samples = 0;
  std::uint64_t seed = 0;
};

class BP_API RandomSampler : public Sampler {
 public:
  explicit RandomSampler(std::int64_t size, const RandomSamplerOptions& options = {});
  std::int64_t size() const override { return options_.num_samples; }
  std::vector<std::int64_t> indices() const override;

 protected:
  const char* kind() const override { return "RandomSampler"; }
  void write_state(State& state) const override;
  void read_state(const State& state) override;

 private:
  std::int64_t num_indices_;
  RandomSamplerOptions options_;
};

// The given indices in random order.
class BP_API SubsetRandomSampler : public Sampler {
 public:
  explicit SubsetRandomSampler(std::vector<std::int64_t> indices, std::uint64_t seed = 0);
  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  std::vector<std::int64_t> indices() const override;

 protected:
  const char* kind() const override { return "SubsetRandomSampler"; }
  void write_state(State& state) const override;
  void read_state(const State& state) override;

 private:
  std::vector<std::int64_t> indices_;
  std::uint64_t seed_;
};

// `num_samples` indices drawn in proportion to weights (finite, at least 0, not all 0); without replacement no index twice,
// from as many weights above 0 as are drawn. Throws bad_argument otherwise.
class BP_API WeightedRandomSampler : public Sampler {
 public:
  WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples,
                        bool replacement = true, std::uint64_t seed = 0);
  std::int64_t size() const override { return num_samples_; }
  std::vector<std::int64_t> indices() const override;

 protected:
  const char* kind() const override { return "WeightedRandomSampler"; }
  void write_state(State& state) const override;
  void read_state(const State& state) override;

 private:
  std::vector<double> weights_;
  std::int64_t num_samples_;
  bool replacement_;
  std::uint64_t seed_;
};

struct DistributedSamplerOptions {
  std::int64_t num_replicas = 1;
  std::int64_t rank = 0;
  bool shuffle = true;
  std::uint64_t seed = 0;
  bool drop_last = false;
};

// One replica's share: every num_replicas-th index of one common order, from `rank` on. All shares have the same size: the
// order starts again at its end, or with drop_last loses its end. Throws bad_argument for a rank outside.
class BP_API DistributedSampler : public Sampler {
 public:
  DistributedSampler(std::int64_t size, const DistributedSamplerOptions& options);
  std::int64_t size() const override { return num_samples_; }
  std::vector<std::int64_t> indices() const override;

 protected:
  const char* kind() const override { return "DistributedSampler"; }
  void write_state(State& state) const override;
  void read_state(const State& state) override;

 private:
  std::int64_t num_indices_;
  std::int64_t num_samples_ = 0;
  DistributedSamplerOptions options_;
};

// Batches of indices. Derive from it for your own batches, such as sentences of similar length.
class BP_API BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The number of batches in the current epoch.
  virtual std::int64_t size() const = 0;
  virtual std::vector<std::int64_t> batch(std::int64_t number) const = 0;
  virtual std::int64_t epoch() const = 0;
  virtual void set_epoch(std::int64_t epoch) = 0;
  virtual State state_dict() const = 0;
  virtual void load_state_dict(const State& state) = 0;
};

// A sampler's indices, `batch_size` at a time. The last batch has what is left, or with drop_last is left out.
class BP_API BatchSampler : public BatchSource {
 public:
  BatchSampler(SamplerPtr sampler, std::int64_t batch_size, bool drop_last = false);
  std::int64_t size() const override;
  std::vector<std::int64_t> batch(std::int64_t number) const override;
  std::int64_t epoch() const override { return sampler_->epoch(); }
  void set_epoch(std::int64_t epoch) override { sampler_->set_epoch(epoch); }
  State state_dict() const override { return sampler_->state_dict(); }
  void load_state_dict(const State& state) override;

 private:
  SamplerPtr sampler_;
  std::int64_t batch_size_;
  bool drop_last_;
  // The orders that batch() reads from, each made once: of two epochs, since two may run at once.
  struct Order {
    std::int64_t epoch = -1;
    std::vector<std::int64_t> indices;
  };
  const std::vector<std::int64_t>& order_of(std::int64_t epoch) const;
  mutable Order orders_[2];
};

}  // namespace bp::data
