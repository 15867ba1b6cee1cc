// Shapes and dtypes of results, on the meta device: no backend is needed to know them.
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp {
namespace {

using test::meta;

void expect_result(const Tensor& result, IntList shape, Dtype dtype) {
  EXPECT_EQ(to_string(result.shape()), to_string(shape));
  EXPECT_EQ(name(result.dtype()), name(dtype));
  EXPECT_EQ(result.device(), meta_device);
}

TEST(meta, elementwise_shapes_broadcast) {
  expect_result(add(meta({3, 5}), meta({5})), {3, 5}, f32);
  expect_result(add(meta({3, 1}), meta({1, 5})), {3, 5}, f32);
  expect_result(add(meta({0, 5}), meta({1, 5})), {0, 5}, f32);
  expect_result(add(meta({}), meta({})), {}, f32);
  expect_result(where(meta({3, 1}, boolean), meta({5}), 0), {3, 5}, f32);
}

TEST(meta, elementwise_dtypes_are_promoted_as_in_pytorch) {
  expect_result(add(meta({2}, i32), meta({2}, i64)), {2}, i64);
  expect_result(add(meta({2}, u8), meta({2}, i8)), {2}, i16);
  expect_result(add(meta({2}, i64), meta({2}, f16)), {2}, f16);
  expect_result(add(meta({2}, f16), meta({2}, bf16)), {2}, f32);
  expect_result(add(meta({2}, f32), meta({}, f64)), {2}, f32);
  expect_result(add(meta({2}, i32), meta({}, i64)), {2}, i32);
  expect_result(add(meta({2}, i32), meta({}, f64)), {2}, f64);
  expect_result(mul(meta({2}, boolean), meta({2}, boolean)), {2}, boolean);
}

TEST(meta, numbers_raise_the_category_only) {
  expect_result(add(meta({2}, i32), 3), {2}, i32);
  expect_result(add(meta({2}, i32), 0.5), {2}, f32);
  expect_result(add(meta({2}, f16), 0.5), {2}, f16);
  expect_result(add(meta({2}, boolean), 3), {2}, i64);
  expect_result(mul(meta({2}, f32), std::complex<double>(0, 1)), {2}, complex64);
  expect_result(sub(1, meta({2}, u8)), {2}, u8);
  expect_result(where(meta({2}, boolean), 1.0, 0), {2}, f32);
}

TEST(meta, functions_of_integers_are_floating) {
  expect_result(div(meta({2}, i64), meta({2}, i64)), {2}, f32);
  expect_result(div(meta({2}, i32), 2), {2}, f32);
  expect_result(exp(meta({2}, boolean)), {2}, f32);
  expect_result(exp(meta({2}, f64)), {2}, f64);
  expect_result(neg(meta({2}, i16)), {2}, i16);
}

TEST(meta, comparisons_and_logic_are_bools) {
  expect_result(eq(meta({3, 5}, i64), meta({5}, f32)), {3, 5}, boolean);
  expect_result(lt(meta({2}), 1), {2}, boolean);
  expect_result(logical_and(meta({2}, f32), meta({2}, i64)), {2}, boolean);
  expect_result(logical_not(meta({2}, f32)), {2}, boolean);
}

TEST(meta, reductions_drop_or_keep_dimensions) {
  const Tensor a = meta({2, 3, 4});
  expect_result(sum(a), {}, f32);
  expect_result(sum(a, {}, true), {1, 1, 1}, f32);
  expect_result(sum(a, 1), {2, 4}, f32);
  expect_result(sum(a, -1, true), {2, 3, 1}, f32);
  expect_result(sum(a, {0, 2}), {3}, f32);
  expect_result(mean(a, {-1, 0}, true), {1, 3, 1}, f32);
  expect_result(max(a, {0, 1}), {4}, f32);
  expect_result(argmax(a), {}, i64);
  expect_result(argmax(a, 1, true), {2, 1, 4}, i64);
  expect_result(sum(meta({})), {}, f32);
  expect_result(sum(meta({}), 0), {}, f32);
  expect_result(max(meta({0, 3}), 1), {0}, f32);
}

TEST(meta, sums_of_integers_are_int64) {
  expect_result(sum(meta({2}, i8)), {}, i64);
  expect_result(sum(meta({2}, boolean)), {}, i64);
  expect_result(sum(meta({2}, i8), {}, false, i8), {}, i8);
  expect_result(sum(meta({2}, f16), {}, false, f64), {}, f64);
  expect_result(cumsum(meta({2}, u8), 0), {2}, i64);
  expect_result(mean(meta({2}, i64), {}, false, f32), {}, f32);
  expect_result(max(meta({2}, i8)), {}, i8);
}

TEST(meta, matmul_takes_vectors_matrices_and_batches) {
  expect_result(matmul(meta({3}), meta({3})), {}, f32);
  expect_result(matmul(meta({3}), meta({3, 4})), {4}, f32);
  expect_result(matmul(meta({2, 3}), meta({3})), {2}, f32);
  expect_result(matmul(meta({5, 2, 3}), meta({3})), {5, 2}, f32);
  expect_result(matmul(meta({3}), meta({5, 3, 4})), {5, 4}, f32);
  expect_result(matmul(meta({2, 1, 4, 5}), meta({3, 5, 6})), {2, 3, 4, 6}, f32);
  expect_result(matmul(meta({2, 0}), meta({0, 4})), {2, 4}, f32);
  expect_result(bmm(meta({2, 3, 4}, i64), meta({2, 4, 5}, i64)), {2, 3, 5}, i64);
}

TEST(meta, indexing_shapes_follow_the_index) {
  const Tensor a = meta({4, 6});
  expect_result(gather(a, 1, meta({2, 9}, i64)), {2, 9}, f32);
  expect_result(index_select(a, 0, meta({7}, i32)), {7, 6}, f32);
  expect_result(scatter_add(a, 0, meta({9, 3}, i64), meta({9, 3})), {4, 6}, f32);
  expect_result(one_hot(meta({2, 3}, i64), 5), {2, 3, 5}, i64);
  const SortResult sorted = sort(a, 0);
  expect_result(sorted.values, {4, 6}, f32);
  expect_result(sorted.indices, {4, 6}, i64);
}

TEST(meta, cat_adds_up_one_dimension) {
  expect_result(cat({meta({2, 3}), meta({4, 3})}), {6, 3}, f32);
  expect_result(cat({meta({2, 3}), meta({2, 1}, f64)}, -1), {2, 4}, f64);
  expect_result(cat({meta({0}), meta({2, 3}), meta({0, 3})}), {2, 3}, f32);
  expect_result(cat({meta({0}), meta({0})}), {0}, f32);
}

TEST(meta, factories_choose_dtypes) {
  expect_result(zeros({2}, {}, meta_device), {2}, f32);
  expect_result(full({2}, 1, {}, meta_device), {2}, i64);
  expect_result(full({}, true, {}, meta_device), {}, boolean);
  expect_result(full({2}, 1.5, {}, meta_device), {2}, f32);
  expect_result(full({2}, 1.5, i32, meta_device), {2}, i32);
  expect_result(arange(0, 10, 3, {}, meta_device), {4}, i64);
  expect_result(arange(10, 0, -4, {}, meta_device), {3}, i64);
  expect_result(arange(0, 1, 0.25, {}, meta_device), {4}, f32);
  expect_result(arange(3, 3, 1, {}, meta_device), {0}, i64);
  expect_result(zeros_like(meta({2, 3}, i8)), {2, 3}, i8);
  expect_result(ones_like(meta({2, 3}, i8), f64), {2, 3}, f64);
  expect_result(rand({2, 3}, f16, meta_device), {2, 3}, f16);
  expect_result(randint(0, 10, {4}, {}, meta_device), {4}, i64);
  expect_result(randperm(5, i32, meta_device), {5}, i32);
}

TEST(meta, a_default_dtype_is_that_of_new_floating_tensors) {
  set_default_dtype(f64);
  expect_result(zeros({2}, {}, meta_device), {2}, f64);
  expect_result(div(meta({2}, i64), 2), {2}, f64);
  expect_result(add(meta({2}, i64), 0.5), {2}, f64);
  expect_result(add(meta({2}, f32), 0.5), {2}, f32);
  set_default_dtype(f32);
}

TEST(meta, views_share_and_reshape_copies_only_if_it_must) {
  expect_result(reshape(transpose(meta({2, 3}), 0, 1), {6}), {6}, f32);
  expect_result(flatten(meta({2, 3, 4}), 1), {2, 12}, f32);
  expect_result(squeeze(meta({1, 3, 1})), {3}, f32);
  expect_result(squeeze(meta({1, 3, 1}), 0), {3, 1}, f32);
  expect_result(permute(meta({2, 3, 4}), {2, 0, 1}), {4, 2, 3}, f32);
}

TEST(meta, outputs_may_be_given) {
  const Tensor out = meta({3, 5});
  EXPECT_TRUE(add_out(out, meta({3, 5}), meta({5})).is_same(out));
  EXPECT_TRUE(add_(out, 1).is_same(out));
  EXPECT_TRUE((out += meta({5})).is_same(out));
  EXPECT_THROW(add_(meta({5}), meta({3, 5})), Error);
  EXPECT_THROW(add_(meta({5}, i64), 0.5), Error);
}

}  // namespace
}  // namespace bp
