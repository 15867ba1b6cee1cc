// needs: cpu
// Going back: what arrives where, what is kept, and what is refused.
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using autograd::BackwardOptions;

TEST(Backward, adds_to_what_a_leaf_has) {
  const Tensor x = leaf({1, 2});
  EXPECT_FALSE(grad(x).defined());
  backward(sum(x * x));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(2, 4));
  const Tensor first = grad(x);
  backward(sum(x * 3));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(5, 7));
  EXPECT_TRUE(is_grad(x, first));
  set_grad(x, {});
  EXPECT_FALSE(grad(x).defined());
  EXPECT_FALSE(is_grad(x, first));
  EXPECT_FALSE(is_grad(x, {}));
  EXPECT_FALSE(is_grad(first, first));
}

TEST(Backward, sums_over_all_ways_to_a_tensor) {
  const Tensor x = leaf({3});
  const Tensor a = x * x, b = a + a * x, c = b * a;  // x^4 + x^5
  EXPECT_THAT(values_of(derivative(c, x)), ElementsAre(4 * 27 + 5 * 81));
}

TEST(Backward, takes_several_roots_with_weights) {
  const Tensor x = leaf({1, 2}), y = leaf({3, 4});
  const std::vector<Tensor> roots = {x * y, sum(x)}, weights = {tensor(Values{1, 10}), {}};
  autograd::backward(roots, weights);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(4, 41));
  EXPECT_THAT(values_of(grad(y)), ElementsAre(1, 20));
}

TEST(Backward, gives_broadcast_and_converted_inputs_their_own_shape_and_dtype) {
  const Tensor row = leaf({1, 2}), narrow_leaf = set_requires_grad(tensor({1.5f, 2.5f}));
  const Tensor wide = ones({3, 2}, f64);
  backward(sum(wide * row * narrow_leaf));
  EXPECT_THAT(values_of(grad(row)), ElementsAre(4.5, 7.5));
  EXPECT_EQ(grad(narrow_leaf).dtype(), f32);
  EXPECT_THAT(to_vector<float>(grad(narrow_leaf)), ElementsAre(3, 6));
}

TEST(Backward, gives_each_joined_tensor_its_own_dtype) {
  const Tensor x = leaf({1, 2}), y = set_requires_grad(tensor({3.0f}));
  backward(sum(cat({x, y}) * tensor(Values{1, 2, 3})));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(1, 2));
  EXPECT_THAT(to_vector<float>(grad(y)), ElementsAre(3));
}

TEST(Backward, gives_a_source_larger_than_its_index_nothing_beyond) {
  const Tensor source = leaf({1, 2, 3}), index = cast(tensor(Values{1, 1}), i64);
  const Tensor added = scatter_add(zeros({2}, f64), 0, index, source);
  EXPECT_THAT(values_of(derivative(added * tensor(Values{10, 20}), source)),
              ElementsAre(20, 20, 0));
}

TEST(Backward, keeps_the_record_only_when_asked) {
  const Tensor x = leaf({2}), y = x * x;
  backward(y, {}, {.retain_graph = true});
  backward(y);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(8));
  EXPECT_EQ(sentence_of([&] { backward(y); }),
            "backward through mul: what the call saved was freed by an earlier backward; pass "
            "retain_graph to that one");
}

TEST(Backward, of_derivatives_goes_to_any_order) {
  const Tensor x = leaf({2});
  Tensor d = x * x * x * x;
  for (double expected : {32.0, 48.0, 48.0, 24.0}) {
    d = derivative(d, x, {.create_graph = true});
    EXPECT_THAT(values_of(d), ElementsAre(expected));
  }
  EXPECT_FALSE(requires_grad(derivative(x * x, x)));
}

TEST(Backward, records_its_calls_when_asked_even_under_no_grad) {
  const Tensor x = leaf({2}), y = x * x;
  const NoGrad not_recorded;
  const Tensor d = autograd::grad({y}, {x}, {}, {.create_graph = true})[0];
  EXPECT_TRUE(requires_grad(d));
  EXPECT_FALSE(requires_grad(d * d));
}

TEST(Backward, goes_again_through_calls_that_saved_nothing) {
  const Tensor x = leaf({2}), y = x * 3 + x;
  backward(y);
  backward(y);
  EXPECT_THAT(values_of(grad(x)), ElementsAre(8));
}

