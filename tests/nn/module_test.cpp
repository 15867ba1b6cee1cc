// needs: cpu
// What a module lists, by which names; modes, gradients and forward.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

struct Misnamed : nn::Module {
  nn::Parameter a{ones({1})};
  const char* second;
  explicit Misnamed(const char* name) : second(name) {}
  void list_parts(nn::Parts& parts) override {
    parts.parameter("first", a);
    parts.parameter(second, a);
  }
};

struct Endless : nn::Module {
  void list_parts(nn::Parts& parts) override { parts.module("self", *this); }
};

struct Bilinear : nn::Module {
  using Module::forward;
  Tensor forward(const Tensor& a, const Tensor& b) const { return a * b; }
};

TEST(Modules, name_their_parameters_in_order) {
  const Net net;
  EXPECT_THAT(names_of(net.named_parameters()),
              ElementsAre("hidden.weight", "hidden.bias", "output.weight"));
  for (const Tensor& parameter : net.parameters()) EXPECT_TRUE(requires_grad(parameter));
  EXPECT_EQ(net.num_parameters(), 4 * 3 + 3 + 3 * 2);
  EXPECT_TRUE(net.buffers().empty());
}

TEST(Modules, tell_buffers_from_parameters) {
  const nn::Sequential net(Counting{}, Relu{}, Counting{});
  EXPECT_THAT(names_of(net.named_parameters()), ElementsAre("0.scale", "2.scale"));
  EXPECT_THAT(names_of(net.named_buffers()),
              ElementsAre("0.num_seen", "0.bounds", "2.num_seen", "2.bounds"));
  for (const Tensor& buffer : net.buffers()) EXPECT_FALSE(requires_grad(buffer));
}

TEST(Modules, name_the_modules_within_them_once) {
  Net net;
  EXPECT_THAT(names_of(net.named_modules()), ElementsAre("", "hidden", "output"));
  EXPECT_EQ(net.named_modules()[0].second, &net);
  EXPECT_EQ(std::as_const(net).named_modules()[2].second, &net.output);
  EXPECT_THAT(names_of(net.named_children()), ElementsAre("hidden", "output"));
  EXPECT_EQ(std::as_const(net).named_children()[0].second, &net.hidden);

  struct Twice : nn::Module {
    nn::Linear once{2, 2};
    void list_parts(nn::Parts& parts) override {
      parts.module("first", once);
      parts.module("second", once);
    }
  };
  const Twice twice;
  EXPECT_THAT(names_of(twice.named_modules()), ElementsAre("", "first"));
  EXPECT_THAT(names_of(twice.named_parameters()), ElementsAre("first.weight", "first.bias"));
  EXPECT_EQ(twice.state_dict().size(), 4u);
}

TEST(Modules, apply_reaches_what_they_hold_before_themselves) {
  nn::Sequential net(Relu{}, nn::Sequential(Relu{}, Relu{}));
  std::vector<const nn::Module*> seen;
  net.apply([&](nn::Module& module) { seen.push_back(&module); });
  const auto& inner = dynamic_cast<const nn::Sequential&>(net[1]);
  EXPECT_THAT(seen, ElementsAre(&net[0], &inner[0], &inner[1], &inner, &net));
}

TEST(Modules, refuse_names_that_are_taken_or_no_names) {
  const auto sentence = [](const char* name) {
    return sentence_of([&] { Misnamed(name).parameters(); });
  };
  EXPECT_THAT(sentence("first"), HasSubstr("two parts named 'first'"));
  EXPECT_THAT(sentence("a.b"), HasSubstr("'a.b' cannot name"));
  EXPECT_THAT(sentence(""), HasSubstr("'' cannot name"));
}

TEST(Modules, refuse_to_hold_themselves) {
  Endless endless;
  const std::function<void()> walks[] = {
      [&] { endless.train(); },      [&] { endless.parameters(); },
      [&] { endless.state_dict(); }, [&] { endless.apply([](nn::Module&) {}); },
      [&] { endless.printed(); },    [&] { (void)nn::to_string(endless); },
  };
  for (const auto& walk : walks)
    EXPECT_THAT(sentence_of(walk), HasSubstr("holds itself, as 'self';"));
}

