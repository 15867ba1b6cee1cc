// needs: cpu
// Casts of weights that are kept: when they are made once, and when again.
#include <backplane/amp/autocast.hpp>

#include "amp/networks.hpp"

namespace bp::test {
namespace {

using amp::Autocast;

std::uint64_t casts_of(const std::function<void()>& work) {
  const auto count = [] {
    std::uint64_t total = 0;
    for (const CallCount& each : call_counts())
      if (each.op == "cast")
        for (const std::uint64_t calls : each.calls) total += calls;
    return total;
  };
  const std::uint64_t before = count();
  work();
  return count() - before;
}

class KeptCasts : public testing::Test {
 protected:
  const Tensor w = weight({4, 4}), x = waves({2, 4}, 0.3, bf16);
};

TEST_F(KeptCasts, a_weight_is_cast_once) {
  const Autocast scope("cpu");
  EXPECT_EQ(casts_of([&] { matmul(x, w); }), 1u);
  EXPECT_EQ(casts_of([&] { matmul(x, w); }), 0u);
}

TEST_F(KeptCasts, other_tensors_are_cast_each_time) {
  const Tensor constant = waves({4, 4}), result = w * 1;
  const Autocast scope("cpu");
  for (const Tensor& other : {constant, result}) {
    EXPECT_EQ(casts_of([&] { matmul(x, other); }), 1u);
    EXPECT_EQ(casts_of([&] { matmul(x, other); }), 1u);
  }
}

TEST_F(KeptCasts, nothing_is_kept_where_that_is_not_wanted) {
  const Autocast scope("cpu", {.cache_enabled = false});
  EXPECT_EQ(casts_of([&] { matmul(x, w); }), 1u);
  EXPECT_EQ(casts_of([&] { matmul(x, w); }), 1u);
}

TEST_F(KeptCasts, inner_scopes_share_what_the_outermost_forgets) {
  {
    const Autocast scope("cpu");
    {
      const Autocast inner("cpu");
      matmul(x, w);
    }
    EXPECT_EQ(casts_of([&] { matmul(x, w); }), 0u);
  }
  const Autocast scope("cpu");
  EXPECT_EQ(casts_of([&] { matmul(x, w); }), 1u);
  amp::clear_autocast_cache();
  EXPECT_EQ(casts_of([&] { matmul(x, w); }), 1u);
}

TEST_F(KeptCasts, a_weight_that_was_written_is_cast_again) {
  const Autocast scope("cpu");
  const Values before = numbers_in(matmul(x, w));
  {
    const NoGrad no_grad;
    mul_(w, 2);
  }
  const Values after = numbers_in(matmul(x, w));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], 2 * before[i], 1e-2);
}

TEST_F(KeptCasts, a_weight_with_other_memory_is_cast_again) {
  const Autocast scope("cpu");
  matmul(x, w);
  set_data(w, zeros({4, 4}));
  EXPECT_EQ(numbers_in(matmul(x, w)), Values(8, 0));
}

TEST_F(KeptCasts, a_cast_without_a_record_serves_no_recorded_call) {
  const Autocast scope("cpu");
  {
    const NoGrad no_grad;
    matmul(x, w);
  }
  {
    const InferenceMode inference;
    matmul(x, w);
  }
  backward(sum(matmul(x, w)));
  EXPECT_TRUE(grad(w).defined());
}

TEST_F(KeptCasts, several_backwards_go_through_one_cast) {
  const Autocast scope("cpu");
  backward(sum(matmul(x, w)));
  const Values once = numbers_in(grad(w));
  backward(sum(matmul(x, w)));
  const Values twice = numbers_in(grad(w));
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_DOUBLE_EQ(twice[i], 2 * once[i]);
}

TEST_F(KeptCasts, both_dtypes_are_right_in_turn) {
  const Autocast scope("cpu");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(matmul(x, w).dtype(), bf16);
    const Autocast half("cpu", {.dtype = f16});
    EXPECT_EQ(matmul(x, w).dtype(), f16);
  }
}

}  // namespace
}  // namespace bp::test
