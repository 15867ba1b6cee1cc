// needs: cpu reference reference_primitives
// Random numbers are a definition: the same on every device, drawn from where the generator stands.
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

// Philox4x32-10 as its paper has it, word by word.
std::array<std::uint32_t, 4> philox_block(std::uint64_t seed, std::uint64_t counter) {
  std::array<std::uint32_t, 4> c = {static_cast<std::uint32_t>(counter),
                                    static_cast<std::uint32_t>(counter >> 32), 0, 0};
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}
std::uint32_t word(std::uint64_t seed, std::uint64_t offset, std::int64_t i) {
  return philox_block(seed,
                      offset + static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
}

TEST(Random, the_test_s_own_philox_has_the_published_answer) {
  // Random123's kat_vectors: counter 0, key 0.
  const std::array<std::uint32_t, 4> published = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(philox_block(0, 0), published);
}

TEST(Random, words_are_philoxs) {
  const std::int64_t seed = 0x123456789abcdef;
  const std::int64_t offset = (std::int64_t{1} << 32) - 2;
  const std::vector<std::uint32_t> words = to_vector<std::uint32_t>(philox({5, 401}, seed, offset));
  for (std::size_t i = 0; i < words.size(); ++i)
    ASSERT_EQ(words[i], word(seed, offset, static_cast<std::int64_t>(i))) << i;
}

TEST(Random, uniform_numbers_are_the_upper_bits) {
  const std::vector<float> single = to_vector<float>(rand_philox({1001}, 7, 3));
  const std::vector<double> wide = to_vector<double>(rand_philox({1001}, 7, 3, f64));
  for (std::int64_t i = 0; i < 1001; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(single[at], static_cast<float>(word(7, 3, i) >> 8) * 0x1p-24f);
    ASSERT_EQ(wide[at], word(7, 3, i) * 0x1p-32);
  }
}

TEST(Random, normal_numbers_are_box_and_mullers) {
  const std::vector<double> normals = to_vector<double>(randn_philox({1001}, 7, 3, f64));
  for (std::int64_t i = 0; i < 1001; ++i) {
    const double radius = std::sqrt(-2 * std::log((word(7, 3, i & ~1ll) + 1.0) * 0x1p-32));
    const double angle = 2 * 3.14159265358979323846 * word(7, 3, i | 1) * 0x1p-32;
    const double expected = radius * (i % 2 ? std::sin(angle) : std::cos(angle));
    ASSERT_NEAR(normals[static_cast<std::size_t>(i)], expected, 1e-12 * std::max(1.0, radius));
  }
}

TEST(Random, a_seed_gives_the_same_draws_again) {
  manual_seed(42);
  const std::vector<float> first = to_vector<float>(randn({17}));
  const std::vector<float> second = to_vector<float>(randn({17}));
  EXPECT_NE(first, second);
  manual_seed(42);
  EXPECT_EQ(to_vector<float>(randn({17})), first);
  EXPECT_EQ(to_vector<float>(randn({17})), second);
}

TEST(Random, a_permutation_has_each_number_once) {
  manual_seed(1);
  for (std::int64_t n : {0, 1, 2, 5, 1000}) {
    std::vector<std::int64_t> numbers = to_vector<std::int64_t>(randperm(n));
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::int64_t> expected(static_cast<std::size_t>(n));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(numbers, expected);
  }
}

// Which permutation a seed gives does not change from version to version.
TEST(Random, a_permutation_is_the_order_of_pairs_of_words) {
  for (std::int64_t n : {2, 5, 1000, 70000}) {
    manual_seed(7);
    const std::vector<std::int64_t> numbers = to_vector<std::int64_t>(randperm(n));
    const auto key = [](std::int64_t i) {
      return (std::int64_t{word(7, 0, 2 * i)} << 30) + word(7, 0, 2 * i + 1);
    };
    for (std::size_t i = 1; i < numbers.size(); ++i)
      ASSERT_LT(key(numbers[i - 1]), key(numbers[i])) << n << ' ' << i;
  }
}

TEST(Random, whole_numbers_stay_in_range_and_reach_its_ends) {
  manual_seed(1);
  const std::vector<std::int64_t> numbers = to_vector<std::int64_t>(randint(-2, 3, {1000}));
  EXPECT_EQ(*std::min_element(numbers.begin(), numbers.end()), -2);
  EXPECT_EQ(*std::max_element(numbers.begin(), numbers.end()), 2);
}

__extension__ using WideWord = unsigned __int128;

// low + floor(w * range / 2^64) of two words each, in integers of 128 bits.
TEST(Random, whole_numbers_of_a_wide_range_take_two_words) {
  const std::pair<std::int64_t, std::int64_t> ranges[] = {{0, (std::int64_t{1} << 32) + 1},
                                                          {-7, std::int64_t{1} << 40},
                                                          {INT64_MIN, INT64_MAX},
                                                          {0, INT64_MAX},
                                                          {INT64_MIN, 0},
                                                          {-0x123456789abcdef, 0x123456789abcdef0}};
  for (const auto& [low, high] : ranges) {
    Generator& generator = default_generator(host_device());
    manual_seed(9);
    const PhiloxState begin = generator.state();
    const std::vector<std::int64_t> drawn = to_vector<std::int64_t>(randint(low, high, {7, 143}));
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    for (std::int64_t i = 0; i < 7 * 143; ++i) {
      const std::uint64_t w0 = word(begin.seed, begin.offset, 2 * i),
                          w1 = word(begin.seed, begin.offset, 2 * i + 1);
      const auto step =
          static_cast<std::uint64_t>(static_cast<WideWord>(w1 << 32 | w0) * range >> 64);
      const auto expected = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
      ASSERT_EQ(drawn[static_cast<std::size_t>(i)], expected) << i << " from " << low;
    }
  }
}

TEST(Random, whole_numbers_of_a_wide_range_are_the_same_everywhere) {
  manual_seed(10);
  const std::vector<std::int64_t> here = to_vector<std::int64_t>(randint(INT64_MIN, 7, {1001}));
  for (const char* name : {"reference", "reference_primitives"}) {
    const Device there = device(name);
    manual_seed(10);
    EXPECT_EQ(to_vector<std::int64_t>(cpu(randint(INT64_MIN, 7, {1001}, {}, there))), here) << name;
  }
}

TEST(Random, uniform_and_normal_numbers_have_their_moments) {
  manual_seed(3);
  const Tensor u = rand({100000}, f64);
  EXPECT_NEAR(item<double>(mean(u)), 0.5, 0.005);
  EXPECT_NEAR(item<double>(mean(u * u)), 1.0 / 3, 0.005);
  const Tensor n = randn({100000}, f64);
  EXPECT_NEAR(item<double>(mean(n)), 0.0, 0.015);
  EXPECT_NEAR(item<double>(mean(n * n)), 1.0, 0.02);
}

TEST(Random, dropout_keeps_the_mean_and_is_off_outside_of_training) {
  manual_seed(5);
  const Tensor a = ones({100000});
  EXPECT_NEAR(item<float>(mean(dropout(a, 0.3))), 1.0f, 0.01f);
  EXPECT_TRUE(dropout(a, 0.3, false).is_same(a));
  EXPECT_EQ(item<float>(sum(dropout(a, 1.0))), 0.0f);
}

}  // namespace
}  // namespace bp
