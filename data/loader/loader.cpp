#include <algorithm>

#include <backplane/tensor/check.hpp>

#include "loader/pool.hpp"

namespace bp::data {
namespace {

void check_options(const DataLoaderOptions& options, bool is_iterable) {
  BP_CHECK(!options.batch_size || *options.batch_size > 0,
           "DataLoader: batch_size is {}; it must be above 0, or std::nullopt for samples as they "
           "are",
           options.batch_size.value_or(0));
  BP_CHECK(options.num_workers >= 0, "DataLoader: num_workers is {}; it must be at least 0",
           options.num_workers);
  BP_CHECK(options.prefetch_factor > 0, "DataLoader: prefetch_factor is {}; it must be above 0",
           options.prefetch_factor);
  BP_CHECK(options.timeout >= 0, "DataLoader: timeout is {} s; it must be at least 0",
           options.timeout);
  BP_CHECK(options.num_workers > 0 || options.timeout == 0,
           "DataLoader: a timeout of {} s needs workers; num_workers is 0", options.timeout);
  BP_CHECK(options.num_workers > 0 || !options.persistent_workers,
           "DataLoader: persistent_workers needs workers; num_workers is 0");
  BP_CHECK(!options.sampler || !options.shuffle,
           "DataLoader: shuffle and a sampler exclude each other; the sampler decides the order");
  BP_CHECK(!options.batch_sampler || (!options.shuffle && !options.sampler && !options.drop_last &&
                                      options.batch_size == std::int64_t{1}),
           "DataLoader: a batch_sampler takes the place of batch_size, shuffle, sampler and "
           "drop_last; leave these out");
  BP_CHECK(options.batch_size || !options.drop_last,
           "DataLoader: drop_last needs a batch_size; there are no batches without one");
  BP_CHECK(!is_iterable || (!options.shuffle && !options.sampler && !options.batch_sampler),
           "DataLoader: an IterableDataset has its own order; leave out shuffle, sampler and "
           "batch_sampler");
}

std::shared_ptr<BatchSource> batches_of(const Dataset& dataset, const DataLoaderOptions& options) {
  if (options.batch_sampler) return options.batch_sampler;
  SamplerPtr sampler = options.sampler;
  if (!sampler && options.shuffle)
    sampler =
        std::make_shared<RandomSampler>(dataset.size(), RandomSamplerOptions{.seed = options.seed});
  if (!sampler) sampler = std::make_shared<SequentialSampler>(dataset.size());
  return std::make_shared<BatchSampler>(sampler, options.batch_size.value_or(1), options.drop_last);
}

}  // namespace

struct DataLoader::Shared {
  std::shared_ptr<FetchPlan> plan = std::make_shared<FetchPlan>();
  std::shared_ptr<BatchSource> batches;  // null: the dataset is iterable
  std::int64_t iterable_epoch = 0;

  // Of the latest epoch, which was begun or whose state was loaded.
  std::int64_t latest = -1;      // -1: none
  std::int64_t position = 0;     // how many of its batches were given to the caller
  bool is_resumed = false;       // its rest is what begins next
  bool is_finished = false;      // the caller has seen its end
  bool is_left = false;          // the sampler was moved on from it
  std::uint64_t generation = 0;  // tells live iterators which of them is the latest
  std::shared_ptr<Pool> persistent;

  std::int64_t epoch() const { return batches ? batches->epoch() : iterable_epoch; }
  // Has nobody called the sampler's set_epoch since?
  bool is_at_latest() const { return latest >= 0 && epoch() == latest + (is_left ? 1 : 0); }
  // Moves on to the epoch after the latest one: when it ends, so that a set_epoch after that holds.
  void leave_latest() {
    const bool was_set = !is_at_latest();
    if (is_left) return;
    is_left = true;
    if (!was_set) set_epoch(latest + 1);
  }
  void set_epoch(std::int64_t epoch) {
    if (batches)
      batches->set_epoch(epoch);
    else
      iterable_epoch = epoch;
  }

  std::shared_ptr<Pool> pool() {
    const DataLoaderOptions& options = plan->options;
    if (persistent && persistent->is_whole()) return persistent;
    persistent.reset();
    std::shared_ptr<Pool> made;
    if (options.num_workers == 0)
      made = make_inline_pool(plan);
    else if (options.worker_kind == WorkerKind::thread)
      made = make_thread_pool(plan);
    else
      made = make_process_pool(plan);
    if (options.persistent_workers) persistent = made;
    return made;
  }
};

namespace {

// A stream that throws at every call would make an epoch without an end.
constexpr int most_failures_in_a_row = 100;

// The sampler stands at another epoch than the one that is asked about, as when a newer one has begun.
class AtEpoch {
 public:
  AtEpoch(BatchSource& batches, std::int64_t epoch) : batches_(batches), before_(batches.epoch()) {
    if (before_ != epoch) batches_.set_epoch(epoch);
  }
  ~AtEpoch() {
    try {
      if (batches_.epoch() != before_) batches_.set_epoch(before_);
    } catch (...) {  // of a sampler's own, which took the way here without
    }
  }
  AtEpoch(const AtEpoch&) = delete;
  AtEpoch& operator=(const AtEpoch&) = delete;

