// needs: cpu reference_compiler
// constant_pad_nd on devices that compile, against numbers with the tensor written into its place.
#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"

namespace bp::test {
namespace {

// By definition: numbers around, then the tensor written into its place.
Tensor pad_by_hand(const Tensor& a, const std::vector<std::int64_t>& pairs, const Scalar& value) {
  Dims shape = a.shape();
  const std::size_t rank = shape.size();
  for (std::size_t i = 0; i < pairs.size() / 2; ++i)
    shape[rank - 1 - i] += pairs[2 * i] + pairs[2 * i + 1];
  const Tensor out = full(shape, value, a.dtype(), host_device());
  Tensor target = out, source = a;
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    const auto dim = static_cast<std::int64_t>(rank - 1 - i);
    const std::int64_t before = pairs[2 * i], behind = pairs[2 * i + 1];
    const std::int64_t size = a.shape()[rank - 1 - i];
    source = slice(source, dim, std::max<std::int64_t>(0, -before),
                   size - std::max<std::int64_t>(0, -behind));
    target = slice(target, dim, std::max<std::int64_t>(0, before),
                   shape[rank - 1 - i] - std::max<std::int64_t>(0, behind));
  }
  copy_into(target, source);
  return out;
}

class Pad : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }
  Device on() const { return device(GetParam()); }

  void expect_pads(const Tensor& a, const Tensor& there, const std::vector<std::int64_t>& pairs,
                   const Scalar& value) const {
    const Tensor expected = pad_by_hand(a, pairs, value);
    Tensor padded;
    expect_stays_on(GetParam(), "constant_pad_nd",
                    [&] { padded = constant_pad_nd(there, pairs, value); });
    expect_same(padded, expected);
  }
  void expect_pads(const Tensor& a, const std::vector<std::int64_t>& pairs, const Scalar& value) {
    expect_pads(a, to_device(a, on()), pairs, value);
  }
};

TEST_P(Pad, any_dimensions_before_and_behind) {
  const Tensor a = reshape(arange(0, 4 * 5 * 300, 1, f32), {4, 5, 300});
  expect_pads(a, {1, 2}, 0.5);
  expect_pads(a, {0, 0, 3, 1}, -1);
  expect_pads(a, {2, 0, 0, 4, 5, 6}, 7.25);
  expect_pads(a, {0, 0, 0, 0, 1, 1}, 3);
  expect_pads(a, {}, 3);
}

TEST_P(Pad, negative_numbers_cut_away) {
  const Tensor a = reshape(arange(0, 6 * 7, 1, f32), {6, 7});
  expect_pads(a, {-2, 1}, 9);
  expect_pads(a, {3, -4, -1, -2}, 9);
}

TEST_P(Pad, strided_tensors_and_a_single_element) {
  const Tensor a = reshape(arange(0, 6 * 7, 1, f32), {6, 7});
  expect_pads(transpose(a, 0, 1), transpose(to_device(a, on()), 0, 1), {1, 1, 2, 0}, 4);
  expect_pads(expand(slice(a, 0, 0, 1), {3, 7}), expand(slice(to_device(a, on()), 0, 0, 1), {3, 7}),
              {1, 1, 2, 0}, 4);
  expect_pads(reshape(slice(a, 0, 1, 2, 1), {7}), {2, 2}, 4);
  expect_pads(full({}, 3.0, f32), {}, 4);
}

TEST_P(Pad, every_dtype_with_its_own_number) {
  const Tensor a = reshape(arange(0, 3 * 5, 1, f32), {3, 5});
  for (unsigned d = 0; d < num_dtypes; ++d) {
    const Dtype dtype = static_cast<Dtype>(d);
    if (!contains(dtypes::computed, dtype)) continue;
    SCOPED_TRACE(std::string(name(dtype)));
    expect_pads(cast(a, dtype), {2, 1, 1, 0}, is_integral(dtype) ? Scalar(3) : Scalar(1.5));
  }
  expect_pads(cast(a, complex64), {2, 1}, std::complex<double>(1, -2));
  expect_pads(cast(a, i8), {2, 1}, -7);
}

INSTANTIATE_TEST_SUITE_P(on, Pad, testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string name = each.param;
                           return name.substr(0, name.find(':'));
                         });

}  // namespace
}  // namespace bp::test
