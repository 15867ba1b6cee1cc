// needs: cpu opencl once
// Kernels that go by units and tiles of neighbours (codegen/kinds/units.hpp), at the sizes and addresses where their
// ways part. They are for devices of GPU shape: a card, or any OpenCL device with BACKPLANE_OPENCL_SHAPE=gpu, with
// which this file runs.
#include <cstdlib>
#include <fmt/format.h>

#include "codegen/along_dims.hpp"

namespace bp::test {
namespace {

class Units : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* shape = std::getenv("BACKPLANE_OPENCL_SHAPE");
    if (std::string_view(GetParam()) == "opencl:0" && std::string_view(shape ? shape : "") != "gpu")
      GTEST_SKIP() << "BACKPLANE_OPENCL_SHAPE is not gpu";
    BP_SKIP_WITHOUT(GetParam());
  }
  Twin numbers(IntList shape, Dtype dtype = f32) {
    return twin(whole_numbers(shape, dtype, random_), GetParam());
  }
  Twin places_below(std::int64_t size, IntList shape) {
    std::int64_t numel = 1;
    for (std::int64_t each : shape) numel *= each;
    std::vector<std::int64_t> places(static_cast<std::size_t>(numel));
    for (std::int64_t& place : places) place = static_cast<std::int64_t>(random_()) % size;
    return twin(tensor(places, shape), GetParam());
  }
  static void expect_same(const Tensor& actual, const Tensor& expected, const std::string& what) {
    expect_agrees(actual, expected, "exact", what);
  }

  std::mt19937 random_{22};
};

INSTANTIATE_TEST_SUITE_P(all, Units, testing::Values("opencl:0", "cuda:0"), device_test_name);

TEST_P(Units, flat_tensors_of_any_length_at_any_address) {
  for (Dtype dtype : {f32, bf16, u8, i64, complex64})
    for (std::int64_t length : {1, 3, 255, 256, 1023, 2048, 4095, 4096, 4097, 12289, 100003})
      for (std::int64_t start : {0, 1, 4}) {
        const Twin a = numbers({length + start}, dtype).viewed([&](const Tensor& whole) {
          return views::slice(whole, 0, start, length + start);
        });
        const std::string what = fmt::format("{} {} from {}", length, name(dtype), start);
        expect_same(add(a.device, a.device), add(a.host, a.host), what);
        expect_same(clone(a.device), clone(a.host), what + ", copied");
        expect_same(to(a.device, f16), to(a.host, f16), what + ", cast");
      }
}

TEST_P(Units, rows_and_columns_for_all) {
  for (std::int64_t columns : {1, 2, 4, 7, 64, 1000, 1001})
    for (std::int64_t rows : {1, 3, 130}) {
      const Twin a = numbers({rows, columns}), row = numbers({columns}),
                 column = numbers({rows, 1});
      const std::string what = fmt::format("{} by {}", rows, columns);
      expect_same(add(a.device, row.device), add(a.host, row.host), what + " and a row");
      expect_same(add(a.device, column.device), add(a.host, column.host), what + " and a column");
      const Twin mask = numbers({rows, 1}, boolean);
      expect_same(where(mask.device, a.device, row.device), where(mask.host, a.host, row.host),
                  what + ", chosen");
    }
}

TEST_P(Units, elements_by_strides_of_many_dimensions) {
  for (int rank : {3, 4, 5, 8, 9}) {
    Dims shape;
    for (int dim = 0; dim < rank; ++dim) shape.push_back(rank > 5 ? 3 : 2 * dim + 4);
    const Twin a = numbers(shape).viewed([&](const Tensor& whole) {
      Tensor part = whole;
      for (int dim = 0; dim < rank - 1; ++dim) part = views::slice(part, dim, 1, {}, 2);
      return part;
    });
    const std::string what = fmt::format("{} dimensions", rank);
    expect_same(neg(a.device), neg(a.host), what);
    expect_same(to(a.device, f64), to(a.host, f64), what + ", cast");
  }
}

TEST_P(Units, matrices_are_turned_in_tiles) {
  for (Dtype dtype : {u8, bf16, f32, i64, complex128})
    for (const auto& [rows, columns] :
         {std::pair{64, 64}, {128, 256}, {16, 16}, {65, 129}, {100, 31}, {257, 192}})
      for (std::int64_t start : {0, 1}) {
        const Twin a = numbers({2, rows, columns + start}, dtype).viewed([&](const Tensor& whole) {
          return views::transpose(views::slice(whole, 2, start), 1, 2);
        });
        expect_same(clone(a.device), clone(a.host),
                    fmt::format("2 of {} by {} {} from {}", rows, columns, name(dtype), start));
        expect_same(contiguous(a.device), contiguous(a.host), "contiguous");
      }
}

TEST_P(Units, slices_and_elements_are_picked) {
  for (Dtype dtype : {u8, f16, f32, i64, complex128})
    for (std::int64_t columns : {1, 4, 6, 16, 100, 1000}) {
      const Twin a = numbers({50, columns}, dtype);
      const Twin rows = places_below(50, {77});
      const std::string what = fmt::format("{} columns of {}", columns, name(dtype));
      expect_same(index_select(a.device, 0, rows.device), index_select(a.host, 0, rows.host), what);
      for (std::int64_t dim : {0, 1}) {
        const Twin index = places_below(dim == 0 ? 50 : columns, {50, columns});
        expect_same(gather(a.device, dim, index.device), gather(a.host, dim, index.host),
                    what + fmt::format(", along {}", dim));
      }
    }
}

TEST_P(Units, tensors_are_joined_at_any_place) {
  for (std::int64_t columns : {1, 4, 7, 64})
    for (std::int64_t dim : {0, 1}) {
      const Twin a = numbers({33, columns}),
                 b = numbers({dim == 0 ? 5 : 33, dim == 0 ? columns : 12});
      expect_same(cat({a.device, b.device, a.device}, dim), cat({a.host, b.host, a.host}, dim),
                  fmt::format("{} columns along {}", columns, dim));
    }
}

}  // namespace
}  // namespace bp::test
