// needs: cpu reference_compiler once
// softmax and log_softmax on devices that compile.
#include <fmt/format.h>

#include "codegen/along_dims.hpp"

namespace bp::test {
namespace {

class Softmax : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(all, Softmax, testing::ValuesIn(compiling_devices), device_test_name);

// The logarithm of a sum near 1 is near 0 and keeps few of the sum's digits, on cpu as well: its errors count
// against the largest result.
constexpr const char* log_tolerance = "accumulation";

TEST_P(Softmax, agrees_with_cpu_in_every_dtype) {
  expect_row_agrees("softmax", GetParam(), dtypes_for(GetParam()));
  expect_row_agrees("log_softmax", GetParam(), dtypes_for(GetParam()), log_tolerance);
}

TEST_P(Softmax, takes_any_layout_and_any_dimension) {
  std::mt19937 random(11);
  for (int i = 0; i < 100; ++i) {
    const Dtype dtype = std::array{f32, f16, bf16, f64}[random() % 4];
    const Twin a = any_layout(dtype, GetParam(), random);
    const auto dim = static_cast<std::int64_t>(random()) % a.host.ndim();
    const std::string what =
        fmt::format("{}: {} {} strides {} along {}", i, name(dtype), to_string(a.host.shape()),
                    to_string(a.host.strides()), dim);
    expect_stays_on(GetParam(), what, [&] {
      expect_agrees(softmax(a.device, dim), softmax(a.host, dim), "8 ulp", what);
      expect_agrees(log_softmax(a.device, dim), log_softmax(a.host, dim), log_tolerance, what);
    });
  }
}

TEST_P(Softmax, keeps_its_accuracy_along_long_lines) {
  std::mt19937 random(12);
  for (const Dims& shape : {Dims{1, 300007}, Dims{100003, 33}}) {
    const Twin a = twin(fractions(shape, random), GetParam());
    for (std::int64_t dim : {0, 1}) {
      const std::string what = fmt::format("{} along {}", to_string(IntList(shape)), dim);
      expect_agrees(softmax(a.device, dim), softmax(a.host, dim), "8 ulp", what);
    }
  }
}

// Of 8 MiB and more, which processors write past their caches: lines that begin where vectors do or not, lines with a
// rest, the longest whose exponentials are kept, and one that is longer.
TEST_P(Softmax, gives_large_results) {
  std::mt19937 random(13);
  for (const Dims& shape : {Dims{2100, 1024}, Dims{2100, 1001}, Dims{257, 8192}, Dims{257, 8193},
                            Dims{1 << 16, 33}, Dims{1 << 20, 5}}) {
    const Tensor values = fractions(shape, random);
    for (Dtype dtype : dtypes_for(GetParam())) {
      if (dtype != f32 && dtype != f64 && (dtype != f16 || shape[1] != 1001)) continue;
      const Twin whole = twin(cast(values, dtype), GetParam());
      const Twin shifted =
          whole.viewed([](const Tensor& a) { return views::narrow(a, 1, 1, a.shape()[1] - 1); });
      for (const Twin& a : {whole, shifted}) {
        const std::string what = fmt::format("{} {}", name(dtype), to_string(a.host.shape()));
        expect_agrees(softmax(a.device, 1), softmax(a.host, 1), "8 ulp", what);
        expect_agrees(log_softmax(a.device, 1), log_softmax(a.host, 1), log_tolerance, what);
      }
    }
  }
}

TEST_P(Softmax, gives_nan_along_a_line_with_nan_or_infinity_and_nowhere_else) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(5 * 100, 0.5f);
  values[130] = std::nanf("");
  values[230] = infinity;
  values[330] = -infinity;
  for (int i = 400; i < 500; ++i) values[static_cast<std::size_t>(i)] = -infinity;
  const Twin rows = twin(tensor(values, {5, 100}), GetParam());
  const Twin columns = rows.viewed([](const Tensor& a) { return views::transpose(a, 0, 1); });
  const Twin copies =
      rows.viewed([](const Tensor& a) { return contiguous(views::transpose(a, 0, 1)); });
  for (auto* op : {&softmax, &log_softmax}) {
    expect_agrees((*op)(rows.device, 1, {}), (*op)(rows.host, 1, {}), "8 ulp", "rows");
    expect_agrees((*op)(columns.device, 0, {}), (*op)(columns.host, 0, {}), "8 ulp", "columns");
    expect_agrees((*op)(copies.device, 0, {}), (*op)(copies.host, 0, {}), "8 ulp",
                  "copied columns");
  }
}

}  // namespace
}  // namespace bp::test
