// needs: cpu
// Transforms by their formulas, batches against single pictures, and that the generator decides.
#include <numeric>

#include "data/all_transforms.hpp"

namespace bp::test {
namespace {

TEST(Transforms, keep_dtype_and_rank_and_follow_the_generator) {
  for (const Named& each : all_transforms())
    for (const Dtype dtype : {u8, f32, f64}) {
      if (dtype != u8 && !each.takes_floats) continue;
      const Tensor batch =
          dtype == u8 ? bytes_of_shape({4, 3, 10, 12}) : to(floats_of_shape({4, 3, 10, 12}), dtype);
      const Tensor made = applied(*each.transform, batch);
      EXPECT_EQ(made.dtype(), dtype) << each.name;
      EXPECT_EQ(made.ndim(), 4) << each.name;
      EXPECT_TRUE(equal(made, applied(*each.transform, batch))) << each.name;
      const Tensor single = applied(*each.transform, select(batch, 0, 0));
      EXPECT_EQ(single.ndim(), 3) << each.name;
      EXPECT_EQ(single.shape(), select(made, 0, 0).shape()) << each.name;
    }
}

TEST(Transforms, that_are_random_differ_by_picture_and_by_seed) {
  for (const Named& each : all_transforms()) {
    if (!each.name.starts_with("Random") && each.name != "ColorJitter" &&
        each.name != "RandAugment")
      continue;
    const Tensor one = bytes_of_shape({1, 3, 10, 12});
    const Tensor batch = cat({one, one, one, one, one, one, one, one, one, one, one, one}, 0);
    const Tensor made = applied(*each.transform, batch);
    bool differs = false;
    for (std::int64_t i = 1; i < 12; ++i) differs |= !equal(select(made, 0, 0), select(made, 0, i));
    EXPECT_TRUE(differs) << each.name;
    EXPECT_FALSE(equal(made, applied(*each.transform, batch, 2))) << each.name;
  }
}

TEST(Transforms, name_themselves_in_errors) {
  for (const Named& each : all_transforms()) {
    EXPECT_THAT(sentence_of([&] {
                  applied(*each.transform, ones({3, 4}));
                }),
                HasSubstr(each.name + ": takes [C, H, W] or [N, C, H, W], not [3, 4]"));
    EXPECT_THAT(sentence_of([&] {
                  applied(*each.transform, ones({3, 4, 4}, i64));
                }),
                HasSubstr(each.name + ": takes uint8 or floating"));
    EXPECT_THAT(sentence_of([&] { applied(*each.transform, Tensor()); }), HasSubstr(each.name));
    EXPECT_THAT(sentence_of([&] {
                  applied(*each.transform, ones({3, 0, 4}));
                }),
                HasSubstr("have no pixels"));
  }
}

TEST(Compositions, apply_in_order) {
  const Compose both(
      {std::make_shared<ToFloat>(f64),
       std::make_shared<Normalize>(std::vector{0.5, 0.5, 0.25}, std::vector{0.5, 0.25, 0.25})});
  const Tensor image = bytes_of_shape({3, 2, 2});
  const Values given = values_of(to(image, f64)), made = values_of(applied(both, image));
  const double means[] = {0.5, 0.5, 0.25}, stds[] = {0.5, 0.25, 0.25};
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(made[i], (given[i] / 255 - means[i / 4]) / stds[i / 4], 1e-12);
  EXPECT_THAT(sentence_of([&] { applied(Normalize({0}, {1}), image); }),
              HasSubstr("takes floating pictures, not uint8"));
  EXPECT_THAT(sentence_of([&] {
                applied(Normalize({0, 0}, {1, 1}), ones({3, 2, 2}));
              }),
              HasSubstr("have 2 channels, and the pictures have 3"));
}

TEST(Crops, take_what_they_say) {
  const Tensor image = view(arange(0, 30, 1, f64), {1, 5, 6});
  EXPECT_EQ(values_of(applied(CenterCrop({2, 2}), image)),
            (Values{14, 15, 20, 21}));  // from row 1.5, rounded to the even 2
  const Tensor wide = applied(CenterCrop({1, 9}), image);
  EXPECT_EQ(values_of(wide), (Values{0, 12, 13, 14, 15, 16, 17, 0, 0}));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Values part = values_of(applied(RandomCrop({2, 3}), image, seed));
    const double first = part[0];
    EXPECT_EQ(part, (Values{first, first + 1, first + 2, first + 6, first + 7, first + 8}));
    EXPECT_LE(static_cast<int>(first) % 6, 3);
  }
  EXPECT_THAT(sentence_of([&] { applied(RandomCrop({6}), image); }),
              HasSubstr("RandomCrop: 6 by 6 is larger than the pictures of 5 by 6"));
  EXPECT_EQ(applied(RandomCrop({8}, {.pad_if_needed = true}), image).shape(), IntList({1, 8, 8}));
}

TEST(Flips, turn_all_or_none_or_some) {
  const Tensor batch = floats_of_shape({6, 2, 3, 4});
  EXPECT_TRUE(equal(applied(RandomHorizontalFlip(1), batch), flip(batch, {3})));
  EXPECT_TRUE(equal(applied(RandomVerticalFlip(1), batch), flip(batch, {2})));
  EXPECT_TRUE(equal(applied(RandomVerticalFlip(0), batch), batch));
  const Tensor some = applied(RandomHorizontalFlip(0.5), batch, 3);
  int turned = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    const Tensor before = select(batch, 0, i), after = select(some, 0, i);
    const bool is_turned = equal(after, flip(before, {2}));
    EXPECT_TRUE(is_turned || equal(after, before));
    turned += is_turned;
  }
  EXPECT_GT(turned, 0);
  EXPECT_LT(turned, 6);
  EXPECT_THAT(sentence_of([] { RandomVerticalFlip(1.5); }), HasSubstr("p is 1.5"));
}

