// needs: cpu opencl
// Kernels of groups of work-items (decision 0014), at the lengths where their loops change. They are for devices
// of GPU shape: a card, or any OpenCL device with BACKPLANE_OPENCL_SHAPE=gpu, with which this file runs.
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include "codegen/along_dims.hpp"

namespace bp::test {
namespace {

class Groups : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* shape = std::getenv("BACKPLANE_OPENCL_SHAPE");
    if (std::string_view(GetParam()) == "opencl:0" && (!shape || std::strcmp(shape, "gpu") != 0))
      GTEST_SKIP() << "BACKPLANE_OPENCL_SHAPE is not gpu";
    BP_SKIP_WITHOUT(GetParam());
  }

  Twin numbers(IntList shape, Dtype dtype) {
    return twin(whole_numbers(shape, dtype, random_), GetParam());
  }

  // Calls expect(twin, dim, what) with lines of every length, along a dimension of several layouts.
  template <class Expect> void at_every_length(Dtype dtype, Expect&& expect);

  std::mt19937 random_{21};
};

INSTANTIATE_TEST_SUITE_P(all, Groups, testing::Values("opencl:0", "cuda:0"), device_test_name);

// About the ends of packs, of teams, of what registers hold, and of parts.
constexpr std::int64_t lengths[] = {1,    3,    31,   32,   33,    130,   257,
                                    1025, 1028, 4097, 8196, 16385, 100003};

template <class Expect> void Groups::at_every_length(Dtype dtype, Expect&& expect) {
  for (std::int64_t length : lengths) {
    const auto call = [&](const char* layout, std::int64_t dim, const Twin& a) {
      expect(a, dim, fmt::format("{}, {} {}", layout, length, name(dtype)));
    };
    call("one row", 0, numbers({length}, dtype));
    call("rows", 1, numbers({3, length}, dtype));
    call("rows that begin at the second element", 1,
         numbers({3, length + 1}, dtype).viewed([&](const Tensor& a) {
           return views::slice(a, 1, 1, length + 1);
         }));
    call("columns", 0, numbers({length, 5}, dtype));
  }
}

TEST_P(Groups, reduce_rows_and_columns_of_any_length) {
  at_every_length(bf16, [&](const Twin& a, std::int64_t dim, const std::string& what) {
    expect_agrees(sum(a.device, dim), sum(a.host, dim), "exact", what, false);
    expect_agrees(argmax(a.device, dim), argmax(a.host, dim), "exact", what);
  });
}

TEST_P(Groups, scan_rows_and_columns_of_any_length) {
  at_every_length(f32, [&](const Twin& a, std::int64_t dim, const std::string& what) {
    expect_agrees(cumsum(a.device, dim), cumsum(a.host, dim), "exact", what, false);
  });
}

TEST_P(Groups, give_the_softmax_of_rows_and_columns_of_any_length) {
  at_every_length(f32, [&](const Twin& a, std::int64_t dim, const std::string& what) {
    expect_agrees(softmax(a.device, dim), softmax(a.host, dim), "8 ulp", what);
  });
}

// More rows than groups take at once, and rows that are shorter than a pack.
TEST_P(Groups, reduce_many_rows) {
  for (std::int64_t length : {1, 2, 3, 4, 7, 20, 64, 100}) {
    const Twin a = numbers({3001, length}, f32);
    const std::string what = fmt::format("3001 rows of {}", length);
    expect_agrees(sum(a.device, 1), sum(a.host, 1), "exact", what, false);
    expect_agrees(argmax(a.device, 1), argmax(a.host, 1), "exact", what);
    expect_agrees(cumsum(a.device, 1), cumsum(a.host, 1), "exact", what, false);
    expect_agrees(softmax(a.device, 1), softmax(a.host, 1), "8 ulp", what);
  }
}

}  // namespace
}  // namespace bp::test
