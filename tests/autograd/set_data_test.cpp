// needs: cpu reference
// A leaf gets other values under the same handles.
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

TEST(SetData, all_handles_see_the_new_memory_and_the_leaf_stays_one) {
  const Tensor x = leaf({1, 2}), same = x;
  const Tensor values = tensor({{3.f, 4.f, 5.f}}, {.device = device("reference:0")});
  set_data(x, values);
  EXPECT_TRUE(same.is_same(x) && same.shares_storage(values));
  EXPECT_EQ(same.shape(), Dims({1, 3}));
  EXPECT_EQ(same.dtype(), f32);
  EXPECT_EQ(same.device(), device("reference:0"));
  EXPECT_TRUE(requires_grad(same) && is_leaf(same));
  EXPECT_FALSE(requires_grad(values));
  backward(sum(same * 2));
  EXPECT_EQ(values_of(to(grad(x), f64)), (Values{2, 2, 2}));
}

// Of a leaf nodes keep the tensor itself, of a constant its memory.
TEST(SetData, never_lets_backward_take_the_new_values_for_the_old) {
  const Tensor x = leaf({3}), y = leaf({5});
  const Tensor product = x * y;
  const Tensor before = detach(y), written = tensor(Values{7});
  fill_(written, 8);
  set_data(y, written);
  EXPECT_THAT(sentence_of([&] { backward(sum(product)); }), HasSubstr("written in place"));
  set_data(y, before);
  EXPECT_THAT(sentence_of([&] { backward(sum(product)); }), HasSubstr("written in place"));

  const Tensor factor = tensor(Values{5}), scaled = x * factor;
  set_data(factor, written);
  backward(sum(scaled));
  EXPECT_EQ(values_of(grad(x)), Values{5});
  EXPECT_EQ(values_of(x * factor), Values{24});
}

TEST(SetData, takes_views_on_both_sides) {
  const Tensor rows = tensor({{1.0, 2.0}, {3.0, 4.0}}, {.dtype = f64});
  const Tensor row = select(tensor({{8.0, 9.0}}, {.dtype = f64}), 0, 0);
  set_data(row, select(rows, 0, 1));
  EXPECT_EQ(values_of(row), (Values{3, 4}));
  EXPECT_TRUE(row.shares_storage(rows));
  fill_(rows, 6);
  EXPECT_EQ(values_of(row), (Values{6, 6}));
  set_data(row, row);
  EXPECT_EQ(values_of(row), (Values{6, 6}));
}

TEST(SetData, refuses_what_would_leave_something_behind) {
  const Tensor x = leaf({1, 2});
  EXPECT_THAT(sentence_of([&] { set_data(x * 2, x); }), HasSubstr("is a result of mul"));
  EXPECT_THAT(sentence_of([&] { set_data(x, tensor({1, 2})); }), HasSubstr("new values are int64"));
  EXPECT_THAT(sentence_of([&] { set_data(x, {}); }), HasSubstr("undefined"));
  backward(sum(x));
  EXPECT_THAT(sentence_of([&] { set_data(x, tensor(Values{1})); }),
              HasSubstr("float64[2] on cpu:0"));
  EXPECT_EQ(values_of(x), (Values{1, 2}));
}

// What was recorded of other values has derivatives by those: never of another shape, dtype or device than the leaf's.
TEST(SetData, never_lets_backward_leave_a_gradient_that_does_not_fit) {
  const std::vector<std::function<Tensor(const Tensor&)>> calls{
      [](const Tensor& x) { return x + 1; },
      [](const Tensor& x) { return x * 2; },
      [](const Tensor& x) {
        return x * ones({4, 3}, x.dtype(), x.device());
      },
      [](const Tensor& x) { return sum(x); },
      [](const Tensor& x) { return neg(x); },
      [](const Tensor& x) {
        return reshape(x, {3, 1});
      },
      [](const Tensor& x) { return to(x, f32); },
      [](const Tensor& x) {
        return matmul(ones({2, 3}, x.dtype(), x.device()), x);
      },
      [](const Tensor& x) {
        return cat({x, x});
      }};
  const std::vector<Tensor> others{to(ones({3}, f64), device("reference:0")), ones({3}, f32),
                                   to(ones({3}, f64), complex128), ones({2, 3}, f64),
                                   ones({1}, f64)};
  for (std::size_t call = 0; call < calls.size(); ++call)
    for (const Tensor& other : others) {
      SCOPED_TRACE(std::to_string(call) + " before " + to_string(other.shape()));
      const Tensor x = leaf({1, 2, 3});
      const Tensor loss = sum(calls[call](x));
      set_data(x, other);
      for (const bool is_function : {false, true}) {
        const std::string sentence = sentence_of([&] {
          if (is_function)
            autograd::grad({loss}, {x}, {}, {.retain_graph = true});
          else
            backward(loss, {}, {.retain_graph = true});
        });
        EXPECT_THAT(sentence, HasSubstr("of a leaf is float64[3] on cpu:0, as the leaf was"));
      }
      EXPECT_FALSE(grad(x).defined());
      backward(x * 2, ones_like(x));
      EXPECT_EQ(grad(x).shape(), other.shape());
      EXPECT_EQ(grad(x).dtype(), other.dtype());
      EXPECT_EQ(grad(x).device(), other.device());
    }
}

}  // namespace
}  // namespace bp::test
