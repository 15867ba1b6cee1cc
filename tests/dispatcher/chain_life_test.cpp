// needs: cpu reference reference_primitives
// alone: malloc.h and tests/dispatcher/allocations.cpp declare malloc in different ways
// How long joined operators live: shared while somebody holds them, freed with their kernels when nobody does and their
// work is done.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <limits>
#include <malloc.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/chain.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Chain;
using bp::ChainInput;
using bp::ChainStep;
using bp::Tensor;
namespace ops = bp::ops;

// x * factor + x: another chain for another factor.
std::vector<ChainStep> scaled_by(double factor) {
  return {{&ops::mul, {ChainInput::argument(0), ChainInput::number(factor)}},
          {&ops::add, {ChainInput::step(0), ChainInput::argument(0)}}};
}

Tensor call_with(const Chain& chain, const Tensor& x) {
  bp_value args[] = {bp::value_of(x)};
  return bp::call_chain(chain, args, 1);
}

std::uint64_t calls_of(std::string_view op) {
  std::uint64_t calls = 0;
  for (const bp::CallCount& row : bp::call_counts())
    if (row.op == op)
      for (const std::uint64_t each : row.calls) calls += each;
  return calls;
}

// In use, of the C++ heap. Freed pieces that the C library keeps at hand are among them, some hundred KiB more or less: what is
// asserted is far below one table of kernels for each chain.
std::size_t heap_bytes() {
  return mallinfo2().uordblks;
}

// Makes, calls and drops different chains; what they leave behind in memory.
std::int64_t bytes_left_by(int first, int count, const Tensor& x) {
  const std::size_t before = heap_bytes();
  for (int i = 0; i < count; ++i) {
    const Chain chain = bp::join(scaled_by(first + i + 0.5));
    const Tensor result = call_with(chain, x);
    if (i % 1000 == 0) expect_same(result, bp::add(bp::mul(x, first + i + 0.5), x));
  }
  return static_cast<std::int64_t>(heap_bytes()) - static_cast<std::int64_t>(before);
}

TEST(ChainLife, equal_chains_share_an_operator_that_ends_with_the_last) {
  std::string name;
  {
    const Chain first = bp::join(scaled_by(3)), second = bp::join(scaled_by(3)), third = second;
    name = first->name();
    EXPECT_EQ(&*first, &*second);
    EXPECT_EQ(&*first, &*third);
    EXPECT_EQ(bp::find_operator(name), &*first);
  }
  EXPECT_EQ(bp::find_operator(name), nullptr);
  const Chain again = bp::join(scaled_by(3));
  EXPECT_EQ(again->name(), name);
  expect_same(call_with(again, counted({5})), bp::mul(counted({5}), 4));
}

TEST(ChainLife, is_not_listed_among_the_operators) {
  const std::size_t before = bp::registered_operators().size();
  const Chain chain = bp::join(scaled_by(4));
  EXPECT_EQ(bp::registered_operators().size(), before);
  const std::vector<Chain> living = bp::living_chains();
  EXPECT_TRUE(std::any_of(living.begin(), living.end(),
                          [&](const Chain& each) { return &*each == &*chain; }));
}

TEST(ChainLife, an_empty_chain_says_so) {
  const Tensor x = counted({3});
  EXPECT_EQ(error_of([&] { call_with(Chain(), x); }), "call_chain: the chain is empty; join one");
  EXPECT_FALSE(Chain::sharing(ops::add));
}

TEST(ChainLife, one_among_the_steps_of_another_lives_with_it) {
  Chain outer;
  std::string inner_name;
  {
    const Chain inner = bp::join(scaled_by(5));
    inner_name = inner->name();
    outer = bp::join(std::vector<ChainStep>{{&*inner, {ChainInput::argument(0)}},
                                            {&ops::neg, {ChainInput::step(0)}}});
  }
  EXPECT_NE(bp::find_operator(inner_name), nullptr);
  expect_same(call_with(outer, counted({4})), bp::mul(counted({4}), -6));
  outer = {};
  EXPECT_EQ(bp::find_operator(inner_name), nullptr);
}

TEST(ChainLife, counts_go_on_in_one_row) {
  const Tensor x = counted({6});
  bp::reset_call_counts();
  std::string name;
  {
    const Chain chain = bp::join(scaled_by(6));
    name = chain->name();
    call_with(chain, x);
    call_with(chain, x);
    EXPECT_EQ(calls_of(name), 2u);
  }
  EXPECT_EQ(calls_of(name), 0u);
  EXPECT_EQ(calls_of("joined"), 2u);
  const Chain next = bp::join(scaled_by(7));  // may count where the former did
  call_with(next, x);
  EXPECT_EQ(calls_of(next->name()), 1u);
  EXPECT_EQ(calls_of("joined"), 2u);
  bp::reset_call_counts();
  EXPECT_EQ(calls_of("joined"), 0u);
  EXPECT_EQ(calls_of(next->name()), 0u);
}

TEST(ChainLife, a_hundred_thousand_with_kernels_of_cpu_leave_nothing_behind) {
  const Tensor x = counted({16});
  bytes_left_by(0, 2000, x);
  const Served served("joined", "cpu");
  EXPECT_LT(bytes_left_by(2000, 100'000, x), 1 << 21);
  EXPECT_EQ(served.since(), "native 100000");
}

TEST(ChainLife, ten_thousand_by_steps_leave_nothing_behind) {
  const Tensor x = counted({16}, bp::device("reference_primitives"));
  bytes_left_by(0, 2000, x);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  // Of three: what stays, stays each time.
  for (int first : {2000, 12'000, 22'000}) least = std::min(least, bytes_left_by(first, 10'000, x));
  EXPECT_LT(least, 1 << 20);
}

TEST(ChainLife, threads_make_call_and_drop_the_same_and_others) {
  const Tensor x = counted({32});
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const double own = 1000 * (t + 1) + i, shared = -(i % 3) - 2;
        const Chain mine = bp::join(scaled_by(own)), ours = bp::join(scaled_by(shared));
        if (values(call_with(mine, x))[31] != static_cast<float>(31 * own + 31)) ++num_wrong;
        if (values(call_with(ours, x))[31] != static_cast<float>(31 * shared + 31)) ++num_wrong;
        if (i % 50 == 0) bp::call_counts();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST(ChainLife, one_dropped_while_its_plugin_is_away_is_no_matter) {
  Chain dropped = bp::join(scaled_by(8));
  const Chain kept = bp::join(scaled_by(9));
  call_with(dropped, counted({3}));
  call_with(kept, counted({3}));
  bp::unload_plugin(*bp::find_backend("cpu"));
  dropped = {};
  expect_same(call_with(kept, counted({3})), bp::mul(counted({3}), 10));
}

TEST(ChainLife, a_forked_child_makes_and_drops_its_own) {
  const Tensor x = counted({3});
  Chain before = bp::join(scaled_by(11));
  call_with(before, x);
  std::atomic<bool> stops{false};
  std::thread other([&] {  // forks meet it anywhere
    for (int i = 0; !stops; ++i) call_with(bp::join(scaled_by(20'000 + i)), x);
  });
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      before = {};
      _exit(values(call_with(bp::join(scaled_by(12)), x))[2] == 26 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stops = true;
  other.join();
  EXPECT_EQ(values(call_with(before, x))[2], 24);
}

}  // namespace
