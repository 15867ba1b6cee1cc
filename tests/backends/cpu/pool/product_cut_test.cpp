// Products cut for any number of threads, more than this machine has too: the parts multiply to the whole.
#include <gtest/gtest.h>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/matmul_cut.hpp"

namespace {

using bp::cpu::Product;
using bp::cpu::ProductCut;

void multiply(const Product& part, int64_t out_row) {
  const auto *a = reinterpret_cast<const float*>(part.a.data),
             *b = reinterpret_cast<const float*>(part.b.data);
  auto* out = reinterpret_cast<float*>(part.out);
  for (int64_t i = 0; i < part.m; ++i)
    for (int64_t j = 0; j < part.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < part.k; ++l)
        sum += a[i * part.a.row_stride + l * part.a.column_stride] *
               b[l * part.b.row_stride + j * part.b.column_stride];
      out[i * out_row + j] += sum;  // a part that is taken twice shows
    }
}

TEST(ProductCut, has_parts_that_make_the_whole_once) {
  std::mt19937 random(1);
  const auto size = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  for (int round = 0; round < 120; ++round) {
    const int64_t batch = round % 3 == 0 ? 1 : size(6), m = size(180), n = size(180), k = size(40);
    std::vector<float> a(batch * m * k), b(batch * k * n), got(batch * m * n), right(batch * m * n);
    for (float& each : a) each = static_cast<float>(random() % 7) - 3;
    for (float& each : b) each = static_cast<float>(random() % 7) - 3;
    const bool by_columns = round % 2 == 0, one_b = round % 5 == 0;
    Product p{BP_F32, batch, m, n, k, {}, {}, reinterpret_cast<char*>(right.data())};
    p.a = {reinterpret_cast<char*>(a.data()), by_columns ? 1 : k, by_columns ? m : 1, m * k};
    p.b = {reinterpret_cast<char*>(b.data()), by_columns ? 1 : n, by_columns ? k : 1,
           one_b ? 0 : k * n};
    for (int64_t i = 0; i < batch; ++i) {
      Product one = p;
      one.a.data += i * p.a.batch_stride * 4;
      one.b.data += i * p.b.batch_stride * 4;
      one.out += i * m * n * 4;
      multiply(one, n);
    }
    p.out = reinterpret_cast<char*>(got.data());
    const int threads = static_cast<int>(size(32));
    const ProductCut cut = ProductCut::of(p, threads, round % 7 == 0, round % 4 == 0);
    for (int64_t index = 0; index < cut.count(p); ++index) {
      const Product part = cut.part(p, index);
      for (int64_t i = 0; i < part.batch; ++i) {
        Product one = part;
        one.a.data += i * p.a.batch_stride * 4;
        one.b.data += i * p.b.batch_stride * 4;
        one.out += i * m * n * 4;
        multiply(one, n);
      }
    }
    EXPECT_EQ(got, right) << batch << " of " << m << "x" << k << " by " << n << " on " << threads;
  }
}

TEST(ProductCut, gives_every_thread_something_where_there_is_enough) {
  for (const int threads : {2, 3, 8, 16, 64})
    for (const int64_t batch : {1, 2, 5, 16}) {
      const Product p{BP_F32, batch, 1024, 1024, 1024, {}, {}, nullptr};
      EXPECT_GE(ProductCut::of(p, threads).count(p), threads) << batch;
      EXPECT_GE(ProductCut::of(p, threads, false, true).count(p), threads) << batch;
    }
}

// A gradient to a weight of 384 by 1536, whose halves oneDNN would read in place: halves of its terms.
TEST(ProductCut, is_along_terms_where_a_left_factor_by_columns_would_be_read_in_place) {
  const auto cut = [](int64_t k, int threads, bool by_columns, bool across = false) {
    Product p{BP_F32, 1, 384, 1536, k, {}, {}, nullptr};
    p.a = {nullptr, by_columns ? 1 : k, by_columns ? p.m : 1, 0};
    p.b = {nullptr, p.n, 1, 0};
    return ProductCut::of(p, threads, across, true);
  };
  EXPECT_EQ(cut(1024, 2, true).along, ProductCut::terms);
  EXPECT_EQ(cut(1024, 2, true).parts, 2);
  EXPECT_EQ(cut(1000, 3, true).parts, 3);
  EXPECT_NE(cut(1024, 2, true, true).along, ProductCut::terms);
  EXPECT_NE(cut(1024, 2, false).along, ProductCut::terms);
  EXPECT_NE(cut(1024, 1, true).along, ProductCut::terms);
  EXPECT_NE(cut(1024, 8, true).along, ProductCut::terms);  // more to add than is gained
}

TEST(ProductCut, parts_of_terms_add_up_to_the_whole) {
  std::mt19937 random(2);
  const int64_t m = 400, n = 1200;
  for (const auto& [k, threads, b_by_columns] :
       {std::tuple<int64_t, int, bool>{513, 2, false}, {800, 3, true}}) {
    std::vector<float> a(m * k), b(k * n), got(m * n), right(m * n);
    for (float& each : a) each = static_cast<float>(random() % 7) - 3;
    for (float& each : b) each = static_cast<float>(random() % 7) - 3;
    Product p{BP_F32, 1, m, n, k, {}, {}, reinterpret_cast<char*>(right.data())};
    p.a = {reinterpret_cast<char*>(a.data()), 1, m, 0};
    p.b = {reinterpret_cast<char*>(b.data()), b_by_columns ? 1 : n, b_by_columns ? k : 1, 0};
    multiply(p, n);
    p.out = reinterpret_cast<char*>(got.data());
    const ProductCut cut = ProductCut::of(p, threads, false, true);
    ASSERT_EQ(cut.along, ProductCut::terms);
    for (int64_t index = 0; index < cut.count(p); ++index) multiply(cut.part(p, index), n);
    EXPECT_EQ(got, right) << k << " terms on " << threads;
  }
}

// oneDNN packs the factors of two halves of 1024 by 1152, and not those of quarters.
TEST(ProductCut, is_as_coarse_as_packing_needs) {
  const auto parts = [](int64_t m, int64_t n, int threads, bool packs_by_size) {
    const Product p{BP_F32, 1, m, n, 384, {}, {}, nullptr};
    return ProductCut::of(p, threads, false, packs_by_size).count(p);
  };
  EXPECT_EQ(parts(1024, 1152, 2, false), 4);
  EXPECT_EQ(parts(1024, 1152, 2, true), 2);
  EXPECT_EQ(parts(1024, 1152, 1, true), 1);
  EXPECT_EQ(parts(1024, 384, 2, true), 4);   // not even halves
  EXPECT_EQ(parts(4096, 4096, 2, true), 4);  // quarters too
}

}  // namespace