TEST(Modules, list_thousands_side_by_side_and_within_each_other) {
  constexpr int count = 10'000, depth = 1'000;
  nn::Sequential flat, nested(Counting{});
  for (int i = 0; i < count; ++i) flat.append(nn::PReLU());
  for (int i = 0; i < depth; ++i) {
    nn::Sequential outer;
    outer.append(std::move(nested));
    nested = std::move(outer);
  }
  EXPECT_EQ(flat.parameters().size(), count);
  flat.load_state_dict(nn::clone(flat).state_dict());
  EXPECT_EQ(numbers_of(flat(ones({1}))), Values{1});
  EXPECT_EQ(numbers_of(nested(ones({2, 3}))), Values(6, 1.5));
  EXPECT_EQ(nested.named_modules().size(), depth + 2);
  backward(sum(nested(ones({2, 3}))));
  EXPECT_TRUE(grad(nested.parameters()[0]).defined());
}

TEST(Modules, switch_all_they_hold_between_training_and_evaluation) {
  nn::Sequential net(Counting{}, nn::Sequential(Counting{}));
  const Tensor x = ones({5, 3});
  net(x);
  net.eval();
  for (const auto& [name, module] : net.named_modules())
    EXPECT_FALSE(module->is_training()) << name;
  net(x);
  for (const auto& [name, buffer] : net.named_buffers()) {
    if (name.ends_with("num_seen")) {
      EXPECT_EQ(item<std::int64_t>(buffer), 5) << name;
    }
  }
  net.train();
  for (const auto& [name, module] : net.named_modules()) EXPECT_TRUE(module->is_training()) << name;
}

TEST(Modules, collect_gradients_and_forget_them) {
  Net net;
  backward(sum(net(ones({5, 4}))));
  for (const Tensor& parameter : net.parameters())
    EXPECT_EQ(grad(parameter).shape(), parameter.shape());
  net.zero_grad();
  for (const Tensor& parameter : net.parameters()) EXPECT_FALSE(grad(parameter).defined());
}

TEST(Modules, freeze_and_thaw) {
  Net net;
  net.hidden.requires_grad_(false);
  backward(sum(net(ones({5, 4}))));
  EXPECT_FALSE(grad(net.hidden.weight).defined());
  EXPECT_TRUE(grad(net.output.weight).defined());
  net.zero_grad();
  net.requires_grad_();
  for (const Tensor& parameter : net.parameters()) EXPECT_TRUE(requires_grad(parameter));
}

TEST(Modules, are_called_through_their_base) {
  const Net net;
  const nn::Module& any = net;
  const Tensor x = rand({2, 4});
  EXPECT_EQ(numbers_of(any(x)), numbers_of(net.forward(x)));
  const Bilinear product;
  EXPECT_EQ(numbers_of(product.forward(full({1}, 3), full({1}, 4))), Values{12});
  EXPECT_THAT(sentence_of([&] { product(x); }),
              testing::AllOf(HasSubstr("Bilinear"), HasSubstr("none for one tensor")));
}

TEST(Modules, of_one_sequence_compute_one_after_the_other) {
  nn::Linear first(4, 3), second(3, 2);
  nn::Sequential net(first, Relu{}, second);
  const Tensor x = rand({5, 4});
  EXPECT_EQ(numbers_of(net(x)), numbers_of(second(relu(first(x)))));
  EXPECT_THAT(names_of(net.named_parameters()),
              ElementsAre("0.weight", "0.bias", "2.weight", "2.bias"));
  EXPECT_TRUE(net.parameters()[0].is_same(first.weight));
  net.append(Relu{});
  EXPECT_EQ(net.size(), 4u);
  EXPECT_EQ(numbers_of(nn::Sequential()(x)), numbers_of(x));
  EXPECT_THAT(sentence_of([&] { net[4]; }), HasSubstr("no module 4 of 4"));
}

TEST(Parameter, has_the_memory_of_its_data_and_leaves_that_outside_of_records) {
  const Tensor data = ones({2});
  const nn::Parameter parameter(data);
  EXPECT_TRUE(requires_grad(parameter) && is_leaf(parameter) && parameter.shares_storage(data));
  EXPECT_FALSE(requires_grad(data));
  const nn::Parameter frozen(parameter * 2, false);
  EXPECT_FALSE(requires_grad(frozen));
  EXPECT_THAT(sentence_of([] { nn::Parameter(tensor({1, 2})); }), HasSubstr("the tensor is int64"));
  EXPECT_FALSE(nn::Parameter().defined());
}

}  // namespace
}  // namespace bp::test
