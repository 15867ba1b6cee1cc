// needs: cpu
// Kernels that ask for memories, on the plugin `npu`: exp and neg run in the small fast one alone, add and mul in either, bmm
// reads the fast one and writes the main one, copy knows the main one alone.
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/runtime/spaces.hpp>
#include <backplane/tensor/views.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Rung;
using bp::Tensor;

constexpr std::uint32_t hbm = 0, sram = 1, window = 2;

bp::Device npu() {
  static const bp::Device device = test_device("npu");
  return device;
}

std::uint64_t sram_bytes() {
  return bp::memory_spaces(npu())[sram].total_bytes;
}
std::uint64_t held_in_sram() {
  return bp::memory_statistics(npu(), sram).allocated_bytes;
}

struct Spaces : testing::Test {
  void TearDown() override { EXPECT_EQ(held_in_sram(), 0u) << "something is left in the sram"; }
};

TEST_F(Spaces, an_operand_in_main_memory_is_copied_where_the_kernel_is) {
  const Tensor x = counted({3, 4}, npu());
  const Served served("neg", "npu");
  const Tensor y = bp::neg(x);
  EXPECT_EQ(bp::memory_space_of(y), hbm);
  expect_same(y, bp::neg(counted({3, 4})));
  EXPECT_EQ(served.since(), "legalized 1");
}

TEST_F(Spaces, operands_in_the_fast_memory_stay_there_and_so_do_results) {
  const Tensor x = bp::to_space(counted({3, 4}, npu()), sram);
  EXPECT_EQ(bp::memory_space_of(x), sram);
  const Served negs("neg", "npu"), adds("add", "npu"), muls("mul", "npu");
  const Tensor y = bp::neg(bp::add(x, bp::mul(x, x)));
  EXPECT_EQ(bp::memory_space_of(y), sram);
  const Tensor host = counted({3, 4});
  expect_same(y, bp::neg(bp::add(host, bp::mul(host, host))));
  for (const Served* served : {&negs, &adds, &muls}) EXPECT_EQ(served->since(), "native 1");
}

TEST_F(Spaces, each_place_asks_for_itself) {
  const Tensor a = counted({1, 2, 3}, npu()), b = counted({1, 3, 2}, npu());
  const Tensor expected = bp::bmm(counted({1, 2, 3}), counted({1, 3, 2}));
  const Served served("bmm", "npu");
  for (const bool moved : {false, true}) {
    const Tensor product = moved ? bp::bmm(bp::to_space(a, sram), bp::to_space(b, sram))
                                 : bp::bmm(bp::to_space(a, sram), b);
    EXPECT_EQ(bp::memory_space_of(product), hbm);
    expect_same(product, expected);
  }
  EXPECT_EQ(served.since(), "native 1, legalized 1");
}

TEST_F(Spaces, operands_in_several_memories_give_a_result_in_the_main_one) {
  const Tensor x = counted({6}, npu()), fast = bp::to_space(x, sram);
  const Served served("add", "npu");
  const Tensor sum = bp::add(fast, x);
  EXPECT_EQ(bp::memory_space_of(sum), hbm);
  EXPECT_EQ(served.since(), "native 1");  // it takes either at each place
  expect_same(sum, bp::add(counted({6}), counted({6})));
}

TEST_F(Spaces, what_no_kernel_takes_from_there_runs_elsewhere) {
  const Tensor x = bp::to_space(counted({2, 3}, npu()), sram);
  expect_same(bp::sum(x), bp::sum(counted({2, 3})));
  const Served served("tanh", "npu");
  expect_same(bp::tanh(x), bp::tanh(counted({2, 3})));
  EXPECT_EQ(served.since(), "host 1");
}

TEST_F(Spaces, views_stay_and_strides_are_followed) {
  const Tensor base = bp::to_space(counted({4, 6}, npu()), sram), host = counted({4, 6});
  const auto turned = [](const Tensor& of) { return bp::transpose(of, 0, 1); };
  const auto part = [](const Tensor& of) { return bp::slice(of, 1, 1, 5, 2); };
  const auto wide = [](const Tensor& of) { return bp::expand(bp::slice(of, 0, 0, 1), {3, 6}); };
  EXPECT_EQ(bp::memory_space_of(part(base)), sram);
  expect_same(turned(base), turned(host));
  expect_same(part(base), part(host));
  expect_same(wide(base), wide(host));
  expect_same(bp::neg(part(base)), bp::neg(part(host)));
  expect_same(bp::exp(turned(bp::mul(base, 0.0))), bp::exp(turned(bp::mul(host, 0.0))));
  expect_same(bp::add(wide(base), 1), bp::add(wide(host), 1));
  expect_same(bp::to_space(part(base), hbm), part(host));
  expect_same(bp::to_space(part(bp::to_space(base, hbm)), sram), part(host));
}

