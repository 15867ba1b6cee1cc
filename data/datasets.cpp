#include <algorithm>
#include <cmath>
#include <numeric>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/data/dataset.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

void check_index(const char* dataset, std::int64_t index, std::int64_t size) {
  BP_CHECK(index >= 0 && index < size, "{}: index {} is outside of its {} samples", dataset, index,
           size);
}

class ChainedStream : public SampleStream {
 public:
  explicit ChainedStream(std::vector<std::unique_ptr<SampleStream>> streams)
      : streams_(std::move(streams)) {}

  std::optional<Sample> next() override {
    for (; at_ < streams_.size(); ++at_)
      if (std::optional<Sample> sample = streams_[at_]->next()) return sample;
    return std::nullopt;
  }

  // As far as the present stream goes: only its next sample tells whether it is at its end.
  std::int64_t jump(std::int64_t count) override {
    return at_ < streams_.size() ? streams_[at_]->jump(count) : 0;
  }

 private:
  std::vector<std::unique_ptr<SampleStream>> streams_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Batch> Dataset::get_batch(std::span<const std::int64_t>) const {
  return std::nullopt;
}

std::int64_t SampleStream::jump(std::int64_t) {
  return 0;
}

void SampleStream::skip(std::int64_t count) {
  while (count > 0) {
    const std::int64_t jumped = jump(count);
    BP_CHECK(jumped >= 0 && jumped <= count,
             "SampleStream: jump passed over {} samples when it was asked for {}", jumped, count);
    count -= jumped;
    if (jumped > 0) continue;
    if (!next()) return;
    --count;
  }
}

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  BP_CHECK(!tensors_.empty(), "TensorDataset: got no tensors; pass at least one");
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    BP_CHECK(tensors_[i].defined() && tensors_[i].ndim() > 0,
             "TensorDataset: tensor {} has no first dimension to count samples by", i);
    if (i == 0) size_ = tensors_[0].size(0);
    BP_CHECK(tensors_[i].size(0) == size_,
             "TensorDataset: tensor 0 has {} samples and tensor {} has {}; their first dimensions "
             "must be equal",
             size_, i, tensors_[i].size(0));
  }
}

Sample TensorDataset::get(std::int64_t index) const {
  check_index("TensorDataset", index, size_);
  State::List fields;
  fields.reserve(tensors_.size());
  for (const Tensor& each : tensors_) fields.emplace_back(select(each, 0, index));
  return fields;
}

std::optional<Batch> TensorDataset::get_batch(std::span<const std::int64_t> indices) const {
  for (const std::int64_t index : indices) check_index("TensorDataset", index, size_);
  const Tensor at =
      tensor(std::vector<std::int64_t>(indices.begin(), indices.end()), {.device = host_device()});
  State::List fields;
  fields.reserve(tensors_.size());
  for (const Tensor& each : tensors_)
    fields.emplace_back(index_select(each, 0, to(at, each.device())));
  return fields;
}

Subset::Subset(DatasetPtr dataset, std::vector<std::int64_t> indices)
    : dataset_(std::move(dataset)), indices_(std::move(indices)) {
  BP_CHECK(dataset_, "Subset: the dataset is null");
  for (const std::int64_t index : indices_) check_index("Subset", index, dataset_->size());
}

Sample Subset::get(std::int64_t index) const {
  check_index("Subset", index, size());
  return dataset_->get(indices_[static_cast<std::size_t>(index)]);
}

std::optional<Batch> Subset::get_batch(std::span<const std::int64_t> indices) const {
  std::vector<std::int64_t> inner;
  inner.reserve(indices.size());
  for (const std::int64_t index : indices) {
    check_index("Subset", index, size());
    inner.push_back(indices_[static_cast<std::size_t>(index)]);
  }
  return dataset_->get_batch(inner);
}

