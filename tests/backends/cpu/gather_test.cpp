// needs: cpu
// gather, index_select, scatter_add and one_hot, duplicates and bad indices among them.
#include <complex>
#include <cstring>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"
#include "direct_call.hpp"

namespace {

using namespace bp_test;

Data counting(const Sizes& shape) {
  Data data(BP_F32, shape);
  for (int64_t i = 0; i < data.numel(); ++i) data.at<float>(i) = static_cast<float>(i);
  return data;
}

TEST(CpuGather, index_select_takes_rows_columns_and_blocks) {
  Data a = counting({2, 3, 4});
  Data index = Data::of<int64_t>(BP_I64, {4}, {1, 0, 1, 1});
  for (int64_t dim = 0; dim < 3; ++dim) {
    Sizes shape = a.shape();
    shape[dim] = 4;
    Data out(BP_F32, shape);
    run("index_select", {value(a), value(dim), value(index)}, {&out});
    int64_t place = 0;
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j)
        for (int64_t k = 0; k < shape[2]; ++k) {
          Sizes at{i, j, k};
          at[dim] = index.at<int64_t>(at[dim]);
          EXPECT_EQ(out.at<float>(place++), static_cast<float>((at[0] * 3 + at[1]) * 4 + at[2]));
        }
  }
}

TEST(CpuGather, index_select_reads_strided_tensors_of_every_width) {
  Data index = Data::of<int32_t>(BP_I32, {2}, {2, 0});
  Data bytes = Data::of<uint8_t>(BP_U8, {2, 3}, {1, 2, 3, 4, 5, 6}).permuted({1, 0});
  Data out(BP_U8, {2, 2});
  run("index_select", {value(bytes), value(0), value(index)}, {&out});
  EXPECT_EQ(out.values<uint8_t>(), (std::vector<uint8_t>{3, 6, 1, 4}));

  using C = std::complex<double>;
  Data wide = Data::of<C>(BP_COMPLEX128, {3}, {C(1, 2), C(3, 4), C(5, 6)});
  Data wide_out(BP_COMPLEX128, {2});
  run("index_select", {value(wide), value(0), value(index)}, {&wide_out});
  EXPECT_EQ(wide_out.values<C>(), (std::vector<C>{C(5, 6), C(1, 2)}));
}

TEST(CpuGather, index_select_moves_many_rows_by_several_threads) {
  Data a = counting({1000, 300});
  Data index(BP_I64, {2000});
  for (int64_t i = 0; i < 2000; ++i) index.at<int64_t>(i) = i * 7 % 1000;
  Data out(BP_F32, {2000, 300});
  run("index_select", {value(a), value(0), value(index)}, {&out});
  for (int64_t i = 0; i < out.numel(); i += 13)
    ASSERT_EQ(out.at<float>(i), static_cast<float>(i / 300 * 7 % 1000 * 300 + i % 300));
}

TEST(CpuGather, gather_follows_an_index_of_another_shape) {
  Data a = counting({3, 4});
  Data index = Data::of<int64_t>(BP_I64, {2, 3}, {2, 0, 1, 0, 2, 2});
  Data out(BP_F32, {2, 3});
  run("gather", {value(a), value(0), value(index)}, {&out});
  EXPECT_EQ(out.values<float>(), (std::vector<float>{8, 1, 6, 0, 9, 10}));
  run("gather", {value(a), value(1), value(index)}, {&out});
  EXPECT_EQ(out.values<float>(), (std::vector<float>{2, 0, 1, 4, 6, 6}));
  Data turned = a.permuted({1, 0});
  run("gather", {value(turned), value(0), value(index)}, {&out});
  EXPECT_EQ(out.values<float>(), (std::vector<float>{2, 4, 9, 0, 6, 10}));
}

TEST(CpuGather, bad_indices_are_named) {
  Data a = counting({5, 2});
  Data index = Data::of<int64_t>(BP_I64, {3}, {0, 7, -1});
  Data out(BP_F32, {3, 2});
  EXPECT_EQ(refusal("index_select", {value(a), value(0), value(index)}, {&out}),
            "index_select: index 7 is out of range for dimension 0 of size 5");
  Data negative = Data::of<int32_t>(BP_I32, {1, 2}, {0, -1});
  Data row(BP_F32, {1, 2});
  EXPECT_EQ(refusal("gather", {value(a), value(1), value(negative)}, {&row}),
            "gather: index -1 is out of range for dimension 1 of size 2");
}

TEST(CpuGather, the_first_of_many_bad_indices_is_named_whatever_the_threads) {
  Data a = counting({5});
  Data index(BP_I64, {500, 400});
  for (int64_t i = 0; i < index.numel(); ++i) index.at<int64_t>(i) = i % 5;
  for (int64_t i = 100000; i < index.numel(); i += 401) index.at<int64_t>(i) = i;
  Data out(BP_F32, {500, 400});
  Data wide(BP_F32, {5, 400});
  EXPECT_EQ(refusal("gather", {value(wide), value(0), value(index)}, {&out}),
            "gather: index 100000 is out of range for dimension 0 of size 5");
}

