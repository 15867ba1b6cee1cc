// Seeds and offsets of random numbers.
#include <thread>

#include <backplane/runtime/generator.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

TEST(GeneratorTest, reserves_whole_counters_of_four_words) {
  Generator generator(7);
  EXPECT_EQ(generator.reserve(1).offset, 0u);
  EXPECT_EQ(generator.reserve(4).offset, 1u);
  EXPECT_EQ(generator.reserve(5).offset, 2u);
  EXPECT_EQ(generator.reserve(0).offset, 4u);
  EXPECT_EQ(generator.state().offset, 4u);
  EXPECT_EQ(generator.state().seed, 7u);
  EXPECT_EQ(generator.reserve(~0ull).offset, 4u);
  EXPECT_EQ(generator.state().offset, 4 + (1ull << 62));
}

TEST(GeneratorTest, a_state_can_be_set_again) {
  Generator generator;
  generator.manual_seed(5);
  generator.reserve(100);
  const PhiloxState saved = generator.state();
  generator.reserve(1);
  generator.set_state(saved);
  EXPECT_EQ(generator.state().offset, 25u);
  EXPECT_EQ(generator.initial_seed(), 5u);
}

TEST(GeneratorTest, threads_never_get_the_same_counters) {
  Generator generator;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) generator.reserve(4);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(generator.state().offset, 8000u);
}

TEST(GeneratorTest, one_seed_serves_devices_present_and_future) {
  manual_seed(42);
  FakePlugin fake;
  const Registered acme(fake);
  EXPECT_EQ(default_generator(acme.device()).initial_seed(), 42u);
  default_generator(acme.device()).reserve(10);
  manual_seed(43);
  EXPECT_EQ(default_generator(acme.device()).state().seed, 43u);
  EXPECT_EQ(default_generator(acme.device()).state().offset, 0u);
  EXPECT_EQ(default_generator(meta_device).initial_seed(), 43u);
  EXPECT_EQ(text_of([] { default_generator({99}); }),
            "default_generator: there is no device number 99");
  manual_seed(0);
}

TEST(GeneratorTest, a_device_with_a_number_that_another_had_starts_from_the_seed) {
  manual_seed(42);
  FakePlugin first("first"), second("second");
  std::uint32_t number = 0;
  {
    const Registered gone(first);
    number = gone.device().number;
    default_generator(gone.device()).set_state({7, 10});
  }
  const Registered acme(second);
  ASSERT_EQ(acme.device().number, number);
  EXPECT_EQ(default_generator(acme.device()).state().seed, 42u);
  EXPECT_EQ(default_generator(acme.device()).state().offset, 0u);
  manual_seed(0);
}

}  // namespace
}  // namespace bp::test
