#include <gtest/gtest.h>
#include <string>

#include <backplane/tensor/dtype.hpp>
#include <backplane/tensor/error.hpp>

namespace bp {
namespace {

TEST(dtype, is_found_by_its_names) {
  for (unsigned i = 0; i < num_dtypes; ++i)
    EXPECT_EQ(dtype_from_name(name(Dtype(i))), Dtype(i)) << name(Dtype(i));
  EXPECT_EQ(dtype_from_name("f32"), f32);
  EXPECT_EQ(dtype_from_name("float"), f32);
  EXPECT_EQ(dtype_from_name("half"), f16);
  EXPECT_EQ(dtype_from_name("long"), i64);
  EXPECT_EQ(dtype_from_name("c64"), complex64);
}

TEST(dtype, refuses_unknown_names_and_lists_the_known_ones) {
  EXPECT_THROW(dtype_from_name(""), Error);
  try {
    dtype_from_name("float12");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "dtype: no type is called 'float12'; there are bool, uint8, int8, int16, int32, "
              "int64, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, "
              "complex128, float8_e4m3fn, float8_e5m2");
  }
}

TEST(dtype, has_one_category_each) {
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const Dtype dtype{static_cast<std::uint8_t>(i)};
    EXPECT_EQ(is_floating(dtype) + is_complex(dtype) + is_integral(dtype) + is_storage_only(dtype) +
                  (dtype == boolean),
              1)
        << name(dtype);
  }
}

TEST(dtype, is_described_to_dlpack_with_its_width) {
  for (unsigned i = 0; i < num_dtypes; ++i) {
    EXPECT_EQ(dl_dtype(Dtype(i)).bits, 8 * itemsize(Dtype(i)));
    EXPECT_EQ(dl_dtype(Dtype(i)).lanes, 1);
  }
  EXPECT_EQ(dl_dtype(f32).code, 2);
  EXPECT_EQ(dl_dtype(bf16).code, 4);
  EXPECT_EQ(dl_dtype(u64).code, 1);
  EXPECT_EQ(dl_dtype(boolean).code, 6);
}

}  // namespace
}  // namespace bp
