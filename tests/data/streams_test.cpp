// needs: cpu
// Streams that remember and draw: the same samples from any worker and wherever an epoch continues, errors included.
#include "data/loaders.hpp"

namespace bp::test {
namespace {

double drawn() {
  return item<double>(rand({}, f64, std::nullopt, &sample_generator()));
}

// A sample is {what the stream has drawn so far, a number of its own}: a walk that begins at random.
class Walk : public IterableDataset {
 public:
  explicit Walk(std::int64_t size) : size_(size) {}
  std::unique_ptr<SampleStream> stream(std::int64_t) const override {
    struct Stream : SampleStream {
      std::int64_t left = 0;
      double total = drawn();
      std::optional<Sample> next() override {
        if (left-- <= 0) return std::nullopt;
        total += drawn();
        return Sample(State::List{total, drawn()});
      }
    };
    auto made = std::make_unique<Stream>();
    made->left = size_;
    return made;
  }

 private:
  std::int64_t size_;
};

// Samples of which those throw that `is_bad` says.
class Broken : public IterableDataset {
 public:
  Broken(std::int64_t size, std::function<bool(std::int64_t)> is_bad)
      : size_(size), is_bad_(std::move(is_bad)) {}
  std::unique_ptr<SampleStream> stream(std::int64_t) const override {
    struct Stream : SampleStream {
      std::int64_t at = 0, size = 0;
      std::function<bool(std::int64_t)> is_bad;
      std::optional<Sample> next() override {
        if (at >= size) return std::nullopt;
        if (is_bad(at++)) throw std::runtime_error("a broken record");
        return Sample(State::List{at - 1, drawn()});
      }
    };
    auto made = std::make_unique<Stream>();
    made->size = size_;
    made->is_bad = is_bad_;
    return made;
  }

 private:
  std::int64_t size_;
  std::function<bool(std::int64_t)> is_bad_;
};

// Numbers that can be jumped over, and how many were made.
class Jumping : public IterableDataset {
 public:
  Jumping(std::int64_t first, std::int64_t size) : first_(first), size_(size) {}
  std::unique_ptr<SampleStream> stream(std::int64_t) const override {
    struct Stream : SampleStream {
      std::int64_t at = 0, end = 0;
      std::atomic<int>* made = nullptr;
      std::optional<Sample> next() override {
        if (at >= end) return std::nullopt;
        ++*made;
        return Sample(State::List{at++, drawn()});
      }
      std::int64_t jump(std::int64_t count) override {
        const std::int64_t jumped = std::min(count, end - at);
        at += jumped;
        return jumped;
      }
    };
    auto made = std::make_unique<Stream>();
    made->at = first_;
    made->end = first_ + size_;
    made->made = &num_made;
    return made;
  }
  mutable std::atomic<int> num_made{0};

