// needs: cpu
// Which epoch a loader begins: by itself, by set_epoch, by a state; and several beside each other.
#include "data/loaders.hpp"

namespace bp::test {
namespace {

// A loader of shuffled samples, with the sampler at hand.
struct Shuffled {
  std::shared_ptr<RandomSampler> sampler = std::make_shared<RandomSampler>(14);
  DataLoader loader;
  explicit Shuffled(const Workers& workers, bool persistent = false)
      : loader(noisy_dataset(14), options(workers, persistent)) {}
  DataLoaderOptions options(const Workers& workers, bool persistent) const {
    DataLoaderOptions made = with({.batch_size = 4, .sampler = sampler}, workers);
    made.persistent_workers = persistent && workers.count > 0;
    return made;
  }
};

std::vector<std::string> told_of(const Workers& workers, std::int64_t epoch) {
  Shuffled each(workers);
  each.sampler->set_epoch(epoch);
  return told_epoch(each.loader);
}

std::vector<std::string> told_rest(LoaderIterator& epoch) {
  std::vector<std::string> found;
  while (const std::optional<Batch> batch = epoch.next()) found.push_back(told(*batch));
  return found;
}

TEST(Epochs, are_those_that_set_epoch_says_again_and_again) {
  for (const Workers& workers : all_workers()) {
    const std::vector<std::string> third = told_of(workers, 3);
    Shuffled each(workers);
    for (int time = 0; time < 4; ++time) {
      each.sampler->set_epoch(3);
      EXPECT_EQ(told_epoch(each.loader), third) << workers << ", time " << time;
    }
    EXPECT_EQ(told_epoch(each.loader), told_of(workers, 4));
    each.sampler->set_epoch(3);
    each.loader.iterate().next();  // left in its middle
    EXPECT_EQ(told_epoch(each.loader), told_of(workers, 4));
    EXPECT_EQ(told_epoch(each.loader), told_of(workers, 5));
  }
}

TEST(Epochs, keep_their_order_when_the_next_one_is_chosen_meanwhile) {
  const Workers workers{1, WorkerKind::thread};
  Shuffled each(workers);
  LoaderIterator epoch = each.loader.iterate();
  std::vector<std::string> found = {told(*epoch.next())};
  each.sampler->set_epoch(7);
  for (const std::string& more : told_rest(epoch)) found.push_back(more);
  EXPECT_EQ(found, told_of(workers, 0));
  EXPECT_EQ(told_epoch(each.loader), told_of(workers, 7));
}

TEST(Epochs, of_one_loader_go_on_beside_each_other) {
  for (const Workers& workers : all_workers()) {
    Shuffled each(workers);
    LoaderIterator first = each.loader.iterate(), second = each.loader.iterate();
    LoaderIterator third = each.loader.iterate();
    std::vector<std::string> found[3];
    for (int batch = 0; batch < 4; ++batch) {
      found[0].push_back(told(*first.next()));
      found[1].push_back(told(*second.next()));
      found[2].push_back(told(*third.next()));
    }
    EXPECT_FALSE(first.next());
    for (const std::int64_t epoch : {0, 1, 2}) {
      EXPECT_EQ(found[epoch], told_of(workers, epoch)) << workers;
    }
    EXPECT_EQ(each.loader.state_dict().at("epoch").as_int(), 2);
    EXPECT_FALSE(each.loader.state_dict().at("is_finished").as_bool());
    EXPECT_FALSE(third.next());
    EXPECT_TRUE(each.loader.state_dict().at("is_finished").as_bool());
    EXPECT_EQ(told_epoch(each.loader), told_of(workers, 3));
  }
}

TEST(Epochs, chosen_after_a_state_was_loaded_begin_at_their_start) {
  for (const Workers& workers : all_workers()) {
    Shuffled first(workers, true);
    first.sampler->set_epoch(2);
    LoaderIterator epoch = first.loader.iterate();
    epoch.next();
    epoch.next();
    const State state = first.loader.state_dict();
    const std::vector<std::string> rest = told_rest(epoch);

    Shuffled other(workers, true);
    other.loader.load_state_dict(state);
    other.sampler->set_epoch(5);
    EXPECT_EQ(told_epoch(other.loader), told_of(workers, 5)) << workers;
    other.loader.load_state_dict(state);
    EXPECT_EQ(told(other.loader.state_dict()), told(state));
    other.sampler->set_epoch(2);  // as a loop over epochs does, which begins at the state's
    EXPECT_EQ(told_epoch(other.loader), rest) << workers;
    EXPECT_EQ(told_epoch(other.loader), told_of(workers, 3)) << workers;
  }
}

TEST(Epochs, of_another_batch_size_do_not_take_a_state) {
  DataLoader loader(counted_dataset(6), {.batch_size = 2});
  EXPECT_THAT(
      sentence_of([&] {
        DataLoader(counted_dataset(6), {.batch_size = 3}).load_state_dict(loader.state_dict());
      }),
      HasSubstr("saved with batch_size 2, and this loader has 3"));
}

TEST(Epochs, of_a_sampler_that_gives_fewer_indices_than_it_says_are_refused) {
  struct Short : Sampler {
    std::int64_t size() const override { return 10; }
    std::vector<std::int64_t> indices() const override { return {1, 2, 3}; }
  };
  DataLoader loader(counted_dataset(10), {.batch_size = 4, .sampler = std::make_shared<Short>()});
  EXPECT_THAT(sentence_of([&] { told_epoch(loader); }),
              HasSubstr("the sampler's size is 10, and it gave 3 indices"));
}

TEST(Epochs, have_no_batch_at_hand_after_an_error) {
  const auto dataset = std::make_shared<FunctionDataset>(3, [](std::int64_t index) -> Sample {
    if (index == 1) throw std::out_of_range("no row 1");
    return index;
  });
  DataLoader loader(dataset);
  LoaderIterator epoch = loader.begin();
  EXPECT_THAT(sentence_of([&] { ++epoch; }), HasSubstr("no row 1"));
  EXPECT_TRUE(epoch == loader.end());
  ++epoch;
  EXPECT_EQ(whole_of((*epoch).as_tensor()), (std::vector<std::int64_t>{2}));
}

}  // namespace
}  // namespace bp::test
