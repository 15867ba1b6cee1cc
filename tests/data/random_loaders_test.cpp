// needs: cpu
// Loaders of random options and lives against a plain reading of the same samples. A failure names its seed; other seeds than
// the first come with --gtest_random_seed=N.
#include <csignal>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>

#include "data/loaders.hpp"

namespace bp::test {
namespace {

// AddressSanitizer's allocator has locks that a fork's child finds held by threads that it does not have; ThreadSanitizer
// ends such a child. Without them the C library sees to its own.
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
constexpr bool may_fork_beside_threads = false;
#else
constexpr bool may_fork_beside_threads = true;
#endif

// A number that all processes see, as what happens once in a loader's life.
class SharedFlag {
 public:
  SharedFlag()
      : at_(static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>),
                                                PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                                -1, 0))) {}
  ~SharedFlag() { munmap(at_, sizeof *at_); }
  SharedFlag(const SharedFlag&) = delete;
  SharedFlag& operator=(const SharedFlag&) = delete;
  bool set_first() const { return at_->exchange(1) == 0; }

 private:
  std::atomic<int>* at_;
};

// What makes the samples, by index or by a stream, and what they do besides.
struct Recipe {
  std::int64_t size = 0;
  std::set<std::int64_t> bad, large;
  std::int64_t deadly = -1;  // whose worker process dies, once
  pid_t parent = getpid();
  std::shared_ptr<SharedFlag> has_died = std::make_shared<SharedFlag>();

  Sample sample(std::int64_t index) const {
    if (index == deadly && getpid() != parent && has_died->set_first()) raise(SIGKILL);
    if (bad.contains(index)) throw std::runtime_error(fmt::format("no {}", index));
    const Tensor noise = rand({2}, f64, std::nullopt, &sample_generator());
    const std::int64_t numbers = large.empty() ? 3 : 20000;
    return State::dict(
        {{"index", index}, {"noise", noise}, {"pixels", full({numbers}, index, u8)}});
  }
};
using RecipePtr = std::shared_ptr<const Recipe>;

class RecipeStreams : public IterableDataset {
 public:
  explicit RecipeStreams(RecipePtr recipe) : recipe_(std::move(recipe)) {}
  std::unique_ptr<SampleStream> stream(std::int64_t) const override {
    struct Stream : SampleStream {
      RecipePtr recipe;
      std::int64_t at = 0;
      double walk = item<double>(rand({}, f64, std::nullopt, &sample_generator()));
      std::optional<Sample> next() override {
        if (at >= recipe->size) return std::nullopt;
        walk += item<double>(rand({}, f64, std::nullopt, &sample_generator()));
        Sample made = recipe->sample(at++);
        made.set("walk", walk);
        return made;
      }
    };
    auto made = std::make_unique<Stream>();
    made->recipe = recipe_;
    return made;
  }

 private:
  RecipePtr recipe_;
};

class RandomLoader {
 public:
  explicit RandomLoader(unsigned seed) : random_(seed), recipe_(std::make_shared<Recipe>()) {
    recipe_->size = below(30);
    for (std::int64_t i = below(4) == 0 ? below(5) : 0; i > 0; --i) recipe_->bad.insert(below(30));
    if (below(3) == 0) recipe_->large.insert(0);
    if (below(2) == 0) recipe_->deadly = below(recipe_->size + 1);
    is_stream_ = below(3) == 0;
    usual_.seed = seed;
    if (below(6) == 0)
      usual_.batch_size = std::nullopt;
    else
      usual_.batch_size = 1 + below(6);
    usual_.drop_last = usual_.batch_size && below(3) == 0;
    if (below(4) == 0) usual_.pin_memory = device("cpu");
    sampler_kind_ = static_cast<int>(below(6));
  }