TEST(CpuGather, scatter_add_sums_duplicates) {
  Data a = Data::of<float>(BP_F32, {3, 2}, {10, 20, 30, 40, 50, 60});
  Data index = Data::of<int64_t>(BP_I64, {4, 2}, {0, 2, 0, 2, 0, 1, 2, 2});
  Data src = Data::of<float>(BP_F32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Data out(BP_F32, {3, 2});
  run("scatter_add", {value(a), value(0), value(index), value(src)}, {&out});
  EXPECT_EQ(out.values<float>(), (std::vector<float>{19, 20, 30, 46, 57, 74}));
  EXPECT_EQ(a.at<float>(0), 10);
}

TEST(CpuGather, scatter_add_along_the_last_dimension_of_larger_sources) {
  Data a = Data::of<int8_t>(BP_I8, {2, 3}, {100, 0, 0, 0, 0, 0});
  Data index = Data::of<int32_t>(BP_I32, {2, 2}, {0, 0, 2, 2});
  Data src = Data::of<int8_t>(BP_I8, {3, 4}, {100, 1, 9, 9, 2, 3, 9, 9, 9, 9, 9, 9});
  Data out(BP_I8, {2, 3});
  run("scatter_add", {value(a), value(1), value(index), value(src)}, {&out});
  EXPECT_EQ(out.values<int8_t>(), (std::vector<int8_t>{-55, 0, 0, 0, 0, 5}));  // 201 wraps
}

// As the gradient of an embedding: one index for a whole row.
TEST(CpuGather, scatter_add_takes_an_expanded_index_and_is_deterministic) {
  Data a(BP_F32, {10, 200});
  Data index(BP_I64, {500, 200}, {1, 0});
  Data src(BP_F32, {500, 200});
  for (int64_t i = 0; i < 500; ++i) reinterpret_cast<int64_t*>(index.bytes())[i] = i * 3 % 10;
  for (int64_t i = 0; i < src.numel(); ++i) src.at<float>(i) = static_cast<float>(i % 97) * 0.1f;
  Data out(BP_F32, {10, 200});
  Data again(BP_F32, {10, 200});
  run("scatter_add", {value(a), value(0), value(index), value(src)}, {&out});
  CpuPlugin::get().set_num_threads(1);
  run("scatter_add", {value(a), value(0), value(index), value(src)}, {&again});
  CpuPlugin::get().set_num_threads(2);
  EXPECT_EQ(out.values<float>(), again.values<float>());
  for (int64_t column : {0, 63, 64, 199}) {
    float sum = 0;
    for (int64_t i = 0; i < 500; ++i)
      if (i * 3 % 10 == 6) sum += src.at<float>(i * 200 + column);
    EXPECT_EQ(out.at<float>(6 * 200 + column), sum);
  }
}

TEST(CpuGather, a_refused_scatter_add_has_written_nothing) {
  Data a = counting({3});
  Data index = Data::of<int64_t>(BP_I64, {2}, {0, 3});
  Data src = counting({2});
  Data out = Data::of<float>(BP_F32, {3}, {7, 7, 7});
  EXPECT_EQ(refusal("scatter_add", {value(a), value(0), value(index), value(src)}, {&out}),
            "scatter_add: index 3 is out of range for dimension 0 of size 3");
  EXPECT_EQ(out.values<float>(), (std::vector<float>{7, 7, 7}));
}

// Of several elements for a place the last stays, whatever its bits.
TEST(CpuGather, scatter_writes_over_what_was_there) {
  for (const int64_t dim : {0, 1}) {
    Data a = counting({6, 40}), src = counting({6, 40}), index(BP_I64, {6, 40});
    Data out(BP_F32, {6, 40});
    for (int64_t i = 0; i < index.numel(); ++i) {
      index.at<int64_t>(i) = i * 7 % (dim == 0 ? 5 : 30);
      src.at<float>(i) = i % 3 == 0 ? -0.0f : static_cast<float>(-1 - i);
    }
    std::vector<float> expected = a.values<float>();
    for (int64_t i = 0; i < index.numel(); ++i) {
      const int64_t place = index.at<int64_t>(i);
      expected[dim == 0 ? place * 40 + i % 40 : i / 40 * 40 + place] = src.at<float>(i);
    }
    run("scatter", {value(a), value(dim), value(index), value(src)}, {&out});
    for (int64_t i = 0; i < out.numel(); ++i)
      ASSERT_EQ(std::memcmp(&expected[i], out.address(i), sizeof(float)), 0) << i;
  }
}

TEST(CpuGather, a_refused_scatter_has_written_nothing) {
  Data a = counting({3});
  Data index = Data::of<int64_t>(BP_I64, {2}, {0, -1});
  Data src = counting({2});
  Data out = Data::of<float>(BP_F32, {3}, {7, 7, 7});
  EXPECT_EQ(refusal("scatter", {value(a), value(0), value(index), value(src)}, {&out}),
            "scatter: index -1 is out of range for dimension 0 of size 3");
  EXPECT_EQ(out.values<float>(), (std::vector<float>{7, 7, 7}));
}

// Also where rows are written one after the other: the bad index comes last.
TEST(CpuGather, a_refused_scatter_of_many_rows_has_written_nothing) {
  for (const char* op : {"scatter", "scatter_add"}) {
    Data a = counting({3000, 40}), src = counting({3000, 40}), index(BP_I64, {3000, 40});
    Data out(BP_F32, {3000, 40});
    for (int64_t i = 0; i < out.numel(); ++i) out.at<float>(i) = 7;
    index.at<int64_t>(index.numel() - 1) = 40;
    EXPECT_EQ(refusal(op, {value(a), value(1), value(index), value(src)}, {&out}),
              std::string(op) + ": index 40 is out of range for dimension 1 of size 40");
    const std::vector<float> left = out.values<float>();
    EXPECT_EQ(std::count(left.begin(), left.end(), 7.0f), out.numel()) << op;
  }
}

// The first that is bad is named.
TEST(CpuGather, names_a_bad_index_in_a_long_row) {
  Data a = counting({9, 50}), index(BP_I64, {9, 50}), out(BP_F32, {9, 50});
  index.at<int64_t>(230) = 50;
  index.at<int64_t>(310) = -7;
  EXPECT_EQ(refusal("gather", {value(a), value(1), value(index)}, {&out}),
            "gather: index 50 is out of range for dimension 1 of size 50");
}

// Indices are looked at by vectors: a bad one at each place of rows with every remainder.
TEST(CpuGather, finds_a_bad_index_at_every_place) {
  const auto check = [](const std::string& target, uint32_t dtype, int64_t count, int64_t place,
                        int64_t bad) {
    Data a = counting({5}), index(dtype, {count}), out(BP_F32, {count});
    const auto put = [&](int64_t at, int64_t value) {
      if (dtype == BP_I32)
        index.at<int32_t>(at) = static_cast<int32_t>(value);
      else
        index.at<int64_t>(at) = value;
    };
    for (int64_t i = 0; i < count; ++i) put(i, i % 5);
    put(place, bad);
    ASSERT_EQ(refusal("gather", {value(a), value(0), value(index)}, {&out}),
              "gather: index " + std::to_string(bad) + " is out of range for dimension 0 of size 5")
        << target << " " << count << " at " << place;
  };
  for_each_target([&](const std::string& target) {
    for (int64_t count = 1; count < 70; count += count < 20 ? 1 : 7) {
      for (int64_t place = 0; place < count; ++place) {
        for (int64_t bad : {int64_t{5}, int64_t{-1}, int64_t{INT32_MAX}, int64_t{INT32_MIN}}) {
          check(target, BP_I32, count, place, bad);
          check(target, BP_I64, count, place, bad);
        }
        for (int64_t bad : {INT64_MAX, INT64_MIN, int64_t{1} << 32})
          check(target, BP_I64, count, place, bad);
      }
    }
  });
}

// One is lost beside 256 in bf16, and 300 of them are not.
TEST(CpuGather, scatter_add_of_small_floats_rounds_a_row_once) {
  for (uint32_t dtype : {BP_F16, BP_BF16}) {
    const float large = dtype == BP_F16 ? 2048 : 256;
    Data a(dtype, {3, 2}), index(BP_I64, {3, 300}), src(dtype, {3, 300}), out(dtype, {3, 2});
    for (int64_t i = 0; i < a.numel(); ++i) set_number(a, dtype, i, large);
    for (int64_t i = 0; i < src.numel(); ++i) set_number(src, dtype, i, 1);
    run("scatter_add", {value(a), value(1), value(index), value(src)}, {&out});
    for (int64_t i = 0; i < out.numel(); ++i)
      EXPECT_EQ(get_number(out, dtype, i), i % 2 == 0 ? large + 300 : large)
          << dtype << " at " << i;
  }
}

TEST(CpuGather, one_hot_marks_one_class_each) {
  Data labels = Data::of<int64_t>(BP_I64, {3}, {2, 0, 1});
  Data out(BP_I64, {3, 4});
  run("one_hot", {value(labels), value(4)}, {&out});
  EXPECT_EQ(out.values<int64_t>(), (std::vector<int64_t>{0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0}));
  Data few(BP_I64, {3, 2});
  EXPECT_EQ(refusal("one_hot", {value(labels), value(2)}, {&few}),
            "one_hot: class 2 is out of range for 2 classes");
  Data negative = Data::of<int64_t>(BP_I64, {1}, {-3});
  Data one(BP_I64, {1, 2});
  EXPECT_EQ(refusal("one_hot", {value(negative), value(2)}, {&one}),
            "one_hot: class -3 is out of range for 2 classes");
}

}  // namespace
