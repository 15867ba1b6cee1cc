// needs: cpu
// What a call in its steady state takes from the heap: nothing.
#include <array>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

#include "dispatcher/allocations.hpp"
#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

// Per call, once pools and tables are warm.
std::uint64_t allocations_of(const std::function<void()>& call) {
  for (int i = 0; i < 100; ++i) call();
  const std::uint64_t before = heap_allocations();
  for (int i = 0; i < 1000; ++i) call();
  return heap_allocations() - before;
}

// 0 and 1, row by row.
std::vector<float> mask_of(const Tensor& tensor) {
  return bp::to_vector<float>(bp::to(tensor, bp::f32));
}

class CallPath : public testing::Test {
 protected:
  void SetUp() override {
    if (!sees_malloc) GTEST_SKIP() << "the sanitizer has its own malloc";
  }
  Tensor one = bp::ones({1}), a = counted({4, 8}), b = counted({4, 8}), out = counted({4, 8});
};

TEST_F(CallPath, the_counter_counts) {
  static void* volatile seen;  // or the compiler leaves both out
  EXPECT_EQ(allocations_of([] {
              seen = new int;
              delete static_cast<int*>(seen);
            }),
            1000u);
  EXPECT_EQ(allocations_of([] {
              seen = std::malloc(100);
              std::free(seen);
            }),
            1000u);
}

TEST_F(CallPath, an_add_allocates_nothing_but_its_result) {
  EXPECT_EQ(allocations_of([&] { add(one, one); }), 0u);
  EXPECT_EQ(allocations_of([&] { add(a, b); }), 0u);
  EXPECT_EQ(allocations_of([&] { add(a, 2.0); }), 0u);
}

TEST_F(CallPath, in_place_and_out_allocate_nothing) {
  EXPECT_EQ(allocations_of([&] { bp::mul_(a, b); }), 0u);
  EXPECT_EQ(allocations_of([&] { bp::sub_out(out, a, b); }), 0u);
}

TEST_F(CallPath, boxed_calls_allocate_nothing) {
  bp::Operator& op = *bp::find_operator("add");
  const bp_value args[] = {bp::value_of(a), bp::value_of(b)};
  std::array<Tensor, 1> result = {out};
  EXPECT_EQ(allocations_of([&] { bp::call_boxed(op, args, result); }), 0u);
  EXPECT_TRUE(result[0].is_same(out));
  EXPECT_EQ(allocations_of([&] {
              result[0] = {};
              bp::call_boxed(op, args, result);
            }),
            0u);
}

TEST_F(CallPath, views_allocate_nothing) {
  EXPECT_EQ(allocations_of([&] { view(a, {8, 4}); }), 0u);
  EXPECT_EQ(allocations_of([&] { transpose(a, 0, 1); }), 0u);
  EXPECT_EQ(allocations_of([&] { slice(a, 0, 1, 3); }), 0u);
  EXPECT_EQ(allocations_of([&] { bp::empty({4, 8}); }), 0u);
}

TEST_F(CallPath, broadcasting_and_strides_allocate_nothing) {
  const Tensor row = counted({8}), turned = transpose(counted({8, 4}), 0, 1);
  EXPECT_EQ(allocations_of([&] { add(a, row); }), 0u);
  EXPECT_EQ(allocations_of([&] { add(a, turned); }), 0u);
}

// A copy in row-major order would be one in large strides, and the result as well.
TEST_F(CallPath, a_cast_argument_keeps_the_order_of_its_elements) {
  const Tensor turned = transpose(counted({8, 4}), 0, 1);
  const Tensor none = bp::logical_not(turned), some = bp::logical_and(turned, turned);
  EXPECT_EQ(to_string(none.strides()), to_string(turned.strides()));
  const Tensor expected = bp::logical_not(bp::contiguous(turned));
  EXPECT_EQ(mask_of(none), mask_of(expected));
  EXPECT_EQ(mask_of(some), mask_of(bp::logical_not(expected)));
  const Tensor with_gaps = bp::slice(turned, 0, 0, 4, 2);
  EXPECT_EQ(mask_of(bp::logical_not(with_gaps)), mask_of(bp::slice(expected, 0, 0, 4, 2)));
  EXPECT_EQ(allocations_of([&] { bp::logical_not(turned); }), 0u);
}

TEST_F(CallPath, reductions_allocate_nothing) {
  EXPECT_EQ(allocations_of([&] { sum(a, 1); }), 0u);
  EXPECT_EQ(allocations_of([&] { softmax(a, 1); }), 0u);
}

TEST_F(CallPath, the_host_fallback_allocates_nothing) {
  const bp::Device device = test_device("memonly");
  const Tensor there = counted({1}, device);
  EXPECT_EQ(allocations_of([&] { add(there, there); }), 0u);
}

TEST_F(CallPath, calls_are_counted_without_the_heap) {
  const Served served("add", "cpu");
  EXPECT_EQ(allocations_of([&] { add(one, one); }), 0u);
  EXPECT_EQ(served.since(), "native 1100");
}

}  // namespace
