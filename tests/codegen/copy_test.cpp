// needs: cpu reference_compiler
// Copies and casts on devices that compile.
#include <fmt/format.h>
#include <limits>

#include <backplane/tensor/views.hpp>

#include "codegen/agree.hpp"

namespace bp::test {
namespace {

class Copies : public testing::TestWithParam<const char*> {};

TEST_P(Copies, agree_with_cpu_on_every_sample) {
  BP_SKIP_WITHOUT(GetParam());
  for (const Operator* op : rows_of_kind(BP_KIND_COPY)) expect_row_agrees(op->name(), GetParam());
}

// From every dtype to every other: numbers of both signs, too large ones, NaN and infinities.
Tensor numbers_for(Dtype dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers = {
      0,     -0.0,   1,     -1,     2.5,      -2.5,      127.9,        -128.9,
      300,   -300,   65520, 70000,  3e9,      -3e9,      1e19,         -1e19,
      1e-40, 0.0625, 3e38,  1e-320, infinity, -infinity, std::nan(""), 448,
      460,   57344,  61440, 0.001,  1.5e-5,   6e-8,      17,           1023.5};
  const Tensor a =
      tensor(numbers, {static_cast<std::int64_t>(numbers.size())}, {.device = host_device()});
  return to(a, dtype);
}

TEST_P(Copies, cast_every_dtype_to_every_other) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  // All pairs are many kernels; each dtype is a source and a target here, and pairs differ in kind.
  const Dtype pairs[][2] = {{f32, i8},
                            {f32, u32},
                            {f32, i64},
                            {f32, u64},
                            {f64, i32},
                            {f64, u64},
                            {f64, f16},
                            {f16, f64},
                            {bf16, i16},
                            {f32, bf16},
                            {i64, f32},
                            {u64, f64},
                            {u64, bf16},
                            {i16, f16},
                            {f32, f8_e4m3fn},
                            {f8_e4m3fn, f32},
                            {f16, f8_e5m2},
                            {f8_e5m2, i32},
                            {i32, u8},
                            {u16, i8},
                            {boolean, f64},
                            {f64, boolean},
                            {bf16, boolean},
                            {f32, complex64},
                            {u32, i64},
                            {i8, u64},
                            {complex64, f16},
                            {complex64, f64},
                            {i64, complex64},
                            {f64, complex128},
                            {complex128, complex64},
                            {complex128, u8},
                            {complex64, boolean}};
  for (const auto& [from, wanted] : pairs) {
    const Dtype to_dtype = wanted;
    const std::string what = fmt::format("{} to {} on {}", name(from), name(to_dtype), GetParam());
    const Tensor a = numbers_for(from);
    const Tensor there = to(a, on);
    Tensor result;
    expect_stays_on(GetParam(), what, [&] { result = cast(there, to_dtype); });
    expect_agrees(result, cast(a, to_dtype), "exact", what);
  }
}

// Rows become columns, for each size of elements, with ends that fill no block.
TEST_P(Copies, turn_matrices) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  for (Dtype dtype : {u8, i16, f32, f64, complex128}) {
    const std::string what = fmt::format("{} on {}", name(dtype), GetParam());
    const Tensor a =
        to(reshape(arange(0, 2 * 131 * 77, 1, i64, host_device()), {2, 131, 77}), dtype);
    const Tensor there = views::transpose(to(a, on), 1, 2);
    Tensor result;
    expect_stays_on(GetParam(), what, [&] { result = contiguous(there); });
    expect_agrees(result, contiguous(views::transpose(a, 1, 2)), "exact", what);
  }
}

// Elements without gaps are copied as larger ones; a start or an end that these do not fit is minded.
TEST_P(Copies, mind_odd_starts_and_lengths) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  const Tensor a = to(arange(0, 100, 1, i64, host_device()), u8);
  const Tensor there = to(a, on);
  for (std::int64_t start : {0, 1, 4})
    for (std::int64_t length : {1, 7, 64, 90}) {
      const Tensor result = clone(views::narrow(there, 0, start, length));
      expect_agrees(result, views::narrow(a, 0, start, length), "exact",
                    fmt::format("{} from {} on {}", length, start, GetParam()));
    }
}

std::string name_of(const testing::TestParamInfo<const char*>& each) {
  const std::string device = each.param;
  return device.substr(0, device.find(':'));
}
INSTANTIATE_TEST_SUITE_P(all, Copies, testing::ValuesIn(compiling_devices), name_of);

}  // namespace
}  // namespace bp::test
