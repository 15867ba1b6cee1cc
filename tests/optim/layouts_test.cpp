// needs: cpu reference
// Parameters and gradients of any layout, dtype and device in one group step as each alone would, bit for bit.
#include "optim/all_optimizers.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

class Layouts : public EachOptimizer {};

Tensor numbers(IntList shape, double first, Dtype dtype) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return to(reshape(sin(arange(0, count, 1, f64) + first), shape), dtype);
}

// The same values, laid out in another way.
const std::vector<std::function<Tensor(const Tensor&)>> layouts{
    [](const Tensor& x) { return clone(x); },
    [](const Tensor& x) { return transpose(contiguous(transpose(x, 0, 1)), 0, 1); },
    [](const Tensor& x) {
      const Tensor wide = zeros({x.size(0) + 2, x.size(1) * 2}, x.dtype(), x.device());
      const Tensor part = slice(narrow(wide, 0, 1, x.size(0)), 1, 0, x.size(1) * 2, 2);
      copy_(part, x);
      return part;
    },
    [](const Tensor& x) {
      return narrow(cat({x, x}), 0, x.size(0), x.size(0));
    }};

// Two parameters of the same values and layout, of which one steps alone.
struct LayoutPair {
  Tensor together, alone;
  double first;
  std::size_t layout;
};

std::vector<LayoutPair> pairs_of_all_layouts() {
  std::vector<LayoutPair> pairs;
  double first = 0;
  for (const Dtype dtype : {f32, f64, bf16})
    for (std::size_t layout = 0; layout < layouts.size(); ++layout)
      for (const Dims& shape : {Dims({3, 4}), Dims({4, 3}), Dims({1, 5})})
        for (const char* where : {"cpu:0", "reference:0"}) {
          const Tensor values = to(numbers(shape, ++first, dtype), device(where));
          const auto parameter = [&] { return set_requires_grad(detach(layouts[layout](values))); };
          pairs.push_back({parameter(), parameter(), first, layout});
        }
  return pairs;
}

TEST_P(Layouts, of_one_group_step_as_each_alone) {
  if (std::string_view(GetParam().name).ends_with("LBFGS")) return;
  const std::vector<LayoutPair> pairs = pairs_of_all_layouts();
  std::vector<Tensor> together;
  std::vector<std::unique_ptr<optim::Optimizer>> alone;
  for (const LayoutPair& each : pairs) {
    together.push_back(each.together);
    alone.push_back(GetParam().make({each.alone}));
  }
  const auto all = GetParam().make(together);
  for (int step = 0; step < 3; ++step) {
    for (const LayoutPair& each : pairs) {
      const auto& layout = layouts[(each.layout + static_cast<std::size_t>(step)) % layouts.size()];
      for (const Tensor& parameter : {each.together, each.alone})
        set_grad(
            parameter,
            detach(layout(to(numbers(parameter.shape(), each.first * 3 + step, parameter.dtype()),
                             parameter.device()))));
    }
    all->step();
    for (const auto& each : alone) each->step();
  }
  for (const LayoutPair& each : pairs)
    EXPECT_EQ(values_of(to(detach(each.together), f64)), values_of(to(detach(each.alone), f64)))
        << name(each.alone.dtype()) << to_string(each.alone.shape()) << " layout " << each.layout
        << " device " << each.alone.device().number;
}

TEST_P(Layouts, of_gradients_may_repeat_elements) {
  if (std::string_view(GetParam().name).ends_with("LBFGS")) return;
  const Tensor odd = set_requires_grad(numbers({3, 4}, 0, f64)),
               dense = set_requires_grad(clone(detach(odd)));
  const auto first = GetParam().make({odd}), second = GetParam().make({dense});
  for (int step = 0; step < 3; ++step) {
    set_grad(odd, expand(numbers({1, 4}, step, f64), {3, 4}));
    set_grad(dense, contiguous(grad(odd)));
    first->step();
    second->step();
  }
  EXPECT_EQ(values_of(odd), values_of(dense));
}

TEST_P(Layouts, of_parameters_that_repeat_elements_are_refused_before_anything_changes) {
  const Tensor plain = set_requires_grad(ones({3, 4}, f64));
  const Tensor odd = set_requires_grad(detach(expand(ones({1, 4}, f64), {3, 4})));
  const std::string sentence = sentence_of([&] {
    const auto optimizer = GetParam().make({plain, odd});
    optimizer->step([&] {
      make_gradients({plain, odd});
      return sum(square(plain)) + sum(square(odd));
    });
  });
  EXPECT_THAT(sentence, HasSubstr("several elements of parameter 1, shape [3, 4], share one place "
                                  "in memory (strides [0, 1])"));
  for (const Tensor& each : {plain, odd}) EXPECT_EQ(values_of(each), Values(12, 1.0));
}

TEST(Steps, of_dense_parameters_stay_one_call_of_a_kernel_beside_others) {
  const Tensor dense = set_requires_grad(ones({3, 4}, f32));
  const Tensor odd = set_requires_grad(detach(transpose(ones({4, 3}, f32), 0, 1)));
  optim::AdamW optimizer({dense, odd});
  for (const Tensor& each : {dense, odd}) set_grad(each, transpose(ones({4, 3}, f32), 0, 1));
  reset_call_counts();
  optimizer.step();
  for (const CallCount& count : call_counts())
    if (count.op == "_fused_adamw_") {
      EXPECT_EQ(count.calls[static_cast<int>(Rung::native)], 1u);
      return;
    }
  ADD_FAILURE() << "no call of _fused_adamw_";
}

INSTANTIATE_TEST_SUITE_P(Of, Layouts, testing::ValuesIn(all_and_special_optimizers()),
                         name_of_case);

}  // namespace
}  // namespace bp::test