ConcatDataset::ConcatDataset(std::vector<DatasetPtr> datasets) : datasets_(std::move(datasets)) {
  BP_CHECK(!datasets_.empty(), "ConcatDataset: got no datasets; pass at least one");
  std::int64_t end = 0;
  for (std::size_t i = 0; i < datasets_.size(); ++i) {
    BP_CHECK(datasets_[i], "ConcatDataset: dataset {} is null", i);
    ends_.push_back(end += datasets_[i]->size());
  }
}

Sample ConcatDataset::get(std::int64_t index) const {
  check_index("ConcatDataset", index, size());
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
  const std::int64_t begin = end == ends_.begin() ? 0 : *(end - 1);
  return datasets_[static_cast<std::size_t>(end - ends_.begin())]->get(index - begin);
}

std::unique_ptr<SampleStream> ChainDataset::stream(std::int64_t epoch) const {
  std::vector<std::unique_ptr<SampleStream>> streams;
  for (const IterablePtr& each : datasets_) {
    BP_CHECK(each, "ChainDataset: dataset {} is null", streams.size());
    streams.push_back(each->stream(epoch));
    BP_CHECK(streams.back(), "ChainDataset: the stream of dataset {} is null", streams.size() - 1);
  }
  return std::make_unique<ChainedStream>(std::move(streams));
}

FunctionDataset::FunctionDataset(std::int64_t size, std::function<Sample(std::int64_t)> get)
    : size_(size), get_(std::move(get)) {
  BP_CHECK(size >= 0 && get_, "FunctionDataset: needs a size of at least 0, not {}, and a function",
           size);
}

Sample FunctionDataset::get(std::int64_t index) const {
  check_index("FunctionDataset", index, size_);
  return get_(index);
}

MapDataset::MapDataset(DatasetPtr dataset, std::function<Sample(Sample)> map)
    : dataset_(std::move(dataset)), map_(std::move(map)) {
  BP_CHECK(dataset_ && map_, "MapDataset: needs a dataset and a function");
}

std::vector<std::shared_ptr<Subset>> random_split(const DatasetPtr& dataset,
                                                  const std::vector<std::int64_t>& lengths,
                                                  std::uint64_t seed) {
  BP_CHECK(dataset, "random_split: the dataset is null");
  std::int64_t left = dataset->size();
  for (const std::int64_t length : lengths) {
    BP_CHECK(length >= 0 && length <= left,
             "random_split: the lengths do not add up to the {} samples of the dataset",
             dataset->size());
    left -= length;
  }
  BP_CHECK(left == 0, "random_split: the lengths add up to {}, and the dataset has {} samples",
           dataset->size() - left, dataset->size());
  Generator generator(seed);
  const std::vector<std::int64_t> order =
      to_vector<std::int64_t>(randperm(dataset->size(), i64, host_device(), &generator));
  std::vector<std::shared_ptr<Subset>> parts;
  auto from = order.begin();
  for (const std::int64_t length : lengths) {
    parts.push_back(std::make_shared<Subset>(dataset, std::vector(from, from + length)));
    from += length;
  }
  return parts;
}

std::vector<std::shared_ptr<Subset>> random_split_by_fractions(const DatasetPtr& dataset,
                                                               const std::vector<double>& fractions,
                                                               std::uint64_t seed) {
  BP_CHECK(dataset && !fractions.empty(), "random_split_by_fractions: needs a dataset and shares");
  double total = 0;
  std::vector<std::int64_t> lengths;
  for (const double fraction : fractions) {
    BP_CHECK(fraction >= 0 && fraction <= 1,
             "random_split_by_fractions: a share is {}; shares are numbers from 0 to 1", fraction);
    total += fraction;
    lengths.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(dataset->size()) * fraction)));
  }
  BP_CHECK(std::abs(total - 1) < 1e-6, "random_split_by_fractions: the shares add up to {}, not 1",
           total);
  std::int64_t left =
      dataset->size() - std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; i = (i + 1) % lengths.size(), --left) ++lengths[i];
  return random_split(dataset, lengths, seed);
}

}  // namespace bp::data
