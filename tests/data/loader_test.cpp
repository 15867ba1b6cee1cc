// needs: cpu
// What a loader promises whatever its workers are: order, resuming, errors, ends.
#include <backplane/nn/normalization.hpp>
#include <backplane/nn/update_bn.hpp>

#include "data/loaders.hpp"

namespace bp::test {
namespace {

TEST(Loaders, give_the_same_batches_whatever_the_workers) {
  const DatasetPtr dataset = noisy_dataset(23);
  std::vector<std::string> expected;
  for (const Workers& workers : all_workers()) {
    DataLoader loader(dataset, with({.batch_size = 4, .shuffle = true, .seed = 11}, workers));
    EXPECT_EQ(loader.size(), 6);
    std::vector<std::string> told = told_epoch(loader);
    const std::vector<std::string> second = told_epoch(loader);
    EXPECT_NE(told, second);
    told.insert(told.end(), second.begin(), second.end());
    if (expected.empty()) expected = told;
    EXPECT_EQ(told, expected) << workers;
  }
  EXPECT_EQ(expected.size(), 12u);
}

TEST(Loaders, of_streams_give_the_same_batches_whatever_the_workers) {
  const auto dataset = std::make_shared<Counting>(23);
  for (const bool drop_last : {false, true}) {
    std::vector<std::string> expected;
    for (const Workers& workers : all_workers()) {
      DataLoader loader(IterablePtr(dataset),
                        with({.batch_size = 4, .drop_last = drop_last}, workers));
      std::vector<std::string> told = told_epoch(loader);
      EXPECT_EQ(told.size(), drop_last ? 5u : 6u);
      const std::vector<std::string> second = told_epoch(loader);
      told.insert(told.end(), second.begin(), second.end());
      if (expected.empty()) expected = told;
      EXPECT_EQ(told, expected) << workers;
    }
  }
}

TEST(Loaders, go_on_in_the_middle_of_an_epoch_bit_for_bit) {
  const DatasetPtr dataset = noisy_dataset(20);
  for (const Workers& workers : all_workers()) {
    const DataLoaderOptions options = with({.batch_size = 3, .shuffle = true, .seed = 5}, workers);
    DataLoader whole(dataset, options);
    std::vector<std::string> expected = told_epoch(whole);
    const std::vector<std::string> second = told_epoch(whole);
    expected.insert(expected.end(), second.begin(), second.end());
    for (const std::size_t stop : {0u, 1u, 4u, 7u, 9u}) {
      std::vector<std::string> found;
      State state;
      {
        DataLoader loader(dataset, options);
        while (found.size() < stop)
          for (LoaderIterator epoch = loader.iterate(); found.size() < stop;) {
            const std::optional<Batch> batch = epoch.next();
            if (!batch) break;
            found.push_back(told(*batch));
          }
        state = loader.state_dict();
      }
      DataLoader resumed(dataset, options);
      resumed.load_state_dict(state);
      while (found.size() < expected.size())
        for (const Batch& batch : resumed) found.push_back(told(batch));
      EXPECT_EQ(found, expected) << workers << ", stopped at " << stop;
    }
  }
}

TEST(Loaders, of_streams_go_on_in_the_middle) {
  const IterablePtr dataset = std::make_shared<Counting>(20);
  for (const Workers& workers : all_workers()) {
    DataLoader whole(dataset, with({.batch_size = 3}, workers));
    const std::vector<std::string> expected = told_epoch(whole);
    DataLoader first(dataset, with({.batch_size = 3}, workers));
    LoaderIterator epoch = first.iterate();
    for (int i = 0; i < 4; ++i) epoch.next();
    DataLoader resumed(dataset, with({.batch_size = 3}, workers));
    resumed.load_state_dict(first.state_dict());
    EXPECT_EQ(told_epoch(resumed), (std::vector(expected.begin() + 4, expected.end()))) << workers;
  }
}

TEST(Loaders, after_an_epochs_end_go_on_with_the_next) {
  DataLoader loader(counted_dataset(6), {.batch_size = 4, .shuffle = true});
  told_epoch(loader);
  DataLoader resumed(counted_dataset(6), {.batch_size = 4, .shuffle = true});
  resumed.load_state_dict(loader.state_dict());
  EXPECT_EQ(told_epoch(resumed), told_epoch(loader));
}

TEST(Loaders, refuse_the_state_of_another) {
  DataLoader loader(counted_dataset(6), {.shuffle = true, .seed = 1});
  const State state = loader.state_dict();
  EXPECT_THAT(sentence_of([&] {
                DataLoader(counted_dataset(6), {.shuffle = true, .seed = 2}).load_state_dict(state);
              }),
              HasSubstr("saved with seed 1, and this loader has 2"));
  EXPECT_THAT(
      sentence_of([&] {
        DataLoader(IterablePtr(std::make_shared<Counting>(3)), {.seed = 1}).load_state_dict(state);
      }),
      HasSubstr("an indexed dataset"));
}

TEST(Loaders, carry_an_error_with_its_sample_class_and_text) {
  const auto dataset = std::make_shared<FunctionDataset>(12, [](std::int64_t index) -> Sample {
    if (index == 5) throw std::out_of_range("row 5 is missing");
    if (index == 9) throw_error(ErrorClass::unsupported, "no kernel for nine");
    if (index == 11) throw 3;
    return index;
  });
  for (const Workers& workers : all_workers()) {
    DataLoader loader(dataset, with({.batch_size = 2}, workers));
    LoaderIterator epoch = loader.iterate();
    int num_batches = 0;
    std::vector<std::string> errors;
    for (int i = 0; i < 6; ++i) try {
        num_batches += epoch.next().has_value();
      } catch (const SampleError& error) {
        errors.push_back(fmt::format("{} {} {}", error.index(), error.type(), error.text()));
        EXPECT_EQ(error.worker(), workers.count ? i % workers.count : -1);
        EXPECT_THAT(error.what(),
                    HasSubstr(fmt::format("sample {} of batch {}", error.index(), i)));
        EXPECT_EQ(error.error_class(), i == 2   ? ErrorClass::bad_argument
                                       : i == 4 ? ErrorClass::unsupported
                                                : ErrorClass::internal);
      }
    EXPECT_FALSE(epoch.next());
    EXPECT_EQ(num_batches, 3) << workers;
    EXPECT_EQ(errors,
              (std::vector<std::string>{"5 std::out_of_range row 5 is missing",
                                        "9 bp::Error no kernel for nine", "11 int it has no text"}))
        << workers;
  }
}

TEST(Loaders, carry_errors_of_collating_and_of_beginning) {
  const auto uneven = std::make_shared<FunctionDataset>(
      4, [](std::int64_t index) -> Sample { return ones({index + 1}); });
  for (const Workers& workers : all_workers()) {
    DataLoader loader(uneven, with({.batch_size = 2}, workers));
    EXPECT_THAT(sentence_of([&] { told_epoch(loader); }),
                HasSubstr("sample 0 has shape [1] and sample 1 has [2]"));
    if (workers.count == 0) continue;
    DataLoaderOptions options = with({}, workers);
    options.worker_init_fn = [](int worker) {
      throw std::runtime_error("no seat " + std::to_string(worker));
    };
    DataLoader begun(counted_dataset(3), options);
    EXPECT_THAT(sentence_of([&] { told_epoch(begun); }),
                HasSubstr("worker_init_fn in worker 0 threw std::runtime_error: no seat 0"));
  }
}

TEST(Loaders, tell_samples_where_they_are_made) {
  const auto dataset = std::make_shared<FunctionDataset>(6, [](std::int64_t) -> Sample {
    const SampleContext& context = *sample_context();
    return State::List{context.index, context.epoch, context.worker, context.num_workers};
  });
  DataLoader loader(dataset, {.batch_size = 2, .num_workers = 3, .seed = 4});
  LoaderIterator epoch = loader.iterate();
  const Batch second = (epoch.next(), *epoch.next());
  EXPECT_EQ(whole_of(second.as_list()[0].as_tensor()), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(whole_of(second.as_list()[2].as_tensor()), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(whole_of(second.as_list()[3].as_tensor()), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(sample_context(), nullptr);
}

TEST(Loaders, without_batch_size_give_samples_as_they_are) {
  for (const Workers& workers : all_workers()) {
    DataLoader loader(counted_dataset(3), with({.batch_size = std::nullopt}, workers));
    EXPECT_EQ(loader.size(), 3);
    for (const Batch& sample : loader) EXPECT_EQ(sample.as_list()[0].as_tensor().ndim(), 1);
  }
}

TEST(Loaders, call_an_own_collate_function) {
  for (const Workers& workers : all_workers()) {
    DataLoaderOptions options = with({.batch_size = 4}, workers);
    options.collate_fn = [](std::vector<Sample> samples) -> Batch {
      return static_cast<std::int64_t>(samples.size());
    };
    DataLoader loader(counted_dataset(10), options);
    EXPECT_EQ(told_epoch(loader), (std::vector<std::string>{"4", "4", "2"}));
  }
}

TEST(Loaders, take_own_batches) {
  struct Pairs : BatchSource {
    std::int64_t now = 0;
    std::int64_t size() const override { return 2; }
    std::vector<std::int64_t> batch(std::int64_t number) const override {
      return {number, 5 - number};
    }
    std::int64_t epoch() const override { return now; }
    void set_epoch(std::int64_t epoch) override { now = epoch; }
    State state_dict() const override { return State::dict(); }
    void load_state_dict(const State&) override {}
  };
  DataLoader loader(counted_dataset(6), {.batch_sampler = std::make_shared<Pairs>()});
  const Batch first = *loader.begin();
  EXPECT_EQ(whole_of(first.as_list()[1].as_tensor()), (std::vector<std::int64_t>{0, 5}));
}

TEST(Loaders, follow_a_samplers_epoch) {
  const auto sampler = std::make_shared<DistributedSampler>(
      12, DistributedSamplerOptions{.num_replicas = 2, .rank = 1});
  DataLoader loader(counted_dataset(12), {.batch_size = 6, .sampler = sampler});
  sampler->set_epoch(3);
  const std::vector<std::int64_t> third = sampler->indices();
  LoaderIterator epoch = loader.begin();
  EXPECT_EQ(whole_of((*epoch).as_list()[1].as_tensor()), third);
  EXPECT_EQ(sampler->epoch(), 3);
  epoch = {};
  EXPECT_EQ(sampler->epoch(), 4);
  told_epoch(loader);
  EXPECT_EQ(sampler->epoch(), 5);
}

TEST(Loaders, refuse_options_that_exclude_each_other) {
  const auto sentence = [](const DataLoaderOptions& options) {
    return sentence_of([&] { DataLoader(counted_dataset(3), options); });
  };
  EXPECT_THAT(sentence({.batch_size = 0}), HasSubstr("batch_size is 0"));
  EXPECT_THAT(sentence({.shuffle = true, .sampler = std::make_shared<SequentialSampler>(3)}),
              HasSubstr("shuffle and a sampler exclude each other"));
  EXPECT_THAT(sentence({.num_workers = -1}), HasSubstr("num_workers is -1"));
  EXPECT_THAT(sentence({.timeout = 1}), HasSubstr("needs workers"));
  EXPECT_THAT(sentence({.persistent_workers = true}), HasSubstr("needs workers"));
  EXPECT_THAT(sentence({.prefetch_factor = 0}), HasSubstr("prefetch_factor is 0"));
  EXPECT_THAT(sentence({.batch_size = std::nullopt, .drop_last = true}), HasSubstr("drop_last"));
  EXPECT_THAT(sentence_of([] { DataLoader(DatasetPtr(), {}); }), HasSubstr("is null"));
  EXPECT_THAT(sentence_of([] {
                DataLoader(IterablePtr(std::make_shared<Counting>(3)), {.shuffle = true});
              }),
              HasSubstr("its own order"));
}

TEST(Loaders, of_nothing_end_at_once) {
  for (const Workers& workers : all_workers()) {
    DataLoader loader(counted_dataset(0), with({.batch_size = 4}, workers));
    EXPECT_EQ(told_epoch(loader).size(), 0u);
    DataLoader stream(IterablePtr(std::make_shared<Counting>(0)), with({.batch_size = 4}, workers));
    EXPECT_EQ(told_epoch(stream).size(), 0u);
  }
}

TEST(Loaders, keep_persistent_workers_over_epochs) {
  for (const Workers& workers : all_workers()) {
    if (workers.count == 0) continue;
    DataLoader usual(noisy_dataset(10), with({.batch_size = 2, .shuffle = true}, workers));
    DataLoaderOptions options = with({.batch_size = 2, .shuffle = true}, workers);
    options.persistent_workers = true;
    DataLoader loader(noisy_dataset(10), options);
    EXPECT_EQ(told_epoch(loader), told_epoch(usual)) << workers;
    LoaderIterator left = loader.iterate();
    LoaderIterator same = usual.iterate();
    EXPECT_EQ(told(*left.next()), told(*same.next()));
    EXPECT_EQ(told_epoch(loader), told_epoch(usual)) << workers;
    EXPECT_THAT(sentence_of([&] { left.next(); }), HasSubstr("this epoch ended"));
  }
}

TEST(Loaders, work_beside_each_other_in_two_threads) {
  const auto run = [](WorkerKind kind, std::vector<std::string>& told) {
    DataLoader loader(noisy_dataset(30), with({.batch_size = 2, .shuffle = true}, {2, kind}));
    DataLoader other(noisy_dataset(30), with({.batch_size = 2, .shuffle = true}, {2, kind}));
    LoaderIterator a = loader.iterate(), b = other.iterate();
    while (std::optional<Batch> batch = a.next()) {
      told.push_back(bp::test::told(*batch));
      EXPECT_EQ(bp::test::told(*b.next()), told.back());
    }
  };
  std::vector<std::string> first, second;
  run(WorkerKind::thread, first);
  std::vector<std::string> third;
  std::thread one([&] { run(WorkerKind::thread, second); });
  std::thread two([&] { run(WorkerKind::thread, third); });
  one.join();
  two.join();
  EXPECT_EQ(first.size(), 15u);
  EXPECT_EQ(second, first);
  EXPECT_EQ(third, first);
}

TEST(Loaders, wait_for_as_long_as_they_are_told) {
  for (const double timeout : {1e12, 1e300, std::numeric_limits<double>::infinity()}) {
    DataLoader loader(noisy_dataset(3), {.num_workers = 1, .timeout = timeout});
    EXPECT_EQ(told_epoch(loader).size(), 3u);
  }
}

TEST(Loaders, say_when_a_worker_takes_too_long) {
  for (const WorkerKind kind : {WorkerKind::thread, WorkerKind::process}) {
    const auto slow = std::make_shared<FunctionDataset>(2, [](std::int64_t index) -> Sample {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return index;
    });
    DataLoaderOptions options = with({}, {1, kind});
    options.timeout = 0.05;
    DataLoader loader(slow, options);
    LoaderIterator epoch = loader.iterate();
    try {
      epoch.next();
      ADD_FAILURE() << "it came in time";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::timed_out);
      EXPECT_THAT(error.what(), HasSubstr("worker 0 did not make batch 0 within 0.05 s"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(whole_of(epoch.next()->as_tensor()), (std::vector<std::int64_t>{0}));
  }
}

TEST(Loaders, feed_update_bn) {
  nn::BatchNorm1d norm(2);
  DataLoader loader(counted_dataset(6), {.batch_size = 2, .num_workers = 1});
  nn::update_bn(loader, norm);
  EXPECT_EQ(values_of(to(norm.running_mean, f64)), (Values{2.5, 3}));
  EXPECT_EQ(values_of(to(norm.running_var, f64)), (Values{0.5, 0.5}));
}

}  // namespace
}  // namespace bp::test
