// needs: cpu
// full and arange.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

template <class T> T filled(uint32_t dtype, bp_value number) {
  Data out(dtype, {3, 5});
  run("full", {none(), number, none(), none()}, {&out});
  for (int64_t i = 1; i < out.numel(); ++i)
    EXPECT_EQ(std::memcmp(&out.at<T>(0), &out.at<T>(i), sizeof(T)), 0);
  return out.at<T>(0);
}

TEST(CpuFactory, full_writes_numbers_of_every_kind) {
  EXPECT_EQ(filled<float>(BP_F32, value(1.5)), 1.5f);
  EXPECT_EQ(filled<float>(BP_F32, value(3)), 3.0f);
  EXPECT_EQ(filled<double>(BP_F64, value(0.1)), 0.1);
  EXPECT_EQ(filled<uint8_t>(BP_BOOL, value(2.0)), 1);
  EXPECT_EQ(filled<uint8_t>(BP_U8, value(-1)), 255);
  EXPECT_EQ(filled<int64_t>(BP_I64, value(int64_t{1} << 60)), int64_t{1} << 60);
  EXPECT_EQ(filled<int32_t>(BP_I32, value(-7.9)), -7);
  EXPECT_EQ(filled<uint16_t>(BP_F16, value(1.0)), 0x3c00);
  EXPECT_EQ(filled<uint16_t>(BP_F16, value(65519.0)), 0x7bff);
  EXPECT_EQ(filled<uint16_t>(BP_F16, value(65520.0)), 0x7c00);
  EXPECT_EQ(filled<uint16_t>(BP_F16, value(0x1p-24)), 1);
  EXPECT_EQ(filled<uint16_t>(BP_F16, value(-0x1.8p-25)), 0x8001);
  EXPECT_EQ(filled<uint16_t>(BP_BF16, value(-2.0)), 0xc000);
  EXPECT_EQ(filled<uint16_t>(BP_BF16, value(std::nan(""))), 0x7fc0);
  using C = std::complex<float>;
  EXPECT_EQ(filled<C>(BP_COMPLEX64, value(2)), C(2, 0));
  const double parts[2] = {1, -3};
  bp_value complex{};
  complex.tag = BP_COMPLEX;
  complex.u.ptr = parts;
  EXPECT_EQ(filled<C>(BP_COMPLEX64, complex), C(1, -3));
}

TEST(CpuFactory, full_keeps_to_the_elements_of_a_strided_output) {
  Data out(BP_I32, {2, 3}, {7, 2});
  run("full", {none(), value(9), none(), none()}, {&out});
  const auto* memory = reinterpret_cast<const int32_t*>(out.bytes());
  EXPECT_EQ(std::vector<int32_t>(memory, memory + 12),
            (std::vector<int32_t>{9, 0, 9, 0, 9, 0, 0, 9, 0, 9, 0, 9}));
}

TEST(CpuFactory, arange_counts_in_every_dtype) {
  Data ints(BP_I64, {4});
  run("arange", {value(5), value(-7), value(-3), none(), none()}, {&ints});
  EXPECT_EQ(ints.values<int64_t>(), (std::vector<int64_t>{5, 2, -1, -4}));
  Data floats(BP_F32, {5});
  run("arange", {value(0.0), value(0.5), value(0.1), none(), none()}, {&floats});
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(floats.at<float>(i), static_cast<float>(static_cast<double>(i) * 0.1));
  Data half(BP_F16, {3});
  run("arange", {value(0), value(3), value(1), none(), none()}, {&half});
  EXPECT_EQ(half.values<uint16_t>(), (std::vector<uint16_t>{0, 0x3c00, 0x4000}));
  Data many(BP_I32, {100000});
  run("arange", {value(0), value(100000), value(1), none(), none()}, {&many});
  for (int64_t i = 0; i < 100000; ++i) ASSERT_EQ(many.at<int32_t>(i), i);
}

}  // namespace
