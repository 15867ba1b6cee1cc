// needs: cpu
// Libraries get memory to work in, and some read what they have not written: whatever lay there must not be in the results.
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::leftover_memory {
namespace {

// The next allocations of these sizes find NaN, as floats and as doubles.
void leave_nan_behind() {
  constexpr std::size_t largest = std::size_t{1} << 16;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t bytes = 16; bytes <= largest; bytes += bytes < 2048 ? 16 : bytes / 8)
    for (int i = 0; i < 7; ++i) {
      blocks.push_back(std::make_unique_for_overwrite<char[]>(bytes));
      std::memset(blocks.back().get(), 0xff, bytes);
    }
}

using Results = std::vector<Tensor>;
struct Row {
  const char* name;
  std::function<Results(const Tensor& any, const Tensor& definite, const Tensor& side)> compute;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"linalg_eigh",
       [](const auto&, const auto& a, const auto&) {
         const auto lower = linalg_eigh(a, "L"), upper = linalg_eigh(a, "U");
         return Results{lower.eigenvalues, lower.eigenvectors, upper.eigenvalues,
                        upper.eigenvectors};
       }},
      {"linalg_eigvalsh",
       [](const auto&, const auto& a, const auto&) {
         return Results{linalg_eigvalsh(a, "L"), linalg_eigvalsh(a, "U")};
       }},
      {"linalg_eig",
       [](const auto& a, const auto&, const auto&) {
         const auto found = linalg_eig(a);
         return Results{found.eigenvalues, found.eigenvectors};
       }},
      {"linalg_eigvals",
       [](const auto& a, const auto&, const auto&) { return Results{linalg_eigvals(a)}; }},
      {"linalg_svd",
       [](const auto& a, const auto&, const auto&) {
         const auto found = linalg_svd(a);
         return Results{found.U, found.S, found.Vh};
       }},
      {"linalg_svdvals",
       [](const auto& a, const auto&, const auto&) { return Results{linalg_svdvals(a)}; }},
      {"linalg_qr",
       [](const auto& a, const auto&, const auto&) {
         const auto found = linalg_qr(a);
         return Results{found.Q, found.R};
       }},
      {"linalg_cholesky",
       [](const auto&, const auto& a, const auto&) { return Results{linalg_cholesky(a)}; }},
      {"linalg_inv",
       [](const auto& a, const auto&, const auto&) { return Results{linalg_inv(a)}; }},
      {"linalg_solve",
       [](const auto& a, const auto&, const auto& b) { return Results{linalg_solve(a, b)}; }},
      {"linalg_lstsq", [](const auto& a, const auto&,
                          const auto& b) { return Results{linalg_lstsq(a, b).solution}; }},
  };
  return all;
}

Tensor random_numbers(std::int64_t rows, std::int64_t columns, Dtype dtype) {
  if (!is_complex(dtype)) return randn({rows, columns}, dtype);
  return view_as_complex(randn({rows, columns, 2}, dtype == Dtype::complex64 ? f32 : f64));
}

struct Given {
  Tensor any, definite, side;
};
Given given(std::int64_t n, Dtype dtype) {
  const Tensor any = random_numbers(n, n, dtype);
  return {any, matmul(any, conj(transpose(any, 0, 1))) + eye(n, std::nullopt, dtype),
          random_numbers(n, 2, dtype)};
}

bool has_nan(const Tensor& tensor) {
  return item<bool>(bp::any(isnan(abs(tensor)), {}));
}

TEST(LeftoverMemory, is_in_no_result_of_linear_algebra) {
  manual_seed(5);
  for (const Dtype dtype : {f32, f64, Dtype::complex64, Dtype::complex128})
    for (std::int64_t n = 1; n <= 8; ++n) {
      const auto [any, definite, side] = given(n, dtype);
      for (const Row& row : rows()) {
        const Results wanted = row.compute(any, definite, side);
        leave_nan_behind();
        const Results found = row.compute(any, definite, side);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          EXPECT_TRUE(!has_nan(found[i]) && equal(found[i], wanted[i]))
              << row.name << ", result " << i << ", " << name(dtype) << ", " << n;
      }
    }
}

// What a library keeps between its calls holds halves of doubles, some of which are NaN as floats.
TEST(LeftoverMemory, of_wider_numbers_is_in_no_result_of_linear_algebra) {
  manual_seed(7);
  for (int i = 0; i < 12000; ++i) {
    const std::int64_t n = 2 + i % 5;
    const bool are_complex = i % 2 != 0;
    const Given wide = given(n, are_complex ? Dtype::complex128 : f64);
    const Given narrow = given(n, are_complex ? Dtype::complex64 : f32);
    for (const Row& row : rows()) {
      (void)row.compute(wide.any, wide.definite, wide.side);
      for (const Tensor& result : row.compute(narrow.any, narrow.definite, narrow.side))
        EXPECT_FALSE(has_nan(result)) << row.name << ", " << n << ", number " << i;
    }
  }
}

}  // namespace
}  // namespace bp::leftover_memory
