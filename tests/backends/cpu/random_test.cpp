// needs: cpu
// Random numbers against an independent writing of their definition, itself checked against the
// vectors that Random123 publishes (kat_vectors: philox4x32 10).
#include <array>
#include <cmath>
#include <numbers>

#include "direct_call.hpp"

namespace {

using namespace bp_test;
using Counter = std::array<uint32_t, 4>;

Counter philox4x32(Counter c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

uint32_t word(uint64_t seed, uint64_t offset, uint64_t i) {
  const uint64_t counter = offset + i / 4;
  return philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)})[i % 4];
}

Data draw(const std::string& name, uint32_t dtype, int64_t count, uint64_t seed, uint64_t offset) {
  Data out(dtype, {count});
  const Sizes size{count};
  std::vector<bp_value> args{value(size), value(static_cast<int64_t>(seed)),
                             value(static_cast<int64_t>(offset)), none()};
  if (name != "philox") args.push_back(none());
  run(name, args, {&out});
  return out;
}

TEST(CpuRandom, our_own_writing_gives_the_published_vectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CpuRandom, philox_begins_with_the_published_vector) {
  Data words = draw("philox", BP_U32, 4, 0, 0);
  EXPECT_EQ(words.values<uint32_t>(),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(CpuRandom, philox_follows_its_definition_for_every_seed_and_offset) {
  for (uint64_t seed : {0ull, 1ull, 0x123456789abcdefull, ~0ull}) {
    for (uint64_t offset : {0ull, 5ull, 0xfffffff0ull, ~0ull - 3}) {
      Data words = draw("philox", BP_U32, 1003, seed, offset);
      for (int64_t i = 0; i < 1003; ++i)
        ASSERT_EQ(words.at<uint32_t>(i), word(seed, offset, i))
            << seed << " " << offset << " " << i;
    }
  }
}

TEST(CpuRandom, threads_do_not_change_a_draw) {
  Data two = draw("philox", BP_U32, 100001, 9, 4);
  CpuPlugin::get().set_num_threads(1);
  Data one = draw("philox", BP_U32, 100001, 9, 4);
  CpuPlugin::get().set_num_threads(2);
  EXPECT_EQ(one.values<uint32_t>(), two.values<uint32_t>());
  EXPECT_EQ(one.at<uint32_t>(100000), word(9, 4, 100000));
}

TEST(CpuRandom, uniforms_take_the_leading_bits_of_a_word) {
  Data f32 = draw("rand_philox", BP_F32, 500, 3, 7);
  Data f64 = draw("rand_philox", BP_F64, 500, 3, 7);
  Data bf16 = draw("rand_philox", BP_BF16, 500, 3, 7);
  Data f16 = draw("rand_philox", BP_F16, 500, 3, 7);
  for (int64_t i = 0; i < 500; ++i) {
    const uint32_t w = word(3, 7, i);
    ASSERT_EQ(f32.at<float>(i), static_cast<float>(w >> 8) / 16777216.0f);
    ASSERT_EQ(f64.at<double>(i), w / 4294967296.0);
    const float eight_bits = static_cast<float>(w >> 24) / 256.0f;
    ASSERT_EQ(bf16.at<uint16_t>(i), std::bit_cast<uint32_t>(eight_bits) >> 16);
    const uint16_t half = f16.at<uint16_t>(i);
    const double half_value = (half >> 10) != 0
                                  ? std::ldexp(1024 + (half & 1023), (half >> 10) - 25)
                                  : std::ldexp(half & 1023, -24);
    ASSERT_EQ(half_value, (w >> 21) / 2048.0);
  }
}

float ulps(float a, double exact) {
  const float near = static_cast<float>(exact);
  const float ulp = std::nextafter(std::abs(near), INFINITY) - std::abs(near);
  return static_cast<float>(std::abs(a - exact) / ulp);
}

TEST(CpuRandom, normals_are_within_one_ulp) {
  constexpr int64_t count = 200001;
  Data f32 = draw("randn_philox", BP_F32, count, 11, 2);
  Data f64 = draw("randn_philox", BP_F64, count, 11, 2);
  float worst = 0;
  double worst_double = 0;
  double sum = 0;
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t pair = i / 2 * 2;
    const long double u = (word(11, 2, pair) + 1.0L) * 0x1p-32L;
    const long double r = std::sqrt(-2.0L * std::log(u));
    const long double t = 2 * std::numbers::pi_v<long double> * word(11, 2, pair + 1) * 0x1p-32L;
    const auto exact = static_cast<double>(i % 2 == 0 ? r * std::cos(t) : r * std::sin(t));
    worst = std::max(worst, ulps(f32.at<float>(i), exact));
    worst_double = std::max(worst_double,
                            std::abs(f64.at<double>(i) - exact) / std::max(std::abs(exact), 1e-12));
    sum += exact;
    squares += exact * exact;
  }
  EXPECT_LT(worst, 0.51f);
  EXPECT_LT(worst_double, 1e-13);  // near its zeros the expectation itself is no better
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.01);
}

}  // namespace
