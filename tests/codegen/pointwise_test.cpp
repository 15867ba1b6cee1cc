// needs: cpu reference_compiler once
// Elementwise kernels on devices that compile: chains, strides, long tensors, elements of one byte.
#include <cmath>
#include <random>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/views.hpp>

#include "codegen/agree.hpp"
#include "codegen/pointwise_dtypes.hpp"

namespace bp::test {
namespace {

class Pointwise : public testing::TestWithParam<const char*> {};

// A row that nobody has seen: clamp(a * b + c, 0, 6) / (1 + exp(-a)) where a < c, else |b|.
constexpr bp_expr_node chain[] = {
    {BP_X_ARG, 0, 0, 0, 0},     {BP_X_ARG, 1, 0, 0, 0},      {BP_X_ARG, 2, 0, 0, 0},
    {BP_X_MUL, 0, 1, 0, 0},     {BP_X_ADD, 3, 2, 0, 0},      {BP_X_CONST, 0, 0, 0, 0},
    {BP_X_MAX, 4, 5, 0, 0},     {BP_X_CONST, 0, 0, 0, 6},    {BP_X_MIN, 6, 7, 0, 0},
    {BP_X_SIGMOID, 0, 0, 0, 0}, {BP_X_MUL, 8, 9, 0, 0},      {BP_X_LT, 0, 2, 0, 0},
    {BP_X_ABS, 1, 0, 0, 0},     {BP_X_SELECT, 11, 10, 12, 0}};

Operator& chain_operator() {
  static Operator* made = [] {
    auto* op = new Operator;
    op->schema_text = "test::clamped_gate(Tensor input, Tensor other, Tensor bound) -> Tensor";
    op->kind = BP_KIND_POINTWISE;
    op->dtypes = dtypes::floating;
    op->promotion = Promotion::common;
    op->promoted = 7;
    op->infer = find_operator("where")->infer;
    op->nodes = chain;
    op->num_nodes = std::size(chain);
    register_operator(*op);
    return op;
  }();
  return *made;
}

Tensor clamped_gate(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor clamped = minimum(maximum(a * b + c, 0), 6);
  return where(a < c, clamped * sigmoid(a), abs(b));
}

Tensor ramp(IntList shape, double from, Dtype dtype) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  return cast(
      reshape(arange(from, from + static_cast<double>(numel) / 8, 0.125, f64, host_device()),
              shape),
      dtype);
}

TEST_P(Pointwise, computes_a_chain_of_a_new_row_in_one_kernel) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  ensure_operators();
  Operator& op = chain_operator();
  for (Dtype dtype : {f32, f64, f16}) {
    const std::string what = std::string(name(dtype)) + " on " + GetParam();
    const Tensor a = ramp({3, 37}, -6, dtype), b = ramp({37}, -2, dtype),
                 c = ramp({3, 1}, 0, dtype);
    const Tensor there[] = {to(a, on), to(b, on), to(c, on)};
    std::vector<Tensor> result;
    expect_stays_on(GetParam(), what, [&] {
      result =
          call_boxed(op, std::vector{value_of(there[0]), value_of(there[1]), value_of(there[2])});
    });
    // The chain rounds once where separate operators round to f16 after each.
    const Tensor expected = cast(clamped_gate(cast(a, f64), cast(b, f64), cast(c, f64)), dtype);
    expect_agrees(result[0], expected, dtype == f32 ? "4 ulp" : "3 ulp", what);
  }
}

// Long enough for several work-items, in lengths that fill no vector, in place and from odd starts.
TEST_P(Pointwise, covers_every_element_of_long_tensors) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  for (std::int64_t length : {1, 15, 64, 100'003, 1'000'001}) {
    const std::string what = std::to_string(length) + " elements on " + GetParam();
    const Tensor a = ramp({length + 3}, -9, f32);
    const Tensor there = to(a, on);
    const Tensor some = views::narrow(a, 0, 3, length),
                 some_there = views::narrow(there, 0, 3, length);
    expect_agrees(some_there * some_there, some * some, "exact", what);
    expect_agrees(some_there < 0.5, some < 0.5, "exact", what);
    add_out(some_there, some_there, 1);
    add_out(some, some, 1);
    expect_agrees(there, a, "exact", what + " in place");
  }
}

