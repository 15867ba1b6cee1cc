// Where samples come from: by index (Dataset), or one after the other (IterableDataset).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <backplane/data/sample.hpp>

namespace bp::data {

// Samples by index. Threads: a loader with worker threads calls the const functions from all of them at once.
class BP_API Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  // `index` is in [0, size()); throws bad_argument otherwise. Random numbers come from sample_generator().
  virtual Sample get(std::int64_t index) const = 0;
  // A faster default_collate for these samples, or nothing if there is none. Such a dataset must not draw
  // random numbers.
  virtual std::optional<Batch> get_batch(std::span<const std::int64_t> indices) const;
};
using DatasetPtr = std::shared_ptr<const Dataset>;

// One pass over an IterableDataset.
class BP_API SampleStream {
 public:
  virtual ~SampleStream() = default;
  // Returns nothing at the end, from then on. A call that throws counts as a sample: the next call returns the one
  // after it.
  virtual std::optional<Sample> next() = 0;
  // Skips up to `count` samples without making them, and returns how many: never past the end, and
  // 0 if the next one has to be made, which is the default. With several workers, each makes its
  // own batches and skips the others', so this is what makes workers worthwhile, and resuming in
  // the middle of an epoch cheap. Only for a stream whose samples do not depend on earlier ones.
  virtual std::int64_t jump(std::int64_t count);
  // Skips that many samples, by jumping or by making them.
  void skip(std::int64_t count);
};

// Samples in one order, read from a new stream in each epoch. Two streams of the same epoch give the same
// samples.
class BP_API IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  virtual std::unique_ptr<SampleStream> stream(std::int64_t epoch) const = 0;
};
using IterablePtr = std::shared_ptr<const IterableDataset>;

// The slices of tensors along their first dimension, as a list: sample i is {tensors[0][i], tensors[1][i] ...}. Throws
// bad_argument for none, and where first dimensions differ.
class BP_API TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> tensors);
  std::int64_t size() const override { return size_; }
  Sample get(std::int64_t index) const override;
  std::optional<Batch> get_batch(std::span<const std::int64_t> indices) const override;

 private:
  std::vector<Tensor> tensors_;
  std::int64_t size_ = 0;
};

// Some samples of a dataset, in the order of `indices`, which may repeat. Throws bad_argument for one outside.
class BP_API Subset : public Dataset {
 public:
  Subset(DatasetPtr dataset, std::vector<std::int64_t> indices);
  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  Sample get(std::int64_t index) const override;
  std::optional<Batch> get_batch(std::span<const std::int64_t> indices) const override;
  const std::vector<std::int64_t>& indices() const { return indices_; }

 private:
  DatasetPtr dataset_;
  std::vector<std::int64_t> indices_;
};

// Datasets one after the other; throws bad_argument for none.
class BP_API ConcatDataset : public Dataset {
 public:
  explicit ConcatDataset(std::vector<DatasetPtr> datasets);
  std::int64_t size() const override { return ends_.back(); }
  Sample get(std::int64_t index) const override;

 private:
  std::vector<DatasetPtr> datasets_;
  std::vector<std::int64_t> ends_;
};

// The same for streams; a jump passes from one stream into the next.
class BP_API ChainDataset : public IterableDataset {
 public:
  explicit ChainDataset(std::vector<IterablePtr> datasets) : datasets_(std::move(datasets)) {}
  std::unique_ptr<SampleStream> stream(std::int64_t epoch) const override;

 private:
  std::vector<IterablePtr> datasets_;
};

// A dataset made from a function of the index.
class BP_API FunctionDataset : public Dataset {
 public:
  FunctionDataset(std::int64_t size, std::function<Sample(std::int64_t index)> get);
  std::int64_t size() const override { return size_; }
  Sample get(std::int64_t index) const override;

 private:
  std::int64_t size_;
  std::function<Sample(std::int64_t)> get_;
};

// Passes each sample of a dataset through a function, such as a transform.
class BP_API MapDataset : public Dataset {
 public:
  MapDataset(DatasetPtr dataset, std::function<Sample(Sample)> map);
  std::int64_t size() const override { return dataset_->size(); }
  Sample get(std::int64_t index) const override { return map_(dataset_->get(index)); }

 private:
  DatasetPtr dataset_;
  std::function<Sample(Sample)> map_;
};

// Parts of these sizes, which add up to the dataset's, of samples in an order that `seed` decides. Throws bad_argument
// otherwise.
BP_API std::vector<std::shared_ptr<Subset>> random_split(const DatasetPtr& dataset,
                                                         const std::vector<std::int64_t>& lengths,
                                                         std::uint64_t seed = 0);
// Parts of these shares, which add up to 1: each of floor(share * size) samples, and one more for
// the first parts until all samples are assigned, like PyTorch's.
BP_API std::vector<std::shared_ptr<Subset>> random_split_by_fractions(
    const DatasetPtr& dataset, const std::vector<double>& fractions, std::uint64_t seed = 0);

}  // namespace bp::data
