#include <algorithm>
#include <cmath>
#include <numeric>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/data/sampler.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

std::uint64_t seed_of_epoch(std::uint64_t seed, std::int64_t epoch) {
  return mix_seed(seed, static_cast<std::uint64_t>(epoch));
}

std::vector<std::int64_t> permutation(std::int64_t size, Generator& generator) {
  return to_vector<std::int64_t>(randperm(size, i64, host_device(), &generator));
}

std::vector<std::int64_t> numbers_up_to(std::int64_t size) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// A dict's integer has 63 bits and a sign, a seed has 64: the bits are kept.
void write_seed(State& state, std::uint64_t seed) {
  state.set("seed", static_cast<std::int64_t>(seed));
}
std::uint64_t read_seed(const State& state) {
  return static_cast<std::uint64_t>(state.at("seed").as_int());
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace

State Sampler::state_dict() const {
  State state = State::dict({{"kind", kind()}, {"size", size()}, {"epoch", epoch()}});
  write_state(state);
  return state;
}

void Sampler::load_state_dict(const State& state) {
  const std::string& found = state.at("kind").as_text();
  BP_CHECK(found == kind(), "{}: the state is that of a {}", kind(), found);
  BP_CHECK(state.at("size").as_int() == size(), "{}: the state is of {} indices, and this has {}",
           kind(), state.at("size").as_int(), size());
  const std::int64_t wanted = state.at("epoch").as_int();
  read_state(state);
  set_epoch(wanted);
}

SequentialSampler::SequentialSampler(std::int64_t size) : size_(size) {
  BP_CHECK(size >= 0, "SequentialSampler: {} samples; there can't be less than 0", size);
}

std::vector<std::int64_t> SequentialSampler::indices() const {
  return numbers_up_to(size_);
}

RandomSampler::RandomSampler(std::int64_t size, const RandomSamplerOptions& options)
    : num_indices_(size), options_(options) {
  if (options_.num_samples == 0) options_.num_samples = size;
  BP_CHECK(size >= 0 && options_.num_samples >= 0 && (size > 0 || options_.num_samples == 0),
           "RandomSampler: num_samples is {}, of {} samples", options.num_samples, size);
}

std::vector<std::int64_t> RandomSampler::indices() const {
  Generator generator(seed_of_epoch(options_.seed, epoch()));
  if (options_.replacement && num_indices_ > 0)
    return to_vector<std::int64_t>(
        randint(0, num_indices_, {options_.num_samples}, i64, host_device(), &generator));
  std::vector<std::int64_t> order;
  while (static_cast<std::int64_t>(order.size()) < options_.num_samples) {
    const std::vector<std::int64_t> more = permutation(num_indices_, generator);
    order.insert(order.end(), more.begin(), more.end());
  }
  order.resize(static_cast<std::size_t>(options_.num_samples));
  return order;
}

void RandomSampler::write_state(State& state) const {
  write_seed(state, options_.seed);
}
void RandomSampler::read_state(const State& state) {
  options_.seed = read_seed(state);
}

SubsetRandomSampler::SubsetRandomSampler(std::vector<std::int64_t> indices, std::uint64_t seed)
    : indices_(std::move(indices)), seed_(seed) {}

std::vector<std::int64_t> SubsetRandomSampler::indices() const {
  Generator generator(seed_of_epoch(seed_, epoch()));
  std::vector<std::int64_t> order = permutation(size(), generator);
  for (std::int64_t& each : order) each = indices_[static_cast<std::size_t>(each)];
  return order;
}

void SubsetRandomSampler::write_state(State& state) const {
  write_seed(state, seed_);
}
void SubsetRandomSampler::read_state(const State& state) {
  seed_ = read_seed(state);
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples,
                                             bool replacement, std::uint64_t seed)
    : weights_(std::move(weights)), num_samples_(num_samples), replacement_(replacement),
      seed_(seed) {
  BP_CHECK(num_samples > 0, "WeightedRandomSampler: num_samples is {}; it must be above 0",
           num_samples);
  std::int64_t above_zero = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    BP_CHECK(std::isfinite(weights_[i]) && weights_[i] >= 0,
             "WeightedRandomSampler: weight {} is {}; weights are finite and at least 0", i,
             weights_[i]);
    above_zero += weights_[i] > 0 ? 1 : 0;
  }
  BP_CHECK(above_zero > 0, "WeightedRandomSampler: no weight is above 0");
  BP_CHECK(replacement || above_zero >= num_samples,
           "WeightedRandomSampler: {} samples without replacement, of {} weights above 0",
           num_samples, above_zero);
}