TEST(Backward, refuses_roots_that_it_cannot_start_from) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(sentence_of([&] { backward(x * 2); }),
            "backward: the tensor has shape [2], and only a single element needs no gradient; pass "
            "a gradient, or reduce the tensor first");
  EXPECT_EQ(sentence_of([&] { backward(ones({1})); }),
            "backward: the tensor, shape [1], does not require grad; call set_requires_grad on the "
            "tensors that it is computed from, and compute it outside of NoGrad");
  EXPECT_EQ(sentence_of([&] { backward(x * 2, ones({3}, f64)); }),
            "backward: the gradient is float64[3] on cpu:0, and its tensor float64[2] on cpu:0; "
            "give one like "
            "the tensor");
  EXPECT_EQ(sentence_of([&] { backward(x * 2, ones({2}, f32)); }),
            "backward: the gradient is float32[2] on cpu:0, and its tensor float64[2] on cpu:0; "
            "give one like "
            "the tensor");
  EXPECT_EQ(sentence_of([&] { backward(Tensor()); }),
            "backward: the tensor is undefined; give it a value first");
  EXPECT_EQ(sentence_of([&] { autograd::backward({}); }),
            "backward: no tensors; give at least one");
}

TEST(Leaves, are_floating_or_complex_and_no_results) {
  EXPECT_EQ(sentence_of([&] {
              set_requires_grad(tensor({1, 2}));
            }),
            "set_requires_grad: the tensor is int64, and only floating-point and complex tensors "
            "have derivatives; cast it first");
  const Tensor x = leaf({1}), y = x * 2;
  EXPECT_TRUE(is_leaf(x));
  EXPECT_FALSE(is_leaf(y));
  EXPECT_TRUE(is_leaf(ones({1})));
  EXPECT_EQ(sentence_of([&] { set_requires_grad(y, false); }),
            "set_requires_grad: the tensor, shape [1], is a result of mul; detach() it first");
  EXPECT_EQ(
      sentence_of([&] { set_grad(y, ones({1}, f64)); }),
      "set_grad: the tensor, shape [1], is not a leaf that requires grad; call set_requires_grad "
      "first");
  set_requires_grad(x, false);
  EXPECT_FALSE(requires_grad(x * 2));
}

TEST(Detach, shares_the_values_and_not_the_record) {
  const Tensor x = leaf({1, 2}), y = x * 2, d = detach(y);
  EXPECT_TRUE(d.shares_storage(y));
  EXPECT_FALSE(requires_grad(d));
  EXPECT_THAT(values_of(derivative(y * d, x)), ElementsAre(4, 8));
}

TEST(Detach, writes_are_seen_by_the_check_of_saved_tensors) {
  const Tensor x = leaf({1, 2}), y = x * 2, z = y * y;
  mul_(detach(y), 2);
  EXPECT_EQ(sentence_of([&] { backward(sum(z)); }),
            "backward through mul: argument 'other', shape [2], was written in place after the "
            "call: it is "
            "at version 1, and version 0 is needed; write to a copy of it");
}

TEST(Grad, is_found_for_chosen_inputs_alone) {
  const Tensor x = leaf({2}), y = leaf({3}), between = x * x, z = between * y;
  const std::vector<Tensor> inputs = {between, y};
  const std::vector<Tensor> found = autograd::grad({z}, inputs);
  EXPECT_THAT(values_of(found[0]), ElementsAre(3));
  EXPECT_THAT(values_of(found[1]), ElementsAre(4));
  EXPECT_FALSE(grad(x).defined());
  EXPECT_FALSE(grad(y).defined());
}

TEST(Grad, leaves_what_lies_below_the_inputs_untouched) {
  const Tensor x = leaf({2}), between = x * x, z = between * 3;
  autograd::grad({z}, {between});
  EXPECT_THAT(values_of(derivative(between, x)), ElementsAre(4));  // what it saved is still there
}

TEST(Grad, tells_of_inputs_that_are_not_used) {
  const Tensor x = leaf({2}), y = leaf({3, 4}), z = x * x;
  const std::vector<Tensor> inputs = {x, y};
  EXPECT_EQ(sentence_of([&] { autograd::grad({z}, inputs, {}, {.retain_graph = true}); }),
            "grad: the outputs do not depend on input 1, shape [2]; leave it out, or allow_unused");
  const std::vector<Tensor> found = autograd::grad({z}, inputs, {}, {}, true);
  EXPECT_THAT(values_of(found[0]), ElementsAre(4));
  EXPECT_FALSE(found[1].defined());
}