TEST(Resizes, keep_the_ratio_of_one_number) {
  EXPECT_EQ(applied(Resize({5}), bytes_of_shape({3, 10, 25})).shape(), IntList({3, 5, 12}));
  EXPECT_EQ(applied(Resize({5}), bytes_of_shape({3, 25, 10})).shape(), IntList({3, 12, 5}));
  EXPECT_EQ(values_of(applied(Resize({1, 1}), tensor({{{1.0, 2.0}, {3.0, 6.0}}}, {.dtype = f64}))),
            (Values{3}));
}

TEST(Maps, turn_and_move_exactly) {
  const Tensor image = floats_of_shape({1, 4, 4});
  const RandomRotation quarter({90, 90});
  EXPECT_TRUE(allclose(applied(quarter, image), rot90(image, 1, {1, 2})));
  const Tensor same = applied(RandomAffine({.interpolation = Interpolation::bilinear}), image);
  EXPECT_TRUE(allclose(same, image, 1e-12, 1e-12));
  const Tensor filled = applied(RandomRotation({45, 45}, Interpolation::nearest, 0.5), image);
  EXPECT_EQ(item<double>(select(select(select(filled, 0, 0), 0, 0), 0, 0)), 0.5);
}

TEST(Erasing, blanks_one_rectangle) {
  const Tensor image = ones({2, 3, 20, 20});
  const Tensor erased = applied(RandomErasing({.p = 1, .value = 7}), image);
  for (std::int64_t i = 0; i < 2; ++i) {
    const Tensor mask = to(eq(select(select(erased, 0, i), 0, 1), 7), f64);
    const Values rows = values_of(max(mask, {1})), columns = values_of(max(mask, {0}));
    const double high = std::accumulate(rows.begin(), rows.end(), 0.0),
                 wide = std::accumulate(columns.begin(), columns.end(), 0.0);
    EXPECT_EQ(item<double>(sum(mask)), high * wide);
    EXPECT_GT(high, 0);
    EXPECT_NEAR(high * wide / 400, 0.18, 0.17);
  }
  EXPECT_TRUE(equal(applied(RandomErasing({.p = 0}), image), image));
}

TEST(Loading, augments_alike_whatever_the_workers) {
  const Tensor images = bytes_of_shape({12, 3, 8, 8});
  const Compose augment({std::make_shared<RandomCrop>(std::vector<std::int64_t>{6}),
                         std::make_shared<RandomHorizontalFlip>(),
                         std::make_shared<RandAugment>()});
  const auto dataset = std::make_shared<FunctionDataset>(
      12, [=](std::int64_t index) -> Sample { return augment(select(images, 0, index)); });
  std::vector<std::string> expected;
  for (const int num_workers : {0, 2})
    for (const WorkerKind kind : {WorkerKind::thread, WorkerKind::process}) {
      DataLoader loader(dataset, {.batch_size = 5,
                                  .shuffle = true,
                                  .num_workers = num_workers,
                                  .worker_kind = kind,
                                  .seed = 2});
      const std::vector<std::string> found = told_epoch(loader);
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected);
    }
}

}  // namespace
}  // namespace bp::test
