// needs: cpu reference_compiler
// Tensors from numbers on devices that compile.
#include <fmt/format.h>

#include "codegen/agree.hpp"

namespace bp::test {
namespace {

class Factories : public testing::TestWithParam<const char*> {};

TEST_P(Factories, agree_with_cpu_on_every_sample) {
  BP_SKIP_WITHOUT(GetParam());
  for (const Operator* op : rows_of_kind(BP_KIND_FACTORY))
    expect_row_agrees(op->name(), GetParam());
}

// A number that does not fit wraps in integers and is rounded in floats, as on cpu.
TEST_P(Factories, fill_with_numbers_of_any_kind) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  const Scalar numbers[] = {-1, 2.75, true, std::complex<double>(1.5, -2)};
  for (const Scalar& number : numbers)
    for (Dtype dtype : {f32, f16, u8, i64, boolean, complex64, f64}) {
      const std::string what =
          fmt::format("full of {} {} on {}", number.to_double(), name(dtype), GetParam());
      if (number.is_complex() && !is_complex(dtype) && dtype != boolean) {
        EXPECT_THROW(full({3, 7}, number, dtype, on), Error) << what;
        continue;
      }
      Tensor result;
      expect_stays_on(GetParam(), what, [&] { result = full({3, 7}, number, dtype, on); });
      expect_agrees(result, full({3, 7}, number, dtype, host_device()), "exact", what);
    }
}

TEST_P(Factories, count_in_every_real_dtype) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  for (Dtype dtype : {f32, f64, f16, bf16, i32, i64, u8, i16}) {
    const std::string what = fmt::format("arange {} on {}", name(dtype), GetParam());
    const int end = dtype == u8 ? 255 : 300;
    Tensor result;
    expect_stays_on(GetParam(), what, [&] { result = arange(-5, end, 7, dtype, on); });
    expect_agrees(result, arange(-5, end, 7, dtype, host_device()), "exact", what);
  }
}

INSTANTIATE_TEST_SUITE_P(all, Factories,
                         testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string device = each.param;
                           return device.substr(0, device.find(':'));
                         });

}  // namespace
}  // namespace bp::test