// Dimensions that join and some that do not: ranks 1 to 7, broadcast, permuted and with steps.
TEST_P(Pointwise, reaches_elements_by_any_strides) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  const Tensor a = ramp({2, 3, 4, 5, 6}, -9, f32);
  const Tensor there = to(a, on);
  const auto check = [&](auto&& view, const char* how) {
    const Tensor x = view(a), y = view(there);
    Tensor result;
    const std::string what = std::string(how) + " on " + GetParam();
    expect_stays_on(GetParam(), what, [&] { result = y + y * y; });
    expect_agrees(result, x + x * x, "exact", what);
    expect_agrees(maximum(y, views::select(y, 0, 0)), maximum(x, views::select(x, 0, 0)), "exact",
                  what);
  };
  check([](const Tensor& t) { return views::permute(t, {4, 2, 0, 3, 1}); }, "permuted");
  check([](const Tensor& t) { return views::slice(t, 4, 1, {}, 2); }, "with steps");
  check(
      [](const Tensor& t) {
        return views::expand(views::narrow(t, 1, 1, 1), {2, 7, 4, 5, 6});
      },
      "expanded");
  check(
      [](const Tensor& t) {
        return views::slice(
            views::slice(views::slice(views::slice(t, 4, 0, {}, 4), 3, 1, {}, 3), 2, 0, {}, 3), 1,
            0, {}, 2);
      },
      "sparse");
  const Tensor seven = views::permute(reshape(there, {2, 3, 2, 2, 5, 2, 3}), {6, 4, 2, 0, 5, 3, 1});
  const Tensor seven_here =
      views::permute(reshape(a, {2, 3, 2, 2, 5, 2, 3}), {6, 4, 2, 0, 5, 3, 1});
  const Tensor turned = contiguous(seven), turned_here = contiguous(seven_here);
  expect_agrees(seven + turned, seven_here + turned_here, "exact", GetParam());
}

// A driver's function of vectors may take all elements the way that one of them asks for.
TEST_P(Pointwise, computes_small_elements_beside_huge_ones) {
  BP_SKIP_WITHOUT(GetParam());
  const std::vector<double> some = {1e-45, 3e38, 1e-3, 1e10, 1e-5, 8388608, 0.5, INFINITY,
                                    12,    1e30, 1e-2, -1e9, -0.0, 1e-38,   1.0, 2.5};
  std::vector<double> numbers;  // whole vectors and a tail
  for (int i = 0; i < 9; ++i) numbers.insert(numbers.end(), some.begin(), some.end() - i % 2);
  const Tensor x = tensor(numbers);
  for (Dtype dtype : {f32, f64}) {
    const Tensor here = cast(x, dtype), there = to(here, device(GetParam()));
    for (auto* row :
         {+[](const Tensor& t) { return sin(t); }, +[](const Tensor& t) { return cos(t); },
          +[](const Tensor& t) { return tan(t); }, +[](const Tensor& t) { return exp(t); },
          +[](const Tensor& t) { return log(t); },
          +[](const Tensor& t) { return pow(t, full_like(t, 2.5)); }})
      expect_agrees(row(there), row(here), "4 ulp", std::string(name(dtype)) + " on " + GetParam());
  }
}