 private:
  BatchSource& batches_;
  const std::int64_t before_;
};

}  // namespace

struct LoaderIterator::Epoch {
  ~Epoch() {
    try {
      leave();
    } catch (...) {  // of a sampler's own set_epoch
    }
  }

  std::shared_ptr<DataLoader::Shared> shared;
  std::shared_ptr<Pool> pool;
  std::uint64_t generation = 0;
  std::int64_t epoch = 0;
  std::int64_t num_batches = -1;  // -1: not known
  std::int64_t submitted = 0;     // the first batch that no worker was asked for
  std::int64_t given = 0;         // the batch to give next
  int failures_in_a_row = 0;
  bool at_end = false;

  const DataLoaderOptions& options() const { return shared->plan->options; }
  int num_workers() const { return std::max(1, options().num_workers); }
  int worker_of(std::int64_t batch) const { return static_cast<int>(batch % num_workers()); }

  void submit_ahead() {
    const std::int64_t ahead = options().num_workers == 0
                                   ? 1
                                   : std::int64_t{1} * num_workers() * options().prefetch_factor;
    while (submitted < given + ahead && (num_batches < 0 || submitted < num_batches)) {
      Task task{generation, epoch, submitted, {}};
      if (shared->batches) {
        const AtEpoch mine(*shared->batches, epoch);
        task.indices = shared->batches->batch(submitted);
      }
      pool->submit(worker_of(submitted), std::move(task));
      ++submitted;
    }
  }

  std::optional<Batch> next();
  Fetched wait_for(std::int64_t batch);
  [[noreturn]] void throw_failure(const Failure& failure, std::int64_t batch) const;
  bool is_latest() const { return shared && shared->generation == generation; }
  void leave() {
    if (is_latest()) shared->leave_latest();
  }
  void finish() {
    at_end = true;
    if (is_latest()) shared->is_finished = true;
    pool.reset();
    leave();
  }
};

std::optional<Batch> LoaderIterator::Epoch::next() {
  if (at_end) return std::nullopt;
  BP_CHECK(!shared->persistent || is_latest(),
           "DataLoader: this epoch ended when a newer one of the same loader took its persistent "
           "workers");
  if (num_batches >= 0 && given >= num_batches) {
    finish();
    return std::nullopt;
  }
  submit_ahead();
  Fetched result = wait_for(given);
  if (result.at_end) {
    finish();
    return std::nullopt;
  }
  const std::int64_t batch = given++;
  if (is_latest()) shared->position = given;
  failures_in_a_row = result.failure ? failures_in_a_row + 1 : 0;
  if (failures_in_a_row == most_failures_in_a_row && !shared->batches) {
    result.failure->text +=
        fmt::format("; the dataset has thrown for {} batches in a row, and the epoch ends here",
                    most_failures_in_a_row);
    finish();
  }
  if (result.failure) throw_failure(*result.failure, batch);
  submit_ahead();
  return std::move(result.value);
}

Fetched LoaderIterator::Epoch::wait_for(std::int64_t batch) {
  std::optional<Clock::time_point> until;
  if (options().timeout > 0)
    until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::min(options().timeout, 1e9)));
  std::optional<Fetched> result = pool->wait(worker_of(batch), batch, until);
  if (!result)
    throw_error(ErrorClass::timed_out,
                fmt::format("DataLoader: worker {} did not make batch {} within {} s; ask again, "
                            "or raise the timeout",
                            worker_of(batch), batch, options().timeout));
  return std::move(*result);
}

void LoaderIterator::Epoch::throw_failure(const Failure& failure, std::int64_t batch) const {
  const int worker = options().num_workers > 0 ? worker_of(batch) : -1;
  std::string what = fmt::format("batch {}", batch);
  if (failure.in_init) what = "worker_init_fn";
  if (failure.index >= 0) what = fmt::format("sample {} of batch {}", failure.index, batch);
  std::string who;
  if (worker >= 0) who = fmt::format(" in worker {}", worker);
  throw SampleError(
      failure.error_class,
      fmt::format("DataLoader: {}{} threw {}: {}", what, who, failure.type, failure.text),
      failure.index, worker, failure.type, failure.text);
}

LoaderIterator::LoaderIterator() = default;
LoaderIterator::~LoaderIterator() = default;
LoaderIterator::LoaderIterator(LoaderIterator&&) noexcept = default;
LoaderIterator& LoaderIterator::operator=(LoaderIterator&&) noexcept = default;

