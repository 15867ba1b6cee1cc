// needs: cpu
// nonzero, whose output's shape depends on the data.
#include <cmath>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

Data nonzero(Data a) {
  Data out(BP_I64, {0, 0});
  run("nonzero", {value(a)}, {&out});
  return out;
}

TEST(CpuNonzero, gives_coordinates_in_logical_order) {
  Data a = Data::of<float>(BP_F32, {2, 3}, {0, 1, -0.0f, NAN, 0, 2});
  Data out = nonzero(a);
  EXPECT_EQ(out.shape(), (Sizes{3, 2}));
  EXPECT_EQ(out.values<int64_t>(), (std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
  EXPECT_EQ(nonzero(a.permuted({1, 0})).values<int64_t>(),
            (std::vector<int64_t>{0, 1, 1, 0, 2, 1}));
}

TEST(CpuNonzero, knows_the_ends) {
  EXPECT_EQ(nonzero(Data(BP_I8, {4})).shape(), (Sizes{0, 1}));
  EXPECT_EQ(nonzero(Data(BP_I8, {0, 4})).shape(), (Sizes{0, 2}));
  EXPECT_EQ(nonzero(Data::of<uint8_t>(BP_BOOL, {}, {1})).shape(), (Sizes{1, 0}));
  EXPECT_EQ(nonzero(Data::of<uint8_t>(BP_BOOL, {}, {0})).shape(), (Sizes{0, 0}));
  // f16's minus zero is zero.
  EXPECT_EQ(nonzero(Data::of<uint16_t>(BP_F16, {2}, {0x8000, 0x8001})).values<int64_t>(),
            (std::vector<int64_t>{1}));
}

TEST(CpuNonzero, joins_the_parts_of_several_threads) {
  Data a(BP_BOOL, {500, 700});
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < a.numel(); ++i) {
    a.at<uint8_t>(i) = i * i % 17 == 1;
    if (a.at<uint8_t>(i) == 0) continue;
    expected.push_back(i / 700);
    expected.push_back(i % 700);
  }
  EXPECT_EQ(nonzero(a).values<int64_t>(), expected);
}

}  // namespace