// Of all exponents, denormals and equals among them: what is left is exact.
TEST_P(Pointwise, remainders_are_exact_whatever_the_quotient) {
  BP_SKIP_WITHOUT(GetParam());
  for (Dtype dtype : {f64, f32}) {
    const int lowest = dtype == f64 ? -1074 : -149, highest = dtype == f64 ? 1023 : 127;
    std::mt19937_64 random(1);
    std::uniform_int_distribution<int> exponents(lowest, highest);
    std::uniform_real_distribution<double> parts(1, 2);
    const auto number = [&] {
      const double size = std::ldexp(parts(random), exponents(random));
      return random() % 2 ? size : -size;
    };
    std::vector<double> left(4099), right(left.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      left[i] = number();
      right[i] = i % 8 == 0 ? left[i] : i % 8 == 1 ? std::ldexp(1, lowest) : number();
    }
    const Tensor a = cast(tensor(left), dtype), b = cast(tensor(right), dtype);
    const Tensor there[] = {to(a, device(GetParam())), to(b, device(GetParam()))};
    const std::string what = std::string(name(dtype)) + " on " + GetParam();
    const Tensor left_over = fmod(a, b), remained = remainder(a, b);
    expect_agrees(fmod(there[0], there[1]), left_over, "exact", what);
    expect_agrees(remainder(there[0], there[1]), remained, "1 ulp", what);
    const Tensor wide[] = {cast(a, f64), cast(b, f64), cast(left_over, f64)};
    const auto at = [&](int of, std::int64_t i) {
      return static_cast<const double*>(wide[of].data_ptr())[i];
    };
    for (std::int64_t i = 0; i < a.numel(); ++i)
      ASSERT_EQ(at(2, i), std::fmod(at(0, i), at(1, i)))
          << what << ": " << at(0, i) << " " << at(1, i);
  }
}

// Of 8 MiB and more, which processors write past their caches: with an end that fills no vector, where vectors begin and
// where they do not, and in place.
class LargePointwise : public testing::TestWithParam<const char*> {};

TEST_P(LargePointwise, covers_every_element) {
  BP_SKIP_WITHOUT(GetParam());
  const Device on = device(GetParam());
  for (Dtype dtype : {f32, f64, f16, bf16, i64, u8}) {
    const std::int64_t length = (8 << 20) / itemsize(dtype) + 4'133, space = 64;
    const Tensor wave = sin(arange(0, static_cast<double>(length), 1, f32, host_device()));
    const Tensor a = cast(wave * 50 + 100, dtype), b = flip(a, {0});
    const Tensor here[] = {a, contiguous(b)};
    const Tensor there[] = {to(here[0], on), to(here[1], on)};
    const std::string what = std::string(name(dtype)) + " on " + GetParam();
    const Tensor expected = maximum(here[0], here[1]);
    expect_stays_on(GetParam(), what,
                    [&] { expect_agrees(maximum(there[0], there[1]), expected, "exact", what); });
    for (const std::int64_t start : {std::int64_t{1}, space}) {
      const Tensor whole = full({length + 2 * space}, 7, dtype, on);
      maximum_out(views::narrow(whole, 0, start, length), there[0], there[1]);
      const Tensor before = full({start}, 7, dtype, host_device());
      const Tensor after = full({2 * space - start}, 7, dtype, host_device());
      expect_agrees(whole, cat({before, expected, after}), "exact", what + " into a view");
    }
    maximum_out(there[0], there[0], there[1]);
    expect_agrees(there[0], expected, "exact", what + " in place");
  }
}

TEST_P(LargePointwise, agrees_with_cpu) {
  BP_SKIP_WITHOUT(GetParam());
  const Tensor x = arange(-100, 100, 2e-5, f32, host_device());
  const Tensor there = to(x, device(GetParam()));
  expect_agrees(exp(there), exp(x), "3 ulp", GetParam());
  expect_agrees(tanh(there), tanh(x), "5 ulp", GetParam());
  expect_agrees(there < 3, x < 3, "exact", GetParam());
  expect_agrees(where(there < 3, there, 5), where(x < 3, x, 5), "exact", GetParam());
  expect_agrees(cast(there, f16), cast(x, f16), "exact", GetParam());
  expect_agrees(cast(there, i16), cast(x, i16), "exact", GetParam());
}

INSTANTIATE_TEST_SUITE_P(all, LargePointwise,
                         testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string device = each.param;
                           return device.substr(0, device.find(':'));
                         });

INSTANTIATE_TEST_SUITE_P(all, Pointwise,
                         testing::Values("reference_compiler:0", "opencl:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           const std::string device = each.param;
                           return device.substr(0, device.find(':'));
                         });

}  // namespace
}  // namespace bp::test
