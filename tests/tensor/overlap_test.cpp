#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include <backplane/tensor/views.hpp>

#include "test_storage.hpp"

namespace bp {
namespace {

using test::make_range;
using test::make_tensor;
using test::TestStorage;

bool overlap(const Tensor& a, const Tensor& b) {
  const bool result = may_overlap(*a.impl(), *b.impl());
  EXPECT_EQ(result, may_overlap(*b.impl(), *a.impl()));
  return result;
}

bool internal_overlap(const Tensor& tensor) {
  return has_internal_overlap(*tensor.impl());
}

void collect(const Tensor& tensor, std::int64_t dim, std::int64_t at, std::set<std::int64_t>& out) {
  if (dim == tensor.ndim()) {
    out.insert(at);
    return;
  }
  for (std::int64_t i = 0; i < tensor.shape()[dim]; ++i)
    collect(tensor, dim + 1, at + i * tensor.strides()[dim], out);
}

// The elements of the storage that it touches.
std::set<std::int64_t> touched(const Tensor& tensor) {
  std::set<std::int64_t> result;
  collect(tensor, 0, tensor.storage_offset(), result);
  return result;
}

TEST(overlap, tells_parts_of_one_storage_apart) {
  const Tensor base = make_range({6, 8});
  EXPECT_TRUE(overlap(base, base));
  EXPECT_TRUE(overlap(base, views::slice(base, 0, 5)));
  EXPECT_FALSE(overlap(views::slice(base, 0, 0, 3), views::slice(base, 0, 3)));
  EXPECT_TRUE(overlap(views::slice(base, 0, 0, 4), views::slice(base, 0, 3)));
}

TEST(overlap, tells_columns_apart) {
  const Tensor base = make_range({6, 8});
  EXPECT_FALSE(overlap(views::select(base, 1, 2), views::select(base, 1, 3)));
  EXPECT_FALSE(overlap(views::slice(base, 1, 0, 3), views::slice(base, 1, 3)));
  EXPECT_TRUE(overlap(views::slice(base, 1, 0, 4), views::slice(base, 1, 3)));
  EXPECT_FALSE(
      overlap(views::slice(base, 1, 0, {}, 2), views::slice(base, 1, 1, {}, 2)));  // even and odd
  EXPECT_FALSE(
      overlap(views::slice(views::transpose(base, 0, 1), 0, 0, 3), views::slice(base, 1, 3)));
}

TEST(overlap, never_misses_an_element_and_seldom_doubts) {
  std::mt19937 random(3);
  const Tensor base = make_range({64});
  int apart = 0;
  int doubts = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto make = [&] {
      const std::int64_t s0 = random() % 4, s1 = random() % 4;
      const std::int64_t a = random() % 10, b = random() % 10;
      return views::as_strided(base, {s0, s1}, {a, b}, std::int64_t(random() % 9));
    };
    const Tensor a = make();
    const Tensor b = make();
    const std::set<std::int64_t> of_a = touched(a);
    const std::set<std::int64_t> of_b = touched(b);
    std::set<std::int64_t> both;
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                          std::inserter(both, both.end()));
    if (!both.empty()) {
      ASSERT_TRUE(overlap(a, b));
    } else {
      ++apart;
      doubts += overlap(a, b);
    }
  }
  EXPECT_LT(doubts, apart / 5);
}

TEST(overlap, does_not_exist_between_storages) {
  EXPECT_FALSE(overlap(make_range({4}), make_range({4})));
  EXPECT_FALSE(overlap(test::make_meta_tensor({4}), test::make_meta_tensor({4})));
}

TEST(overlap, is_seen_between_two_storages_over_the_same_memory) {
  const Tensor base = make_range({8});
  struct Borrowed : Storage {};
  Borrowed borrowed;
  borrowed.handle = base.impl()->storage->handle + 2 * sizeof(std::int64_t);
  borrowed.bytes = 16;
  borrowed.device = base.device();
  borrowed.host_readable = true;
  borrowed.release = [](Storage*) {};
  const Tensor part = test::make_tensor(&borrowed, {2}, i64);
  EXPECT_TRUE(overlap(base, part));
  EXPECT_FALSE(overlap(views::slice(base, 0, 0, 2), part));
  EXPECT_FALSE(overlap(views::slice(base, 0, 4), part));
}

TEST(overlap, needs_elements) {
  const Tensor base = make_range({4});
  EXPECT_FALSE(overlap(base, views::slice(base, 0, 2, 2)));
}

TEST(overlap, knows_exact_aliases) {
  const Tensor base = make_range({2, 3});
  const auto alias = [&](const Tensor& other) {
    return is_exact_alias(*base.impl(), *other.impl());
  };
  EXPECT_TRUE(alias(base));
  EXPECT_TRUE(alias(views::view(base, {2, 3})));
  EXPECT_FALSE(alias(views::view(base, {3, 2})));
  EXPECT_FALSE(alias(views::as_strided(base, {2, 3}, {1, 2})));
  EXPECT_FALSE(alias(make_range({2, 3})));
  const Tensor row = make_range({1, 3});
  EXPECT_TRUE(is_exact_alias(*row.impl(), *views::as_strided(row, {1, 3}, {77, 1}).impl()));
}

TEST(overlap, within_a_tensor_is_what_expand_makes) {
  const Tensor base = make_range({1, 3});
  EXPECT_FALSE(internal_overlap(base));
  EXPECT_TRUE(internal_overlap(views::expand(base, {2, 3})));
  EXPECT_FALSE(internal_overlap(views::expand(base, {0, 3})));
  EXPECT_FALSE(internal_overlap(views::as_strided(base, {1}, {0})));
  EXPECT_FALSE(internal_overlap(views::unfold(base, 1, 2, 1)));  // as in PyTorch
}

TEST(overlap, spans_the_bytes_from_the_first_to_the_last_element) {
  auto* storage = new TestStorage(256);
  storage->offset = 32;
  const Tensor base = test::make_tensor(storage, {4, 8}, f32);
  const ByteSpan column = touched_bytes(*views::select(base, 1, 3).impl());
  EXPECT_EQ(column.begin, 32u + 12u);
  EXPECT_EQ(column.end, 32u + (3 * 8 + 3 + 1) * 4);
  const ByteSpan none = touched_bytes(*views::slice(base, 0, 2, 2).impl());
  EXPECT_EQ(none.begin, none.end);
}

}  // namespace
}  // namespace bp
