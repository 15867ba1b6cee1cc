// Splitting, merging and fitting, without a device.
#include "memory/block_pool.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace bp::test {
namespace {

struct Pool : testing::Test {
  Storage prototype;
  BlockPool pool{512, prototype};
  bp_handle next_handle = 1;

  PoolBlock* add(std::uint64_t segment_bytes, std::uint64_t bytes,
                 PoolKind kind = PoolKind::small) {
    BlockPool::Prepared prepared = pool.prepare(nullptr);
    prepared.segment->kind = kind;
    prepared.segment->handle = next_handle++;
    prepared.segment->bytes = segment_bytes;
    return pool.add_segment(std::move(prepared), bytes);
  }
};

TEST_F(Pool, an_empty_one_has_nothing) {
  EXPECT_EQ(pool.take(nullptr, PoolKind::small, 512), nullptr);
}

TEST_F(Pool, blocks_are_cut_off_and_joined_again) {
  PoolBlock* a = add(4096, 1024);
  PoolBlock* b = pool.take(nullptr, PoolKind::small, 1024);
  PoolBlock* c = pool.take(nullptr, PoolKind::small, 2048);
  EXPECT_EQ(b->offset, 1024u);
  EXPECT_EQ(c->offset, 2048u);
  EXPECT_EQ(pool.take(nullptr, PoolKind::small, 512), nullptr);
  pool.give_back(*a);
  pool.give_back(*c);
  EXPECT_EQ(pool.free_bytes(), 3072u);
  EXPECT_TRUE(pool.remove_free_segments().empty());
  pool.give_back(*b);
  EXPECT_EQ(pool.segments()->first->bytes, 4096u);
  EXPECT_EQ(pool.remove_free_segments().size(), 1u);
  EXPECT_EQ(pool.segments(), nullptr);
}

TEST_F(Pool, the_block_given_back_last_is_taken_again_as_it_is) {
  PoolBlock* first = add(4096, 1024);
  pool.give_back(*first);
  EXPECT_EQ(pool.free_bytes(), 4096u);
  EXPECT_EQ(pool.take(nullptr, PoolKind::small, 1024), first);
  EXPECT_EQ(pool.free_bytes(), 3072u);
  PoolBlock* second = pool.take(nullptr, PoolKind::small, 1024);
  EXPECT_EQ(second->offset, 1024u);
  pool.give_back(*second);
  // The sizes differ: it is joined with what lies behind it.
  EXPECT_EQ(pool.take(nullptr, PoolKind::small, 3072)->offset, 1024u);
}

TEST_F(Pool, the_block_given_back_last_serves_its_own_stream_and_kind) {
  pool.give_back(*add(4096, 1024));
  int other = 0;
  EXPECT_EQ(pool.take(reinterpret_cast<StreamImpl*>(&other), PoolKind::small, 1024), nullptr);
  pool.give_back(*pool.take(nullptr, PoolKind::small, 1024));
  EXPECT_EQ(pool.take(nullptr, PoolKind::large, 1024), nullptr);
}

TEST_F(Pool, the_block_given_back_last_goes_with_its_stream) {
  pool.give_back(*add(4096, 1024));
  int other = 0;
  auto* heir = reinterpret_cast<StreamImpl*>(&other);
  pool.prepare_hand_over(nullptr, heir);
  pool.hand_over(nullptr, heir);
  EXPECT_EQ(pool.take(nullptr, PoolKind::small, 1024), nullptr);
  EXPECT_NE(pool.take(heir, PoolKind::small, 4096), nullptr);
}

TEST_F(Pool, the_best_fit_is_taken) {
  PoolBlock* large = add(1 << 20, 1 << 20);
  PoolBlock* fitting = add(64 << 10, 64 << 10);
  PoolBlock* small = add(32 << 10, 32 << 10);
  const bp_handle wanted = fitting->handle;
  for (PoolBlock* block : {large, fitting, small}) pool.give_back(*block);
  EXPECT_EQ(pool.take(nullptr, PoolKind::small, 60 << 10)->handle, wanted);
}

TEST_F(Pool, a_large_block_keeps_a_rest_that_would_be_of_no_use) {
  EXPECT_EQ(add(3 << 20, (2 << 20) + 512, PoolKind::large)->bytes, std::uint64_t{3} << 20);
  EXPECT_EQ(add(4 << 20, 2 << 20, PoolKind::large)->bytes, std::uint64_t{2} << 20);
}

TEST_F(Pool, whole_blocks_are_neither_cut_nor_wasted) {
  PoolBlock* block = add(10000, 9000, PoolKind::whole);
  EXPECT_EQ(block->bytes, 10000u);
  pool.give_back(*block);
  EXPECT_EQ(pool.take(nullptr, PoolKind::whole, 100), nullptr);
  EXPECT_NE(pool.take(nullptr, PoolKind::whole, 9000), nullptr);
}

TEST_F(Pool, streams_and_kinds_do_not_mix) {
  pool.give_back(*add(4096, 4096));
  int other = 0;
  EXPECT_EQ(pool.take(reinterpret_cast<StreamImpl*>(&other), PoolKind::small, 512), nullptr);
  EXPECT_EQ(pool.take(nullptr, PoolKind::large, 512), nullptr);
}

// After any history the blocks of a segment tile it, and no two free ones are neighbours.
TEST_F(Pool, stays_consistent_under_random_use) {
  std::mt19937 random(3);
  std::vector<PoolBlock*> held;
  std::uint64_t reserved = 0, taken = 0;
  for (int step = 0; step < 20000; ++step) {
    if (held.size() < 100 && random() % 2) {
      const std::uint64_t bytes = 512 * (1 + random() % 200);
      PoolBlock* block = pool.take(nullptr, PoolKind::small, bytes);
      if (!block) {
        block = add(1 << 20, bytes);
        reserved += 1 << 20;
      }
      ASSERT_EQ(block->bytes, bytes);
      taken += bytes;
      held.push_back(block);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      taken -= held.back()->bytes;
      pool.give_back(*held.back());
      held.pop_back();
    }
    ASSERT_EQ(pool.free_bytes() + taken, reserved);
    if (step % 100 != 0) continue;
    for (const Segment* segment = pool.segments(); segment; segment = segment->after) {
      std::uint64_t offset = 0;
      for (const PoolBlock* block = segment->first; block; block = block->upper) {
        ASSERT_EQ(block->offset, offset);
        ASSERT_TRUE(block->taken || !block->upper || block->upper->taken);
        offset += block->bytes;
      }
      ASSERT_EQ(offset, segment->bytes);
    }
  }
  for (PoolBlock* block : held) pool.give_back(*block);
  pool.remove_free_segments();
  EXPECT_EQ(pool.segments(), nullptr);
  EXPECT_EQ(pool.free_bytes(), 0u);
}

}  // namespace
}  // namespace bp::test
