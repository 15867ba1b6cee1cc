// needs: cpu cuda
// nonzero on the card: parts, tiles, layouts and every dtype, exactly as cpu.
#include "backends/cuda/native.hpp"

namespace bp::test {
namespace {

class Nonzero : public NativeKernels {
 protected:
  void expect_found(const Tensor& a) { expect_found(there(a), a); }
  void expect_found(const Tensor& on_card, const Tensor& a) {
    SCOPED_TRACE(to_string(a.shape()) + " of " + std::string(bp::name(a.dtype())));
    const Served served("nonzero", "cuda");
    const Tensor found = nonzero(on_card);
    expect_served(served, "native 1");
    expect_same(here(found), nonzero(a));
  }

  // Mostly zeros, few or none, by `density` of 100.
  static Tensor sparse(const std::vector<std::int64_t>& shape, int density, Dtype dtype = f32) {
    return cast(lt(randint(0, 100, shape, i32, host_device()), density), dtype);
  }
};

TEST_F(Nonzero, in_every_dtype) {
  for (Dtype dtype :
       {boolean, u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64, complex64, complex128})
    expect_found(sparse({5, 7, 33}, 40, dtype));
}

TEST_F(Nonzero, at_the_edges_of_tiles_and_parts) {
  for (std::int64_t size : {1, 7, 8, 255, 2047, 2048, 2049, 4096, 100003})
    for (int density : {0, 3, 100}) {
      expect_found(sparse({size}, density));
      expect_found(sparse({size}, density, u8));
    }
}

TEST_F(Nonzero, of_more_than_one_tile_a_part) {
  expect_found(sparse({4096 * 2048 + 5}, 2, u8));
}

TEST_F(Nonzero, negative_zero_is_zero_and_nan_is_not) {
  const float nan = std::nanf("");
  expect_found(given({0.0f, -0.0f, nan, 1e-45f, -1.0f}));
  expect_found(cast(given({0.0f, -0.0f, nan, 1.0f}), f16));
  expect_found(cast(given({0.0f, -0.0f, nan, 1.0f}), f64));
  expect_found(cast(given({0.0f, -0.0f, nan, 1.0f}), complex64));
}

TEST_F(Nonzero, of_any_layout) {
  const Tensor a = sparse({12, 34, 56}, 30);
  const Tensor on_card = there(a);
  expect_found(permute(on_card, {2, 0, 1}), permute(a, {2, 0, 1}));
  expect_found(slice(on_card, 1, 1, 30, 3), slice(a, 1, 1, 30, 3));
  expect_found(narrow(on_card, 2, 3, 50), narrow(a, 2, 3, 50));
  expect_found(narrow(on_card, 0, 1, 5), narrow(a, 0, 1, 5));
  const Tensor row = sparse({1, 40}, 50);
  expect_found(expand(there(row), {9, 40}), expand(row, {9, 40}));
}

TEST_F(Nonzero, of_a_number_and_of_nothing) {
  expect_found(sum(sparse({3}, 100)));
  expect_found(sum(sparse({3}, 0)));
  const Tensor nothing = zeros({0, 4}, f32);  // which needs no kernel
  expect_same(here(nonzero(there(nothing))), nonzero(nothing));
}

}  // namespace
}  // namespace bp::test