TEST(RetainGrad, keeps_the_gradient_of_what_is_no_leaf) {
  const Tensor x = leaf({2}), y = x * x;
  retain_grad(y);
  backward(y * y);
  EXPECT_THAT(values_of(grad(y)), ElementsAre(8));
  EXPECT_FALSE(grad(y * y).defined());
}

TEST(SetGrad, takes_away_what_there_is_if_anything) {
  const Tensor x = leaf({2}), y = x * x;
  retain_grad(y);
  backward(y);
  set_grad(y, {});
  EXPECT_FALSE(grad(y).defined());
  set_grad(x, {});
  EXPECT_FALSE(grad(x).defined());
  set_requires_grad(x, false);  // frozen
  set_grad(x, {});
  EXPECT_THAT(sentence_of([&] { set_grad(x, ones({2}, f64)); }),
              testing::HasSubstr("is not a leaf"));
}

TEST(LongGraphs, are_gone_through_and_freed_without_recursion) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = y * 1.0;
  backward(y, {}, {.retain_graph = true});
  EXPECT_THAT(values_of(grad(x)), ElementsAre(1));
  EXPECT_THAT(values_of(autograd::grad({y}, {x})[0]), ElementsAre(1));
  y = {};
  Tensor z = x;
  for (int i = 0; i < 100'000; ++i) z = z * z;  // saved tensors hold the graph, too
  z = {};
}

TEST(LongGraphs, may_be_freed_while_they_are_gone_through) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1'000; ++i) y = y * 1.0;
  Tensor root = y * 2;
  const Tensor half_way = root;
  autograd::register_hook(y, [&](const Tensor&) {
    y = {};
    root = {};
    return Tensor();
  });
  backward(std::exchange(root, {}));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(2));
}

TEST(ComplexNumbers, give_the_direction_of_steepest_ascent) {
  const Tensor x =
      set_requires_grad(to(tensor(Values{1}), complex128) * std::complex<double>(2, 3));
  const Tensor y =
      set_requires_grad(to(tensor(Values{1}), complex128) * std::complex<double>(5, -1));
  const Tensor one = ones({1}, complex128);
  // By L = Re(x * y): dL/dx is conj(y).
  backward(x * y, one);
  EXPECT_EQ(item<bp::Scalar>(grad(x)).to_complex(), std::complex<double>(5, 1));
  EXPECT_EQ(item<bp::Scalar>(grad(y)).to_complex(), std::complex<double>(2, -3));
  set_grad(x, {});
  backward(div(one, x), one);  // -1 / conj(x)^2
  const std::complex<double> expected =
      -1.0 / std::conj(std::complex<double>(2, 3) * std::complex<double>(2, 3));
  EXPECT_NEAR(std::abs(item<bp::Scalar>(grad(x)).to_complex() - expected), 0, 1e-15);
}

TEST(ComplexNumbers, that_come_of_real_ones_give_real_gradients) {
  const Tensor x = leaf({2, 3});
  backward(x * std::complex<double>(4, 7), ones({2}, complex128));
  EXPECT_THAT(values_of(grad(x)), ElementsAre(4, 4));
}

TEST(ComplexNumbers, go_through_matrix_products_twice) {
  const Tensor a = set_requires_grad(to(tensor({{1.0, 2.0}}, {.dtype = f64}), complex128) *
                                     std::complex<double>(1, 1));
  const Tensor b = set_requires_grad(to(tensor({{3.0}, {4.0}}, {.dtype = f64}), complex128) *
                                     std::complex<double>(0, 2));
  const Tensor c = matmul(a, b), one = ones({1, 1}, complex128);
  const Tensor by_a = autograd::grad({c}, {a}, {one}, {.create_graph = true})[0];
  EXPECT_EQ(item<bp::Scalar>(select(reshape(by_a, {2}), 0, 0)).to_complex(),
            std::complex<double>(0, -6));
  const Tensor total = sum(by_a);
  const Tensor by_b = autograd::grad({total}, {b}, {ones({}, complex128)})[0];
  EXPECT_EQ(item<bp::Scalar>(select(reshape(by_b, {2}), 0, 1)).to_complex(),
            std::complex<double>(1, 0));
}

TEST(ComplexNumbers, need_a_gradient_to_start_from) {
  const Tensor x = set_requires_grad(ones({1}, complex64));
  EXPECT_EQ(sentence_of([&] { backward(x * x); }),
            "backward: the tensor is complex64, and only a real tensor needs no gradient; pass a "
            "gradient, or make it real");
}

}  // namespace
}  // namespace bp::test
