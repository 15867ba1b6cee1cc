#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include <backplane/tensor/error.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {
namespace {

constexpr auto int_max = std::numeric_limits<std::int64_t>::max();
constexpr auto int_min = std::numeric_limits<std::int64_t>::min();

TEST(scalar, keeps_its_category) {
  EXPECT_TRUE(Scalar(true).is_bool());
  EXPECT_TRUE(Scalar(1).is_integral());
  EXPECT_TRUE(Scalar(std::uint8_t{1}).is_integral());
  EXPECT_TRUE(Scalar(1.0f).is_floating());
  EXPECT_TRUE(Scalar(std::complex<double>(1, 0)).is_complex());
  EXPECT_TRUE(Scalar().is_integral());
}

TEST(scalar, converts_between_categories) {
  EXPECT_EQ(Scalar(true).to_double(), 1.0);
  EXPECT_EQ(Scalar(-3).to_double(), -3.0);
  EXPECT_EQ(Scalar(-3.7).to_int(), -3);
  EXPECT_EQ(Scalar(2.5).to_complex(), std::complex<double>(2.5, 0));
  EXPECT_TRUE(Scalar(0.5).to_bool());
  EXPECT_FALSE(Scalar(0.0).to_bool());
  EXPECT_TRUE(Scalar(std::complex<double>(0, 1)).to_bool());
}

TEST(scalar, saturates_what_no_integer_holds) {
  EXPECT_EQ(Scalar(1e300).to_int(), int_max);
  EXPECT_EQ(Scalar(-INFINITY).to_int(), int_min);
  EXPECT_EQ(Scalar(std::ldexp(1.0, 63)).to_int(), int_max);
  EXPECT_EQ(Scalar(-std::ldexp(1.0, 63)).to_int(), int_min);
  EXPECT_EQ(Scalar(std::nan("")).to_int(), 0);
}

TEST(scalar, survives_the_way_through_the_abi) {
  for (const Scalar& number :
       {Scalar(true), Scalar(int_min), Scalar(0.1), Scalar(std::complex<double>(1, -2))}) {
    const Scalar back = Scalar::from_value(number.value());
    EXPECT_EQ(back.value().tag, number.value().tag);
    EXPECT_EQ(back.to_complex(), number.to_complex());
    EXPECT_EQ(back.to_int(), number.to_int());
  }
}

TEST(scalar, is_not_made_from_a_value_that_is_no_number) {
  bp_value value{};
  value.tag = BP_STRING;
  EXPECT_THROW(Scalar::from_value(value), Error);
}

}  // namespace
}  // namespace bp
