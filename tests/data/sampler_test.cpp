// needs: cpu
// Orders: which indices come, how often, and that nothing but seed and epoch decides.
#include <map>
#include <numeric>
#include <set>

#include "data/datasets.hpp"

namespace bp::test {
namespace {

using Indices = std::vector<std::int64_t>;

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

Indices up_to(std::int64_t size) {
  Indices all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(RandomSamplers, permute_anew_each_epoch) {
  RandomSampler sampler(50, {.seed = 3});
  const Indices first = sampler.indices();
  EXPECT_EQ(sorted(first), up_to(50));
  EXPECT_NE(first, up_to(50));
  EXPECT_EQ(sampler.indices(), first);
  sampler.set_epoch(1);
  EXPECT_EQ(sorted(sampler.indices()), up_to(50));
  EXPECT_NE(sampler.indices(), first);
  EXPECT_NE(RandomSampler(50, {.seed = 4}).indices(), first);
  sampler.set_epoch(0);
  EXPECT_EQ(sampler.indices(), first);
}

// The order is part of what a seed means: were it to change, checkpoints would go on with other samples.
TEST(RandomSamplers, have_the_order_that_they_always_had) {
  const Indices order = RandomSampler(8, {.seed = 1}).indices();
  Generator generator(mix_seed(1, 0));
  EXPECT_EQ(order, whole_of(randperm(8, i64, std::nullopt, &generator)));
  EXPECT_EQ(mix_seed(1, 0), 0xb18a02f46d8d86c3u);  // computed by hand, in Python
}

TEST(RandomSamplers, take_more_or_fewer_and_with_replacement) {
  EXPECT_EQ(RandomSampler(5, {.num_samples = 3}).indices().size(), 3u);
  const Indices more = RandomSampler(5, {.num_samples = 12}).indices();
  EXPECT_EQ(sorted(Indices(more.begin(), more.begin() + 5)), up_to(5));
  EXPECT_EQ(sorted(Indices(more.begin() + 5, more.begin() + 10)), up_to(5));
  const Indices drawn = RandomSampler(4, {.replacement = true, .num_samples = 4000}).indices();
  std::map<std::int64_t, int> counts;
  for (const std::int64_t each : drawn) ++counts[each];
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& [index, count] : counts) EXPECT_NEAR(count, 1000, 150) << index;
  EXPECT_TRUE(RandomSampler(0).indices().empty());
  EXPECT_THAT(sentence_of([] { RandomSampler(0, {.num_samples = 2}); }),
              HasSubstr("num_samples is 2, of 0 samples"));
}

TEST(WeightedSamplers, draw_in_proportion) {
  std::map<std::int64_t, int> counts;
  for (const std::int64_t each : WeightedRandomSampler({1, 0, 3}, 4000).indices()) ++counts[each];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 3000, 150);
  const Indices once = WeightedRandomSampler({1, 2, 0, 5}, 3, false).indices();
  EXPECT_EQ(sorted(once), (Indices{0, 1, 3}));
  EXPECT_THAT(sentence_of([] {
                WeightedRandomSampler({1, 0}, 2, false);
              }),
              HasSubstr("2 samples without replacement, of 1 weights above 0"));
  EXPECT_THAT(sentence_of([] { WeightedRandomSampler({1, -2}, 1); }), HasSubstr("weight 1 is -2"));
}

TEST(SubsetSamplers, permute_their_indices) {
  EXPECT_EQ(sorted(SubsetRandomSampler({9, 4, 4, 7}).indices()), (Indices{4, 4, 7, 9}));
}

TEST(DistributedSamplers, share_one_order_evenly) {
  for (const std::int64_t size : {1, 7, 16, 33})
    for (const std::int64_t replicas : {1, 2, 5})
      for (const bool drop_last : {false, true})
        for (const bool shuffle : {false, true}) {
          Indices all;
          for (std::int64_t rank = 0; rank < replicas; ++rank) {
            DistributedSampler sampler(size, {.num_replicas = replicas,
                                              .rank = rank,
                                              .shuffle = shuffle,
                                              .drop_last = drop_last});
            sampler.set_epoch(4);
            const Indices share = sampler.indices();
            EXPECT_EQ(static_cast<std::int64_t>(share.size()), sampler.size());
            EXPECT_EQ(sampler.size(),
                      drop_last ? size / replicas : (size + replicas - 1) / replicas);
            all.insert(all.end(), share.begin(), share.end());
          }
          const std::set<std::int64_t> distinct(all.begin(), all.end());
          if (drop_last)
            EXPECT_EQ(distinct.size(), all.size());
          else
            EXPECT_EQ(static_cast<std::int64_t>(distinct.size()), size);
        }
}

TEST(DistributedSamplers, without_shuffling_take_every_nth_and_begin_anew) {
  const auto share = [](std::int64_t rank) {
    return DistributedSampler(5, {.num_replicas = 3, .rank = rank, .shuffle = false}).indices();
  };
  EXPECT_EQ(share(0), (Indices{0, 3}));
  EXPECT_EQ(share(1), (Indices{1, 4}));
  EXPECT_EQ(share(2), (Indices{2, 0}));
  EXPECT_THAT(sentence_of([&] { share(3); }), HasSubstr("rank 3 of 3 replicas"));
}

TEST(BatchSamplers, cut_the_order_into_batches) {
  const auto order = std::make_shared<SequentialSampler>(7);
  const BatchSampler batches(order, 3);
  EXPECT_EQ(batches.size(), 3);
  EXPECT_EQ(batches.batch(2), (Indices{6}));
  EXPECT_EQ(batches.batch(0), (Indices{0, 1, 2}));
  EXPECT_EQ(BatchSampler(order, 3, true).size(), 2);
  EXPECT_THAT(sentence_of([&] { BatchSampler(order, 0); }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(sentence_of([&] { batches.batch(3); }), HasSubstr("batch 3 of 3"));
}

TEST(SamplerStates, bring_back_seed_and_epoch) {
  RandomSampler sampler(20, {.seed = ~std::uint64_t{0}});
  sampler.set_epoch(5);
  RandomSampler other(20);
  other.load_state_dict(sampler.state_dict());
  EXPECT_EQ(other.indices(), sampler.indices());
  EXPECT_THAT(sentence_of([&] { SequentialSampler(20).load_state_dict(sampler.state_dict()); }),
              HasSubstr("SequentialSampler: the state is that of a RandomSampler"));
  EXPECT_THAT(sentence_of([&] { RandomSampler(21).load_state_dict(sampler.state_dict()); }),
              HasSubstr("of 20 indices, and this has 21"));
}

}  // namespace
}  // namespace bp::test
