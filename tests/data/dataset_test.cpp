// needs: cpu
// Datasets, their parts and joins, and collating.
#include <numeric>
#include <set>

#include "data/datasets.hpp"

namespace bp::test {
namespace {

TEST(TensorDatasets, give_slices) {
  const DatasetPtr dataset = counted_dataset(5);
  EXPECT_EQ(dataset->size(), 5);
  const Sample third = dataset->get(3);
  EXPECT_EQ(values_of(to(third.as_list()[0].as_tensor(), f64)), (Values{3, 3.5}));
  EXPECT_EQ(item<std::int64_t>(third.as_list()[1].as_tensor()), 3);
}

TEST(TensorDatasets, make_batches_as_collating_does) {
  const DatasetPtr dataset = counted_dataset(9);
  const std::vector<std::int64_t> indices = {8, 0, 3, 3};
  std::vector<Sample> samples;
  for (const std::int64_t index : indices) samples.push_back(dataset->get(index));
  EXPECT_EQ(told(*dataset->get_batch(indices)), told(default_collate(samples)));
}

TEST(TensorDatasets, refuse_what_does_not_fit) {
  EXPECT_THAT(sentence_of([] {
                TensorDataset({ones({3}), ones({4, 2})});
              }),
              HasSubstr("tensor 0 has 3 samples and tensor 1 has 4"));
  EXPECT_THAT(sentence_of([] { TensorDataset({tensor(1)}); }), HasSubstr("no first dimension"));
  EXPECT_THAT(sentence_of([] { counted_dataset(3)->get(3); }),
              HasSubstr("index 3 is outside of its 3 samples"));
  EXPECT_THAT(sentence_of([] { counted_dataset(3)->get_batch(std::vector<std::int64_t>{-1}); }),
              HasSubstr("index -1"));
}

TEST(Subsets, look_through) {
  const Subset part(counted_dataset(10), {7, 2, 2});
  EXPECT_EQ(part.size(), 3);
  EXPECT_EQ(item<std::int64_t>(part.get(0).as_list()[1].as_tensor()), 7);
  const std::vector<std::int64_t> indices = {1, 0};
  EXPECT_EQ(whole_of(part.get_batch(indices)->as_list()[1].as_tensor()),
            (std::vector<std::int64_t>{2, 7}));
  EXPECT_THAT(sentence_of([] { Subset(counted_dataset(3), {3}); }), HasSubstr("index 3"));
}

TEST(Joined, datasets_follow_each_other) {
  const ConcatDataset joined({counted_dataset(2), counted_dataset(0), counted_dataset(3)});
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < joined.size(); ++i)
    found.push_back(item<std::int64_t>(joined.get(i).as_list()[1].as_tensor()));
  EXPECT_EQ(found, (std::vector<std::int64_t>{0, 1, 0, 1, 2}));
  EXPECT_THAT(sentence_of([&] { joined.get(5); }), HasSubstr("index 5 is outside"));
}

TEST(Joined, streams_follow_each_other_and_skip_across) {
  const ChainDataset chain({std::make_shared<Counting>(2), std::make_shared<Counting>(3, 100)});
  const auto stream = chain.stream(0);
  stream->skip(3);
  EXPECT_EQ(stream->next()->as_list()[0].as_int(), 101);
  EXPECT_EQ(stream->next()->as_list()[0].as_int(), 102);
  EXPECT_FALSE(stream->next());
  EXPECT_FALSE(stream->next());
}

TEST(RandomSplits, are_a_partition_that_the_seed_decides) {
  const DatasetPtr dataset = counted_dataset(20);
  const auto parts = random_split(dataset, {12, 5, 3}, 7);
  std::multiset<std::int64_t> all;
  for (const auto& part : parts) all.insert(part->indices().begin(), part->indices().end());
  std::vector<std::int64_t> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(std::vector(all.begin(), all.end()), expected);
  EXPECT_EQ(parts[0]->size(), 12);
  EXPECT_EQ(random_split(dataset, {12, 5, 3}, 7)[1]->indices(), parts[1]->indices());
  EXPECT_NE(random_split(dataset, {12, 5, 3}, 8)[0]->indices(), parts[0]->indices());
}

TEST(RandomSplits, by_fractions_round_as_pytorch) {
  const auto parts = random_split_by_fractions(counted_dataset(10), {0.33, 0.33, 0.34}, 0);
  EXPECT_EQ(parts[0]->size(), 4);  // floors are 3, 3, 3, and the first gets what is left
  EXPECT_EQ(parts[1]->size(), 3);
  EXPECT_EQ(parts[2]->size(), 3);
}

TEST(RandomSplits, refuse_other_sums) {
  EXPECT_THAT(sentence_of([] {
                random_split(counted_dataset(10), {4, 5});
              }),
              HasSubstr("add up to 9, and the dataset has 10"));
  EXPECT_THAT(sentence_of([] {
                random_split(counted_dataset(10), {4, 7});
              }),
              HasSubstr("do not add up to the 10"));
  EXPECT_THAT(sentence_of([] {
                random_split_by_fractions(counted_dataset(10), {0.5, 0.4});
              }),
              HasSubstr("add up to 0.9, not 1"));
}

TEST(Collating, stacks_tensors_and_numbers_and_keeps_texts) {
  const auto sample = [](double x, std::int64_t n, const char* text, bool flag) {
    return State::dict({{"x", tensor({x, 2 * x})},
                        {"n", n},
                        {"real", x},
                        {"flag", flag},
                        {"text", text},
                        {"list", State::List{n, tensor(x)}}});
  };
  const Batch batch = default_collate({sample(1, 3, "a", true), sample(2, 4, "b", false)});
  EXPECT_EQ(batch.at("x").as_tensor().shape(), IntList({2, 2}));
  EXPECT_EQ(batch.at("n").as_tensor().dtype(), i64);
  EXPECT_EQ(batch.at("real").as_tensor().dtype(), f64);
  EXPECT_EQ(batch.at("flag").as_tensor().dtype(), boolean);
  EXPECT_EQ(whole_of(batch.at("flag").as_tensor()), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(batch.at("text").as_list()[1].as_text(), "b");
  EXPECT_EQ(batch.at("list").as_list()[0].as_tensor().shape(), IntList({2}));
  EXPECT_EQ(batch.entries()[0].first, "x");
}

TEST(Collating, names_both_samples_and_the_place) {
  const std::vector<std::int64_t> indices = {41, 7};
  const auto sentence = [&](const Sample& a, const Sample& b) {
    return sentence_of([&] { default_collate({a, b}, indices); });
  };
  const auto image = [](IntList shape) { return State::dict({{"image", ones(shape)}}); };
  EXPECT_THAT(sentence(image({3, 4}), image({3, 5})),
              HasSubstr("sample 41 has shape [3, 4] at .image and sample 7 has [3, 5]"));
  EXPECT_THAT(sentence(State::List{1, 2}, State::List{1}),
              HasSubstr("sample 41 has a list of 2 and sample 7 one of 1"));
  EXPECT_THAT(sentence("a", 1), HasSubstr("sample 41 has a text and sample 7 has an int"));
  EXPECT_THAT(sentence(State(), State()), HasSubstr("sample 41 is None"));
  EXPECT_THAT(sentence(State::dict({{"a", 1}}), State::dict({{"b", 1}})), HasSubstr("\"b\""));
  EXPECT_THAT(sentence(State::dict({{"a", 1}, {"b", 2}}), State::dict({{"b", 1}})),
              HasSubstr("sample 41 has the key \"a\", which sample 7 lacks"));
  EXPECT_THAT(sentence_of([] { default_collate({}); }), HasSubstr("got no samples"));
}

}  // namespace
}  // namespace bp::test
