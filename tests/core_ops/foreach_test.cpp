// needs: cpu reference
// Rows over lists: each place as by the operator alone, what is written and what is refused.
#include <backplane/capture/capture.hpp>

#include "autograd/tensors.hpp"

namespace bp::foreach_test {
namespace {

using namespace bp::test;
using Tensors = std::vector<Tensor>;

Tensor numbers(IntList shape, double first) {
  const std::int64_t count = checked_numel("numbers", shape);
  return reshape(arange(0, count, 1, f64) * 0.25 + first, shape);
}

// Of mixed shapes, one of them without elements.
Tensors mixed(double first) {
  return {numbers({2, 3}, first), numbers({5}, first + 1), numbers({}, first + 2),
          numbers({0, 4}, first)};
}

Tensors copies(const Tensors& all) {
  Tensors made;
  for (const Tensor& each : all) made.push_back(clone(each));
  return made;
}

std::vector<Values> values_of_all(const Tensors& all) {
  std::vector<Values> values;
  for (const Tensor& each : all) values.push_back(values_of(each));
  return values;
}

template <class F> std::vector<Values> by_loop(const Tensors& a, const Tensors& b, F f) {
  std::vector<Values> all;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Values x = values_of(a[i]), y = values_of(b[i]);
    Values& out = all.emplace_back();
    for (std::size_t k = 0; k < x.size(); ++k) out.push_back(f(x[k], y[k]));
  }
  return all;
}

TEST(Foreach, takes_place_by_place_what_lists_hold) {
  const Tensors a = mixed(-1), b = mixed(0.5);
  const auto expect_each = [&](const Tensors& found, auto f) {
    ASSERT_EQ(found.size(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(found[i].shape(), a[i].shape());
    EXPECT_EQ(values_of_all(found), by_loop(a, b, f));
  };
  expect_each(_foreach_add(a, b, 2), [](double x, double y) { return x + 2 * y; });
  expect_each(_foreach_sub(a, b, 0.5), [](double x, double y) { return x - 0.5 * y; });
  expect_each(_foreach_mul(a, b), [](double x, double y) { return x * y; });
  expect_each(_foreach_div(a, b), [](double x, double y) { return x / y; });
  expect_each(_foreach_maximum(a, b), [](double x, double y) { return std::max(x, y); });
  expect_each(_foreach_clamp_max(a, 0), [](double x, double) { return std::min(x, 0.0); });
  expect_each(_foreach_clamp_min(a, 0), [](double x, double) { return std::max(x, 0.0); });
  expect_each(_foreach_add(a, 3), [](double x, double) { return x + 3; });
  expect_each(_foreach_pow(a, 2), [](double x, double) { return x * x; });
  expect_each(_foreach_neg(a), [](double x, double) { return -x; });
  expect_each(_foreach_abs(a), [](double x, double) { return std::abs(x); });
  expect_each(_foreach_addcmul(a, a, b, 4), [](double x, double y) { return x + 4 * (x * y); });
}

TEST(Foreach, writes_into_the_tensors_themselves) {
  const Tensors a = mixed(-1), b = mixed(0.5);
  const auto expect_written = [&](auto call, auto f) {
    const Tensors written = copies(a);
    const std::uint32_t version = written[0].version();
    call(written);
    EXPECT_EQ(values_of_all(written), by_loop(a, b, f));
    EXPECT_GT(written[0].version(), version);
  };
  expect_written([&](const Tensors& all) { _foreach_add_(all, b, 2); },
                 [](double x, double y) { return x + 2 * y; });
  expect_written([&](const Tensors& all) { _foreach_mul_(all, 0.5); },
                 [](double x, double) { return x * 0.5; });
  expect_written([&](const Tensors& all) { _foreach_div_(all, b); },
                 [](double x, double y) { return x / y; });
  expect_written([&](const Tensors& all) { _foreach_zero_(all); },
                 [](double, double) { return 0.0; });
  expect_written([&](const Tensors& all) { _foreach_lerp_(all, b, 0.25); },
                 [](double x, double y) { return x + 0.25 * (y - x); });
}

TEST(Foreach, walks_a_list_in_its_order) {
  const Tensor a = numbers({3}, 1);
  _foreach_mul_({a, a}, Tensors{a, a});  // the second sees what the first wrote
  EXPECT_THAT(values_of(a), ElementsAre(1, std::pow(1.25, 4), std::pow(1.5, 4)));
}

TEST(Foreach, norms_are_of_all_elements) {
  const Tensors a = {numbers({2, 2}, 1), cast(numbers({3}, -1), f32)};
  const Tensors found = _foreach_norm(a, 1);
  EXPECT_THAT(values_of(found[0]), ElementsAre(5.5));
  EXPECT_EQ(found[1].dtype(), f32);
  EXPECT_EQ(_foreach_norm(a, 2, f64)[1].dtype(), f64);
}

TEST(Foreach, empty_lists_give_and_write_nothing) {
  EXPECT_TRUE(_foreach_add(Tensors{}, Tensors{}).empty());
  EXPECT_TRUE(_foreach_sqrt(Tensors{}).empty());
  _foreach_add_(Tensors{}, Tensors{});
  _foreach_zero_(Tensors{});
}

TEST(Foreach, lists_that_do_not_fit_are_refused) {
  const Tensors two = {numbers({2}, 0), numbers({2}, 0)}, one = {numbers({2}, 0)};
  EXPECT_EQ(test::sentence_of([&] { _foreach_add(two, one); }),
            "_foreach_add: 'self' has 2 tensors and 'other' has 1; pass lists of one length");
  EXPECT_EQ(test::sentence_of([&] { _foreach_add(Tensors{}, one); }),
            "_foreach_add: 'self' has 0 tensors and 'other' has 1; pass lists of one length");
  EXPECT_EQ(test::sentence_of([&] { _foreach_mul_(two, one); }),
            "_foreach_mul_: 'self' has 2 tensors and 'other' has 1; pass lists of one length");
  EXPECT_EQ(test::sentence_of([&] { _foreach_mul_(one, Tensors{cast(one[0], f32)}); }),
            "_foreach_mul_: tensor 0 of the lists is float64 and float32; cast one of them");
  const Tensor elsewhere = to_device(one[0], device("reference:0"));
  EXPECT_EQ(
      test::sentence_of([&] { _foreach_sub(one, Tensors{elsewhere}); }),
      "_foreach_sub: tensor 0 of the lists is on cpu:0 and on reference:0; move one with to()");
  EXPECT_EQ(test::sentence_of([&] { _foreach_sqrt(Tensors{Tensor()}); }),
            "_foreach_sqrt: tensor 0 of 'self' is undefined; give it a value first");
  EXPECT_THAT(test::sentence_of([&] { _foreach_add_(one, Tensors{numbers({3}, 0)}); }),
              testing::StartsWith("_foreach_add_: "));
}

TEST(Foreach, leaves_are_written_under_no_grad_alone) {
  const Tensor x = leaf({1, 2}), y = tensor(Values{3, 4});
  EXPECT_THAT(test::sentence_of([&] { _foreach_add_({x}, Tensors{y}); }),
              testing::StartsWith("_foreach_add_: "));
  const NoGrad constant;
  _foreach_add_({x}, Tensors{y});
  EXPECT_THAT(values_of(x), ElementsAre(4, 6));
}

TEST(Foreach, a_call_that_is_refused_has_written_nothing) {
  const Tensor a = ones({3}, f64), b = ones({4}, f64), g = full({3}, 2, f64), h = ones({5}, f64);
  const auto is_untouched = [&](const std::function<void()>& call) {
    EXPECT_THAT(bp::test::sentence_of(call),
                testing::HasSubstr("tensor 1 of the lists has shape [4]"));
    EXPECT_EQ(values_of(a), Values(3, 1));
  };
  is_untouched([&] { _foreach_add_({a, b}, {g, h}); });
  is_untouched([&] { _foreach_mul_({a, b}, {g, h}); });
  is_untouched([&] { _foreach_div_({a, b}, {g, ones({2, 4}, f64)}); });
  is_untouched([&] { _foreach_addcmul_({a, b}, {g, b}, {g, h}); });
  is_untouched([&] { _foreach_lerp_({a, b}, {g, h}, {g, b}); });
  const Tensor wanted = set_requires_grad(ones({4}, f64));
  EXPECT_THAT(bp::test::sentence_of([&] {
                _foreach_zero_({a, wanted});
              }),
              testing::HasSubstr("_foreach_zero_: a leaf that requires grad, shape [4]"));
  EXPECT_EQ(values_of(a), Values(3, 1));
  _foreach_add_({a, b}, {g, ones({1}, f64)});
  EXPECT_EQ(values_of(a), Values(3, 3));
}

TEST(Foreach, derivatives_go_through_each_place) {
  const Tensor x = leaf({1, 2}), y = leaf({3});
  const Tensors found = _foreach_mul({x, y}, Tensors{x, y});
  const std::vector<Tensor> gradients =
      autograd::grad({sum(found[0]), sum(found[1])}, {x, y}, {}, {}, false);
  EXPECT_THAT(values_of(gradients[0]), ElementsAre(2, 4));
  EXPECT_THAT(values_of(gradients[1]), ElementsAre(6));
}

TEST(Foreach, a_replay_writes_again) {
  const Tensors a = {numbers({2}, 1), numbers({3}, 1)};
  Recording graph = capture(host_device(), [&] { _foreach_mul_(a, 2); });
  const std::uint32_t version = a[0].version();
  graph.replay();
  graph.replay();
  EXPECT_THAT(values_of(a[0]), ElementsAre(4, 5));
  EXPECT_GT(a[0].version(), version);
}

TEST(Foreach, boxed_calls_take_a_list_or_a_number) {
  const Tensor a = numbers({2}, 1);
  const Tensors all = {a};
  const TensorListValue list(all);
  EXPECT_TRUE(call_boxed("_foreach_mul_", {list.value(), value_of(2.0)}).empty());
  EXPECT_TRUE(call_boxed("_foreach_mul_", {list.value(), list.value()}).empty());
  EXPECT_THAT(values_of(a), ElementsAre(4, 6.25));
  EXPECT_EQ(call_boxed("_foreach_neg", {list.value()}).size(), 1u);
  EXPECT_THAT(test::sentence_of([&] { call_boxed("_foreach_neg", {value_of(2.0)}); }),
              testing::HasSubstr("takes Tensor[], got float"));
}

}  // namespace
}  // namespace bp::foreach_test