  // Epochs that are read to their end, left, gone on with elsewhere, beside others and in forks.
  void live() {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) expected_.push_back(plain(epoch));
    renew();
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      LoaderIterator iterator = loader_->iterate();
      std::vector<std::string> found;
      while (take(iterator, found)) {
        const std::int64_t what = below(12);
        if (what == 0) break;
        if (what == 1) go_on_elsewhere(iterator);
        if (what == 2 && (may_fork_beside_threads || !has_threads_)) in_a_fork(iterator);
      }
      const std::vector<std::string>& all = expected_[static_cast<std::size_t>(epoch)];
      ASSERT_LE(found.size(), all.size());
      if (is_open_)
        ASSERT_EQ(found, std::vector(all.begin(), all.begin() + std::ssize(found)));
      else
        ASSERT_EQ(found, all);
    }
  }

 private:
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }

  SamplerPtr sampler() const {
    const std::int64_t size = recipe_->size;
    switch (size == 0 ? 0 : sampler_kind_) {
      case 1: return std::make_shared<RandomSampler>(size, RandomSamplerOptions{.seed = 3});
      case 2:
        return std::make_shared<RandomSampler>(
            size, RandomSamplerOptions{.replacement = true, .num_samples = 17, .seed = 4});
      case 3:
        return std::make_shared<SubsetRandomSampler>(std::vector<std::int64_t>{0, size - 1, 0}, 5);
      case 4:
        return std::make_shared<WeightedRandomSampler>(
            std::vector<double>(static_cast<std::size_t>(size), 0.5), 11, true, 6);
      case 5:
        return std::make_shared<DistributedSampler>(
            size, DistributedSamplerOptions{.num_replicas = 3, .rank = 2, .seed = 7});
      default: return std::make_shared<SequentialSampler>(size);
    }
  }

  // A loader of the same batches, with workers of another number and kind.
  void renew() {
    DataLoaderOptions options = usual_;
    if (!is_stream_) options.sampler = sampler();
    options.num_workers = static_cast<int>(below(4));
    options.worker_kind = below(2) ? WorkerKind::process : WorkerKind::thread;
    options.prefetch_factor = 1 + static_cast<int>(below(4));
    if (options.num_workers > 0) {
      options.timeout = 60;
      options.persistent_workers = below(2) != 0;
    }
    has_threads_ = options.num_workers > 0 && options.worker_kind == WorkerKind::thread;
    told_ = fmt::format("{} {} prefetching {}{}", options.num_workers,
                        options.worker_kind == WorkerKind::process ? "processes" : "threads",
                        options.prefetch_factor, options.persistent_workers ? ", persistent" : "");
    const RecipePtr recipe = recipe_;
    if (is_stream_)
      loader_ = std::make_unique<DataLoader>(IterablePtr(std::make_shared<RecipeStreams>(recipe)),
                                             options);
    else
      loader_ = std::make_unique<DataLoader>(
          DatasetPtr(std::make_shared<FunctionDataset>(
              recipe->size, [recipe](std::int64_t index) { return recipe->sample(index); })),
          options);
  }

  // False at the end.
  bool take(LoaderIterator& iterator, std::vector<std::string>& found) {
    SCOPED_TRACE(told_);
    is_open_ = true;
    try {
      const std::optional<Batch> batch = iterator.next();
      is_open_ = batch.has_value();
      if (batch) found.push_back(told(*batch));
    } catch (const SampleError& error) {
      found.push_back(fmt::format("{} {}", error.index(), error.text()));
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::peer_lost) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("killed by signal 9"));
      loader_->load_state_dict(loader_->state_dict());
      iterator = loader_->iterate();
    }
    return is_open_;
  }

  // The old loader goes before or after the old epoch, or when both have a successor.
  void go_on_elsewhere(LoaderIterator& iterator) {
    const State state = loader_->state_dict();
    const auto order = below(3);
    std::unique_ptr<DataLoader> old;
    if (!may_fork_beside_threads && has_threads_) {
      iterator = {};
      loader_.reset();
    }
    if (order == 0) old = std::move(loader_);
    if (order == 1) loader_.reset();
    renew();
    loader_->load_state_dict(state);
    if (order == 2) loader_->load_state_dict(loader_->state_dict());
    iterator = loader_->iterate();
  }

  // A copy of the program ends all that it has inherited.
  void in_a_fork(LoaderIterator& iterator) {
#ifndef __SANITIZE_THREAD__  // a loader of processes has a thread that keeps them
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      iterator = {};
      loader_.reset();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
#else
    static_cast<void>(iterator);
#endif
  }

  // All batches of an epoch, and errors in the place of those that can't be made.
  std::vector<std::string> plain(std::int64_t epoch) const {
    std::vector<std::string> batches;
    std::vector<std::int64_t> indices;
    std::unique_ptr<SampleStream> stream;
    if (is_stream_) {
      const SampleScope scope({usual_.seed, epoch, -1});
      stream = RecipeStreams(recipe_).stream(epoch);
      for (std::int64_t i = 0; i < recipe_->size; ++i) indices.push_back(i);
    } else {
      const SamplerPtr order = sampler();
      order->set_epoch(epoch);
      indices = order->indices();
    }
    const auto size = static_cast<std::size_t>(usual_.batch_size.value_or(1));
    for (std::size_t begin = 0; begin < indices.size(); begin += size) {
      const std::size_t end = std::min(begin + size, indices.size());
      const bool is_left_out = usual_.drop_last && end - begin < size;
      if (is_left_out && !(is_stream_ && fails(indices, begin, end))) break;
      std::vector<Sample> samples;
      std::string error;
      for (std::size_t at = begin; at < end; ++at) {
        const SampleScope scope({usual_.seed, epoch, indices[at]});
        try {
          samples.push_back(stream ? *stream->next() : recipe_->sample(indices[at]));
        } catch (const std::exception& thrown) {
          if (error.empty()) error = fmt::format("{} {}", indices[at], thrown.what());
        }
      }
      if (error.empty()) error = told(usual_.batch_size ? default_collate(samples) : samples[0]);
      batches.push_back(error);
    }
    return batches;
  }

  // A stream does not know yet that its last batch is short when a sample of it throws.
  bool fails(const std::vector<std::int64_t>& indices, std::size_t begin, std::size_t end) const {
    return std::any_of(indices.begin() + static_cast<std::ptrdiff_t>(begin),
                       indices.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](std::int64_t index) { return recipe_->bad.contains(index); });
  }

  std::mt19937_64 random_;
  std::shared_ptr<Recipe> recipe_;
  bool is_stream_ = false;
  int sampler_kind_ = 0;
  DataLoaderOptions usual_;
  std::vector<std::vector<std::string>> expected_;
  bool is_open_ = true;
  bool has_threads_ = false;
  std::string told_;  // of the present loader's workers
  std::unique_ptr<DataLoader> loader_;
};

TEST(RandomLoaders, read_what_a_plain_loop_reads) {
  const auto count = 60u;
  const auto first = count * static_cast<unsigned>(GTEST_FLAG_GET(random_seed));
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLoader(seed).live();
  }
}

}  // namespace
}  // namespace bp::test