std::vector<std::int64_t> WeightedRandomSampler::indices() const {
  Generator generator(seed_of_epoch(seed_, epoch()));
  const Tensor weights = tensor(weights_, {.device = host_device()});
  return to_vector<std::int64_t>(multinomial(weights, num_samples_, replacement_, &generator));
}

void WeightedRandomSampler::write_state(State& state) const {
  write_seed(state, seed_);
}
void WeightedRandomSampler::read_state(const State& state) {
  seed_ = read_seed(state);
}

DistributedSampler::DistributedSampler(std::int64_t size, const DistributedSamplerOptions& options)
    : num_indices_(size), options_(options) {
  const std::int64_t replicas = options.num_replicas;
  BP_CHECK(replicas > 0 && options.rank >= 0 && options.rank < replicas,
           "DistributedSampler: rank {} of {} replicas; ranks go from 0 to num_replicas - 1",
           options.rank, replicas);
  BP_CHECK(size >= 0, "DistributedSampler: {} samples; there can't be less than 0", size);
  num_samples_ = options.drop_last ? size / replicas : divided_up(size, replicas);
}

std::vector<std::int64_t> DistributedSampler::indices() const {
  Generator generator(seed_of_epoch(options_.seed, epoch()));
  const std::vector<std::int64_t> order =
      options_.shuffle ? permutation(num_indices_, generator) : numbers_up_to(num_indices_);
  std::vector<std::int64_t> share;
  share.reserve(static_cast<std::size_t>(num_samples_));
  for (std::int64_t i = 0; i < num_samples_; ++i) {
    const std::int64_t at = options_.rank + i * options_.num_replicas;
    share.push_back(order[static_cast<std::size_t>(at % num_indices_)]);
  }
  return share;
}

void DistributedSampler::write_state(State& state) const {
  write_seed(state, options_.seed);
  state.set("num_replicas", options_.num_replicas);
}
void DistributedSampler::read_state(const State& state) {
  BP_CHECK(state.at("num_replicas").as_int() == options_.num_replicas,
           "DistributedSampler: the state is of {} replicas, and there are {}",
           state.at("num_replicas").as_int(), options_.num_replicas);
  options_.seed = read_seed(state);
}

BatchSampler::BatchSampler(SamplerPtr sampler, std::int64_t batch_size, bool drop_last)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  BP_CHECK(sampler_, "BatchSampler: the sampler is null");
  BP_CHECK(batch_size > 0, "BatchSampler: batch_size is {}; it must be above 0", batch_size);
}

std::int64_t BatchSampler::size() const {
  return drop_last_ ? sampler_->size() / batch_size_ : divided_up(sampler_->size(), batch_size_);
}

std::vector<std::int64_t> BatchSampler::batch(std::int64_t number) const {
  BP_CHECK(number >= 0 && number < size(), "BatchSampler: batch {} of {}", number, size());
  const std::vector<std::int64_t>& order = order_of(sampler_->epoch());
  const auto begin = order.begin() + number * batch_size_;
  return {begin, begin + std::min<std::int64_t>(batch_size_, order.end() - begin)};
}

const std::vector<std::int64_t>& BatchSampler::order_of(std::int64_t epoch) const {
  for (Order& each : orders_)
    if (each.epoch == epoch) return each.indices;
  std::vector<std::int64_t> indices = sampler_->indices();
  BP_CHECK(static_cast<std::int64_t>(indices.size()) == sampler_->size(),
           "BatchSampler: the sampler's size is {}, and it gave {} indices; they must be equal",
           sampler_->size(), indices.size());
  std::swap(orders_[0], orders_[1]);
  orders_[0] = {epoch, std::move(indices)};
  return orders_[0].indices;
}

void BatchSampler::load_state_dict(const State& state) {
  sampler_->load_state_dict(state);
  for (Order& each : orders_) each = {};
}

}  // namespace bp::data
