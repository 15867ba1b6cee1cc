// Batches of a dataset, prepared ahead of time by other threads or processes.
//
//   data::DataLoader loader(dataset, {.batch_size = 32, .shuffle = true, .num_workers = 2});
//   for (int epoch = 0; epoch < 10; ++epoch)
//     for (const data::Batch& batch : loader) train(batch.as_list()[0].as_tensor(), ...);
//
// Which batches there are, in which order, and which random numbers their samples saw depends on the seed and the epoch
// alone: not on the number or kind of workers, nor on whether the epoch was interrupted and resumed (state_dict).
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include <backplane/data/collate.hpp>
#include <backplane/data/dataset.hpp>
#include <backplane/data/sampler.hpp>
#include <backplane/tensor/error.hpp>

namespace bp::data {

// Threads share the process's memory, and start at once. A process of its own is for code that is not safe in several
// threads, or may crash.
//
// A worker process is forked from this one when iteration begins, and runs the dataset's get, the collate_fn and the
// worker_init_fn on one thread of the host. The contract: these use no device but the host's, and take no lock that another
// thread of the program may hold at that moment. Backplane's own, malloc's, and OpenMP's pool are taken care of. Tensors come
// back through shared memory, which the parent maps. Workers die with their parent.
enum class WorkerKind : std::uint8_t { thread, process };

// Names and defaults are PyTorch's, but for `seed`, which stands for the generator, and for worker_kind.
struct DataLoaderOptions {
  // Without a batch size, each sample is a batch.
  std::optional<std::int64_t> batch_size = 1;
  bool shuffle = false;
  SamplerPtr sampler = {};  // in place of shuffle
  std::shared_ptr<BatchSource> batch_sampler =
      {};                   // in place of batch_size, shuffle, sampler and drop_last
  int num_workers = 0;      // 0: the caller's thread makes each batch when it is asked for
  Collate collate_fn = {};  // default_collate
  // Copies the batches' tensors into memory from which this device copies at full speed; ordinary memory if it has none.
  std::optional<Device> pin_memory = {};
  bool drop_last = false;
  double timeout = 0;  // seconds to wait for a batch of a worker; 0: forever
  std::function<void(int worker)> worker_init_fn = {};
  int prefetch_factor = 2;  // batches ahead, for each worker
  bool persistent_workers = false;
  WorkerKind worker_kind = WorkerKind::thread;
  std::uint64_t seed = 0;
};

// An error of a dataset, a collate_fn or a worker_init_fn, thrown to the caller that asked for the batch. The class of a
// bp::Error is kept; bad_alloc is out_of_memory, invalid_argument and out_of_range are bad_argument, all else is internal.
class BP_API SampleError : public Error {
 public:
  SampleError(ErrorClass error_class, const std::string& message, std::int64_t index, int worker,
              std::string type, std::string text)
      : Error(error_class, message), index_(index), worker_(worker), type_(std::move(type)),
        text_(std::move(text)) {}
  // The sample's index in the dataset; -1: the whole batch, or worker_init_fn.
  std::int64_t index() const { return index_; }
  int worker() const { return worker_; }  // -1: the caller's thread
  // The C++ type that was thrown, and its own text.
  const std::string& type() const { return type_; }
  const std::string& text() const { return text_; }

 private:
  std::int64_t index_;
  int worker_;
  std::string type_, text_;
};

// An epoch in progress. After an error in a sample it continues with the next batch; a stream that has thrown for 100
// batches in a row ends. When it ends or is destroyed, so do its workers, unless they are persistent: threads finish
// their current sample, processes get a moment and are then killed.
class BP_API LoaderIterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  LoaderIterator();
  ~LoaderIterator();
  LoaderIterator(LoaderIterator&&) noexcept;
  LoaderIterator& operator=(LoaderIterator&&) noexcept;

  // The next batch; nothing at the end. Throws SampleError; timed_out; peer_lost if a worker process died, with its signal.
  std::optional<Batch> next();

  // For range-for, which always holds the next batch.
  const Batch& operator*() const { return *current_; }
  LoaderIterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !current_.has_value(); }

 private:
  friend class DataLoader;
  struct Epoch;
  std::unique_ptr<Epoch> epoch_;
  std::optional<Batch> current_;
};

// Threads: several loaders at once, from any threads; one loader belongs to one thread at a time.
class BP_API DataLoader {
 public:
  // Throws bad_argument for options that exclude each other.
  explicit DataLoader(DatasetPtr dataset, DataLoaderOptions options = {});
  explicit DataLoader(IterablePtr dataset, DataLoaderOptions options = {});
  ~DataLoader();
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;

  // How many batches an epoch has; throws bad_argument for an IterableDataset, which does not know.
  std::int64_t size() const;

  // A new epoch; or the rest of one, after load_state_dict. When an epoch ends or is left, the
  // sampler moves on to the next by itself, so the last set_epoch before an epoch begins decides
  // which one it is; after load_state_dict, a set_epoch of another epoch begins that epoch from its
  // start. Several epochs of one loader may run at once, each with its own order and random
  // numbers; but with persistent workers, which have one at a time, an older one throws
  // bad_argument from here on. An epoch may outlive the loader.
  LoaderIterator iterate();
  LoaderIterator begin();
  std::default_sentinel_t end() const { return {}; }

  // The position in the latest epoch: its number, how many of its batches were given to the caller, and the sampler's
  // state.
  State state_dict() const;
  // The next epoch to begin is the rest of that one, or the one after it if its end was seen. Throws bad_argument for a state
  // of another seed, batch_size or sampler.
  void load_state_dict(const State& state);

 private:
  friend class LoaderIterator;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace bp::data