std::optional<Batch> LoaderIterator::next() {
  return epoch_ ? epoch_->next() : std::nullopt;
}

LoaderIterator& LoaderIterator::operator++() {
  current_.reset();  // after an error there is no batch at hand, least of all the one before
  current_ = next();
  return *this;
}

DataLoader::DataLoader(DatasetPtr dataset, DataLoaderOptions options)
    : shared_(std::make_shared<Shared>()) {
  BP_CHECK(dataset, "DataLoader: the dataset is null");
  check_options(options, false);
  shared_->batches = batches_of(*dataset, options);
  shared_->plan->dataset = std::move(dataset);
  shared_->plan->options = std::move(options);
}

DataLoader::DataLoader(IterablePtr dataset, DataLoaderOptions options)
    : shared_(std::make_shared<Shared>()) {
  BP_CHECK(dataset, "DataLoader: the dataset is null");
  check_options(options, true);
  shared_->plan->iterable = std::move(dataset);
  shared_->plan->options = std::move(options);
}

DataLoader::~DataLoader() = default;
DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&&) noexcept = default;

std::int64_t DataLoader::size() const {
  BP_CHECK(shared_->batches,
           "DataLoader: an IterableDataset does not know how many samples it has");
  return shared_->batches->size();
}

LoaderIterator DataLoader::iterate() {
  Shared& shared = *shared_;
  if (!shared.is_resumed || !shared.is_at_latest()) {
    if (shared.latest >= 0) shared.leave_latest();
    shared.position = 0;
  }
  auto epoch = std::make_unique<LoaderIterator::Epoch>();
  epoch->pool = shared.pool();
  shared.is_resumed = shared.is_finished = shared.is_left = false;
  shared.latest = shared.epoch();
  epoch->shared = shared_;
  epoch->generation = ++shared.generation;
  epoch->epoch = shared.latest;
  epoch->num_batches = shared.batches ? shared.batches->size() : -1;
  epoch->submitted = epoch->given = shared.position;
  epoch->pool->begin(epoch->generation);
  LoaderIterator iterator;
  iterator.epoch_ = std::move(epoch);
  return iterator;
}

LoaderIterator DataLoader::begin() {
  LoaderIterator iterator = iterate();
  ++iterator;
  return iterator;
}

State DataLoader::state_dict() const {
  const Shared& shared = *shared_;
  const bool is_latest = shared.is_at_latest();
  const std::int64_t epoch = is_latest ? shared.latest : shared.epoch();
  State batches;
  if (shared.batches) {
    const AtEpoch mine(*shared.batches, epoch);
    batches = shared.batches->state_dict();
  }
  return State::dict({{"epoch", epoch},
                      {"position", is_latest ? shared.position : 0},
                      {"is_finished", is_latest && shared.is_finished},
                      {"seed", static_cast<std::int64_t>(shared.plan->options.seed)},
                      {"batch_size", shared.plan->options.batch_size.value_or(0)},
                      {"batches", std::move(batches)}});
}

void DataLoader::load_state_dict(const State& state) {
  Shared& shared = *shared_;
  const DataLoaderOptions& options = shared.plan->options;
  const auto seed = static_cast<std::uint64_t>(state.at("seed").as_int());
  BP_CHECK(seed == options.seed,
           "DataLoader: the state was saved with seed {}, and this loader has {}; make it with the "
           "same seed",
           seed, options.seed);
  const std::int64_t batch_size = state.at("batch_size").as_int();
  BP_CHECK(batch_size == options.batch_size.value_or(0),
           "DataLoader: the state was saved with batch_size {}, and this loader has {} (0: none); "
           "make it with the same one, since the state counts batches",
           batch_size, options.batch_size.value_or(0));
  const std::int64_t epoch = state.at("epoch").as_int(), position = state.at("position").as_int();
  BP_CHECK(epoch >= 0 && position >= 0, "DataLoader: the state is at batch {} of epoch {}",
           position, epoch);
  const bool is_finished = state.at("is_finished").as_bool();
  const State& batches = state.at("batches");
  BP_CHECK(batches.is_none() == (shared.batches == nullptr),
           "DataLoader: the state was saved with {} dataset, and this loader has the other kind",
           batches.is_none() ? "an iterable" : "an indexed");
  if (shared.batches) shared.batches->load_state_dict(batches);
  shared.set_epoch(is_finished ? epoch + 1 : epoch);
  ++shared.generation;  // an epoch that is still on its way is the latest no more
  shared.latest = epoch;
  shared.position = position;
  shared.is_resumed = !is_finished;
  shared.is_finished = shared.is_left = is_finished;
}

}  // namespace bp::data
