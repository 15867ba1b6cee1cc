// needs: cpu
// Modules and parameters in lists and dicts.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

TEST(Sequential, takes_names) {
  nn::Linear first(4, 3);
  nn::Sequential net{{"first", first}, {"act", Relu{}}};
  net.append("last", nn::Linear(3, 2));
  EXPECT_THAT(names_of(net.named_children()), ElementsAre("first", "act", "last"));
  EXPECT_THAT(names_of(net.state_dict()),
              ElementsAre("first.weight", "first.bias", "last.weight", "last.bias"));
  const Tensor x = rand({2, 4});
  EXPECT_EQ(numbers_of(net(x)), numbers_of(net[2](relu(first(x)))));
  // As the copy of any class is one, and no sequence that holds it.
  EXPECT_EQ(nn::Sequential(net).size(), 3u);
  EXPECT_THAT(sentence_of([&] { net.append("first", Relu{}); }),
              HasSubstr("two modules named 'first'"));
  EXPECT_THAT(sentence_of([&] { net.append("a.b", Relu{}); }), HasSubstr("'a.b' cannot name"));
  EXPECT_EQ(net.size(), 3u);
}

TEST(ModuleList, numbers_its_modules) {
  nn::ModuleList list(nn::Linear(2, 2));
  list.append(Relu{});
  list.insert(0, nn::Linear(3, 3));
  list.extend(list);
  EXPECT_EQ(list.size(), 6u);
  EXPECT_THAT(names_of(list.named_children()), ElementsAre("0", "1", "2", "3", "4", "5"));
  EXPECT_EQ(list.at<nn::Linear>(0).weight.size(0), 3);
  // A copy of a module shares its tensors.
  EXPECT_TRUE(list.at<nn::Linear>(3).weight.is_same(list.at<nn::Linear>(0).weight));
  EXPECT_EQ(list.parameters().size(), 4u);
  EXPECT_THAT(sentence_of([&] { list.at<Relu>(1); }),
              HasSubstr("the module is a Linear, not a Relu"));
  EXPECT_THAT(sentence_of([&] { list[6]; }), HasSubstr("no module 6 of 6"));
  EXPECT_THAT(sentence_of([&] { list.insert(7, Relu{}); }), HasSubstr("no place 7 among 6"));
  EXPECT_THAT(sentence_of([&] { list(ones({1})); }),
              HasSubstr("ModuleList has none for one tensor"));
}

TEST(ModuleDict, finds_by_name_and_keeps_the_order) {
  nn::ModuleDict dict{{"b", nn::Linear(2, 2)}, {"a", Relu{}}};
  dict.set("c", Relu{});
  dict.set("b", nn::Linear(5, 5));
  EXPECT_THAT(dict.keys(), ElementsAre("b", "a", "c"));
  EXPECT_EQ(dict.at<nn::Linear>("b").weight.size(0), 5);
  EXPECT_THAT(names_of(dict.named_parameters()), ElementsAre("b.weight", "b.bias"));
  dict.erase("a");
  dict.erase("nobody");
  EXPECT_TRUE(dict.contains("c") && !dict.contains("a"));
  EXPECT_THAT(sentence_of([&] { dict["a"]; }), HasSubstr("no 'a' among its 2 entries: b, c"));
  EXPECT_EQ(numbers_of(dict["c"](full({1}, -2))), Values{0});
  for (const char* name : {"", "a.b"}) {
    EXPECT_THAT(sentence_of([&] { dict.set(name, Relu{}); }), HasSubstr("ModuleDict: '"));
    EXPECT_THAT(sentence_of([&] {
                  nn::ParameterDict{{name, nn::Parameter(ones({1}))}};
                }),
                HasSubstr("cannot name"));
  }
  EXPECT_EQ(dict.size(), 2u);
}

TEST(AnyModule, says_that_its_module_was_moved_away) {
  nn::AnyModule from(Relu{});
  const nn::AnyModule to(std::move(from));
  EXPECT_EQ(numbers_of((*to)(full({1}, -2))), Values{0});
  for (const std::function<void()>& use :
       {std::function<void()>([&] { (*from)(ones({1})); }),
        std::function<void()>([&] { from->parameters(); }),
        std::function<void()>([&] { nn::AnyModule copy(from); })})
    EXPECT_THAT(sentence_of(use), HasSubstr("was moved away"));
  from = to;
  EXPECT_EQ(numbers_of((*from)(full({1}, -2))), Values{0});
}

TEST(ParameterList, is_trained_moved_and_saved) {
  nn::ParameterList list({nn::Parameter(ones({2})), nn::Parameter(ones({3}))});
  list.append(list[0]);
  list.extend(nn::ParameterList({nn::Parameter(ones({4}))}));
  EXPECT_THAT(names_of(list.state_dict()), ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(list.parameters().size(), 3u);
  list.to(f64);
  for (const nn::Parameter& each : list) EXPECT_EQ(each.dtype(), f64);
  EXPECT_THAT(sentence_of([&] { list[4]; }), HasSubstr("no parameter 4 of 4"));
  const nn::ParameterList copy = nn::clone(list);
  EXPECT_TRUE(copy[0].is_same(copy[2]) && !copy[0].shares_storage(list[0]));
}

TEST(ParameterDict, finds_by_name_and_keeps_the_order) {
  nn::ParameterDict dict{{"left", nn::Parameter(ones({2}))}};
  dict.set("right", nn::Parameter(ones({3})));
  EXPECT_THAT(names_of(dict.named_parameters()), ElementsAre("left", "right"));
  EXPECT_TRUE(requires_grad(dict["left"]));
  dict.erase("left");
  EXPECT_THAT(dict.keys(), ElementsAre("right"));
  EXPECT_THAT(sentence_of([&] { dict["left"]; }),
              HasSubstr("no 'left' among its 1 entries: right"));
}

TEST(Modules, of_several_tensors_are_called_through_their_base) {
  struct Weighted : nn::Module {
    using Module::forward;
    std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override {
      return {inputs[0] * inputs[1], inputs.size() > 2 ? inputs[2] : inputs[0]};
    }
  };
  const nn::AnyModule any = Weighted{};
  EXPECT_EQ(any->call_all({full({1}, 3), full({1}, 5)}).size(), 2u);
  EXPECT_EQ(numbers_of(any->call_all({full({1}, 3), full({1}, 5)})[0]), Values{15});
  // One of a single tensor is called so as well, and refuses more.
  const nn::Linear layer(4, 3);
  const Tensor x = rand({2, 4});
  EXPECT_EQ(numbers_of(layer.call_all({x})[0]), numbers_of(layer(x)));
  EXPECT_THAT(sentence_of([&] {
                layer.call_all({x, x});
              }),
              HasSubstr("Linear got 2 tensors and takes 1"));
}

}  // namespace
}  // namespace bp::test
