// needs: cpu reference_compiler
// Random numbers on devices that compile: the same as cpu's.
#include <backplane/dispatcher/policy.hpp>

#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"

namespace bp::test {
namespace {

class Random : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
  Device on() const { return device(GetParam()); }
  PolicyScope whole{Rung::decomposed, Policy::forbid};
};

constexpr Dtype floats[] = {f16, bf16, f32, f64};

TEST_P(Random, rows_agree_with_cpu) {
  expect_row_agrees("philox", GetParam());
  expect_row_agrees("rand_philox", GetParam(), floats);
  expect_row_agrees("randn_philox", GetParam(), floats);
}

TEST_P(Random, integers_and_uniforms_are_the_same_bit_for_bit) {
  for (std::int64_t size : {1, 2, 3, 4, 5, 4095, 100003})
    for (std::int64_t offset : {std::int64_t{0}, std::int64_t{0xfffffff0}, std::int64_t{-3}}) {
      const std::int64_t seed = 0x123456789abcdef - size;
      expect_same(philox({size}, seed, offset, on()), philox({size}, seed, offset, host_device()));
      for (Dtype dtype : floats)
        expect_same(rand_philox({size}, seed, offset, dtype, on()),
                    rand_philox({size}, seed, offset, dtype, host_device()));
    }
}

TEST_P(Random, normals_agree_within_two_units) {
  for (Dtype dtype : floats)
    expect_agrees(randn_philox({1000003}, 99, 5, dtype, on()),
                  randn_philox({1000003}, 99, 5, dtype, host_device()), "2 ulp", "randn_philox",
                  false);
}

TEST_P(Random, permutations_are_the_same) {
  default_generator(on()).manual_seed(3);
  default_generator(host_device()).manual_seed(3);
  for (std::int64_t size : {1, 100, 30000})
    expect_same(randperm(size, i64, on()), randperm(size, i64, host_device()));
}

INSTANTIATE_TEST_SUITE_P(on, Random, testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string name = each.param;
                           return name.substr(0, name.find(':'));
                         });

}  // namespace
}  // namespace bp::test