 private:
  std::int64_t first_, size_;
};

// Batches, and errors as their sentences without the worker's name, up to the end.
std::vector<std::string> told_with_errors(LoaderIterator& epoch, std::size_t most = 1000) {
  std::vector<std::string> found;
  while (found.size() < most) try {
      const std::optional<Batch> batch = epoch.next();
      if (!batch) break;
      found.push_back(told(*batch));
    } catch (const SampleError& error) {
      found.push_back(fmt::format("{}: {}", error.index(), error.text()));
    }
  return found;
}

// One epoch of the dataset, the same for all workers, and from each place on.
std::vector<std::string> told_by_all(const IterablePtr& dataset, const DataLoaderOptions& options,
                                     std::size_t most_stops = 6) {
  std::vector<std::string> expected;
  for (const Workers& workers : all_workers()) {
    DataLoader whole(dataset, with(options, workers));
    LoaderIterator all = whole.iterate();
    const std::vector<std::string> found = told_with_errors(all);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << workers;
    for (std::size_t stop = 1; stop < std::min(expected.size(), most_stops); stop += 2) {
      DataLoader first(dataset, with(options, workers));
      LoaderIterator begun = first.iterate();
      told_with_errors(begun, stop);
      DataLoader resumed(dataset, with(options, workers));
      resumed.load_state_dict(first.state_dict());
      LoaderIterator rest = resumed.iterate();
      EXPECT_EQ(told_with_errors(rest), std::vector(expected.begin() + stop, expected.end()))
          << workers << ", from " << stop;
    }
  }
  return expected;
}

TEST(Streams, that_remember_what_they_drew_are_the_same_everywhere) {
  EXPECT_EQ(told_by_all(std::make_shared<Walk>(17), {.batch_size = 3, .seed = 5}).size(), 6u);
  const auto chain = std::make_shared<ChainDataset>(std::vector<IterablePtr>{
      std::make_shared<Walk>(4), std::make_shared<Jumping>(50, 5), std::make_shared<Walk>(3)});
  EXPECT_EQ(told_by_all(chain, {.batch_size = 2}).size(), 6u);
}

TEST(Streams, go_on_after_an_error_and_end) {
  const auto few = [](std::int64_t at) { return at == 4 || at == 5 || at == 13; };
  const std::vector<std::string> found =
      told_by_all(std::make_shared<Broken>(16, few), {.batch_size = 2});
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[2], "4: a broken record");
  EXPECT_EQ(found[6], "13: a broken record");
  EXPECT_THAT(found[3], HasSubstr(told(tensor({6.0, 7.0}))));
}

TEST(Streams, that_always_throw_end) {
  const auto all = [](std::int64_t) { return true; };
  const std::vector<std::string> found =
      told_by_all(std::make_shared<Broken>(1 << 30, all), {.batch_size = 2}, 0);
  ASSERT_EQ(found.size(), 100u);
  EXPECT_EQ(found[98], "196: a broken record");
  EXPECT_THAT(found[99], HasSubstr("thrown for 100 batches in a row, and the epoch ends here"));
  struct None : IterableDataset {
    std::unique_ptr<SampleStream> stream(std::int64_t) const override { return nullptr; }
  };
  EXPECT_EQ(told_by_all(std::make_shared<None>(), {.batch_size = 2}, 0).size(), 100u);
}

TEST(Streams, are_jumped_over_rather_than_made) {
  const auto first = std::make_shared<Jumping>(0, 400),
             second = std::make_shared<Jumping>(400, 600);
  const auto chain = std::make_shared<ChainDataset>(std::vector<IterablePtr>{first, second});
  DataLoader loader(IterablePtr(chain), {.batch_size = 10});
  LoaderIterator epoch = loader.iterate();
  for (int i = 0; i < 75; ++i) epoch.next();
  DataLoader resumed(IterablePtr(chain), {.batch_size = 10});
  resumed.load_state_dict(loader.state_dict());
  first->num_made = second->num_made = 0;
  EXPECT_EQ(told(*resumed.iterate().next()), told(*epoch.next()));
  EXPECT_EQ(first->num_made, 0);
  EXPECT_EQ(second->num_made, 21);  // one to learn that the first stream is at its end
  const auto stream = chain->stream(0);
  stream->skip(500);
  EXPECT_EQ(stream->next()->as_list()[0].as_int(), 500);
  EXPECT_EQ(told_by_all(chain, {.batch_size = 30}).size(), 34u);
}

TEST(Streams, that_jump_too_far_are_refused) {
  struct Far : IterableDataset {
    struct Stream : SampleStream {
      std::optional<Sample> next() override { return Sample(1); }
      std::int64_t jump(std::int64_t count) override { return count + 1; }
    };
    std::unique_ptr<SampleStream> stream(std::int64_t) const override {
      return std::make_unique<Stream>();
    }
  };
  DataLoader loader(IterablePtr(std::make_shared<Far>()), {.batch_size = 2, .num_workers = 2});
  LoaderIterator epoch = loader.iterate();
  epoch.next();
  EXPECT_THAT(sentence_of([&] { epoch.next(); }),
              HasSubstr("jumped over 3 samples when it was asked for 2"));
}

TEST(Joining, draws_the_same_numbers_in_any_worker) {
  DataLoaderOptions options{.batch_size = 3};
  options.collate_fn = [](const std::vector<Sample>&) -> Batch {
    return State::List{sample_context()->index, drawn()};
  };
  std::vector<std::string> expected;
  for (const Workers& workers : all_workers()) {
    DataLoader loader(counted_dataset(12), with(options, workers));
    const std::vector<std::string> found = told_epoch(loader);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << workers;
    DataLoader stream(IterablePtr(std::make_shared<Walk>(12)), with(options, workers));
    EXPECT_EQ(told_epoch(stream), expected) << workers;
  }
}

}  // namespace
}  // namespace bp::test