TEST_F(Spaces, are_written_in_place_and_through_views) {
  const Tensor x = bp::to_space(counted({4, 4}, npu()), sram), host = counted({4, 4});
  bp::neg_(x);
  bp::neg_(host);
  bp::add_(x, counted({4, 4}, npu()));
  bp::add_(host, counted({4, 4}));
  for (const Tensor& of : {x, host}) {
    bp::mul_(bp::slice(of, 1, 1, 4, 2), 3);
    bp::copy_(bp::transpose(bp::slice(of, 0, 0, 4), 0, 1),
              of.device() == npu() ? counted({4, 4}, npu()) : counted({4, 4}));
    bp::tanh_(bp::slice(of, 0, 1, 3));
  }
  EXPECT_EQ(bp::memory_space_of(x), sram);
  expect_same(x, host);
}

TEST_F(Spaces, take_given_results) {
  const Tensor x = counted({5}, npu());
  const Tensor fast = bp::empty_tensor_in(sram, {5}, bp::f32, npu());
  const Tensor main = bp::empty_tensor({5}, bp::f32, npu());
  for (const Tensor& out : {fast, main}) {
    bp::neg_out(out, x);
    expect_same(out, bp::neg(counted({5})));
    bp::tanh_out(out, x);
    expect_same(out, bp::tanh(counted({5})));
  }
  EXPECT_EQ(bp::memory_space_of(fast), sram);
}

TEST_F(Spaces, a_full_memory_sends_calls_down_the_ladder) {
  const Tensor x = counted({16}, npu());
  const Served served("neg", "npu");
  {
    const Tensor all =
        bp::empty_tensor_in(sram, {static_cast<std::int64_t>(sram_bytes())}, bp::u8, npu());
    expect_same(bp::neg(x), bp::neg(counted({16})));
    EXPECT_EQ(served.since(), "host 1");
  }
  expect_same(bp::neg(x), bp::neg(counted({16})));
  EXPECT_EQ(served.since(), "legalized 1, host 1");
}

TEST_F(Spaces, a_result_that_finds_no_room_sends_calls_down_the_ladder) {
  const std::int64_t most = static_cast<std::int64_t>(sram_bytes()) / 4;
  const Tensor x = bp::to_space(counted({most}, npu()), sram);
  const Served served("neg", "npu");
  const Tensor y = bp::neg(x);
  EXPECT_EQ(served.since(), "host 1");
  EXPECT_EQ(bp::memory_space_of(y), hbm);
  expect_same(y, bp::neg(counted({most})));
}

TEST_F(Spaces, a_full_memory_is_named_where_nothing_else_is_allowed) {
  const bp::PolicyScope no_host(Rung::host, bp::Policy::forbid);
  const Tensor x = counted({16}, npu());
  const Tensor all =
      bp::empty_tensor_in(sram, {static_cast<std::int64_t>(sram_bytes())}, bp::u8, npu());
  EXPECT_EQ(class_of_error([&] { bp::neg(x); }), bp::ErrorClass::out_of_memory);
  EXPECT_EQ(
      error_of([&] { bp::neg(x); }),
      "neg: npu:0 sram: out of memory: asked 64 B; held by tensors 256.00 KiB in 1 block (largest "
      "256.00 KiB), cached 0 B; total 256.00 KiB; free tensors or move them to main memory with "
      "to_space() (plugin npu: 0 bytes are left of 262144); ways without that memory are "
      "forbidden by policy: host; allow one with set_policy");
}

TEST_F(Spaces, gradients_pass_between_them_and_come_back_to_where_their_tensors_are) {
  const Tensor x = given({1, 2, 3}, npu());
  const Tensor leaf = bp::set_requires_grad(x);
  const Tensor fast = bp::to_space(leaf, sram);
  const Tensor loss = bp::sum(bp::mul(bp::neg(fast), fast));
  EXPECT_EQ(bp::memory_space_of(fast), sram);
  bp::backward(loss);
  EXPECT_EQ(bp::memory_space_of(bp::grad(leaf)), hbm);
  expect_same(bp::grad(leaf), given({-2, -4, -6}));
}

TEST_F(Spaces, move_between_each_other_and_other_devices) {
  const Tensor host = counted({2, 3});
  for (const std::uint32_t from : {hbm, sram, window})
    for (const std::uint32_t to : {hbm, sram, window}) {
      const Tensor there = bp::to_space(bp::to_space(bp::to_device(host, npu()), from), to);
      EXPECT_EQ(bp::memory_space_of(there), to);
      expect_same(there, host);
      expect_same(bp::to_device(there, bp::host_device()), host);
      EXPECT_FALSE(bp::to_string(there).empty());
    }
  const Tensor seen = bp::to_space(bp::to_device(host, npu()), window);
  EXPECT_EQ(static_cast<const float*>(seen.data_ptr())[5], 5.f);
  EXPECT_TRUE(bp::to_space(seen, window).is_same(seen));
}

TEST_F(Spaces, that_do_not_exist_are_refused) {
  const Tensor x = counted({2}, npu());
  EXPECT_EQ(error_of([&] { bp::to_space(x, 3); }),
            "allocate: npu:0 has no memory space 3; it has 0 'hbm', 1 'sram', 2 'window'");
  EXPECT_EQ(error_of([&] { bp::to_space(counted({2}), 1); }),
            "allocate: cpu:0 has no memory space 1; it has 0 'host'");
}

}  // namespace
