// needs: cpu reference
// A module's values as a dict, and back.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

std::vector<Values> all_of(const nn::Module& module) {
  std::vector<Values> all;
  for (const auto& [name, tensor] : module.state_dict()) all.push_back(numbers_of(tensor));
  return all;
}

TEST(StateDict, keeps_the_order_and_finds_by_name) {
  const Tensor one = ones({1}), two = full({1}, 2);
  nn::StateDict dict{{"b", one}, {"a", one}};
  dict.set("c", one);
  dict.set("b", two);
  EXPECT_THAT(names_of(dict), ElementsAre("b", "a", "c"));
  EXPECT_TRUE(dict.at("b").is_same(two));
  dict.erase("b");
  dict.erase("nobody");
  EXPECT_THAT(names_of(dict), ElementsAre("a", "c"));
  EXPECT_TRUE(dict.contains("c") && dict.at("c").is_same(one));
  EXPECT_FALSE(dict.contains("b"));
  EXPECT_THAT(sentence_of([&] { dict.at("b"); }), HasSubstr("no 'b' among the 2 entries"));
}

TEST(StateDict, has_parameters_and_persistent_buffers_detached_in_the_modules_memory) {
  const nn::Sequential net(Counting{}, nn::Linear(3, 2));
  const nn::StateDict dict = net.state_dict();
  EXPECT_THAT(names_of(dict), ElementsAre("0.scale", "0.num_seen", "1.weight", "1.bias"));
  EXPECT_FALSE(requires_grad(dict.at("0.scale")));
  EXPECT_TRUE(dict.at("0.scale").shares_storage(net.parameters()[0]));
  fill_(dict.at("0.scale"), 7);
  EXPECT_EQ(numbers_of(net.parameters()[0]), (Values{7, 7, 7}));
}

TEST(StateDict, loads_into_another_module_in_place) {
  const Net from;
  Net to_net;
  const Tensor weight = to_net.hidden.weight, memory = detach(weight);
  const nn::IncompatibleKeys keys = to_net.load_state_dict(from.state_dict());
  EXPECT_TRUE(keys.missing.empty() && keys.unexpected.empty());
  EXPECT_EQ(all_of(to_net), all_of(from));
  EXPECT_TRUE(to_net.hidden.weight.is_same(weight) && weight.shares_storage(memory));
  EXPECT_FALSE(weight.shares_storage(from.hidden.weight));
  EXPECT_TRUE(requires_grad(weight) && is_leaf(weight));
}

TEST(StateDict, loads_from_another_device_and_dtype) {
  Net from, to_net;
  from.to(device("reference:0"), f64);
  to_net.load_state_dict(from.state_dict());
  EXPECT_EQ(to_net.hidden.weight.dtype(), f32);
  EXPECT_EQ(to_net.hidden.weight.device(), device("cpu"));
  EXPECT_EQ(all_of(to_net), all_of(from));
}

TEST(StateDict, writes_nothing_of_a_dict_that_does_not_fit) {
  Net net;
  const std::vector<Values> before = all_of(net);
  const auto copies = [&](const nn::StateDict& dict) {
    nn::StateDict all;
    for (const auto& [name, tensor] : dict) all.set(name, zeros_like(tensor));
    return all;
  };
  const auto sentence = [&](const nn::StateDict& dict, bool strict = true) {
    const std::string said = sentence_of([&] { net.load_state_dict(dict, strict); });
    EXPECT_EQ(all_of(net), before) << said;
    return said;
  };
  nn::StateDict short_one = copies(net.state_dict());
  short_one.erase("hidden.bias");
  short_one.set("extra.weight", ones({1}));
  EXPECT_THAT(sentence(short_one),
              testing::AllOf(HasSubstr("missing in the dict: hidden.bias"),
                             HasSubstr("unknown to the module: extra.weight")));

  nn::StateDict misshapen = copies(net.state_dict());
  misshapen.set("output.weight", zeros({3, 2}));
  const std::string both = "'output.weight' has shape [2, 3] in the module and [3, 2] in the dict";
  EXPECT_THAT(sentence(misshapen), HasSubstr(both));
  EXPECT_THAT(sentence(misshapen, false), HasSubstr(both));

  nn::StateDict complex = copies(net.state_dict());
  complex.set("hidden.bias", zeros({3}, complex64));
  EXPECT_THAT(sentence(complex), HasSubstr("'hidden.bias' is float32 in the module and complex64"));
  complex.set("hidden.bias", {});
  EXPECT_THAT(sentence(complex), HasSubstr("'hidden.bias' is undefined in the dict"));
  complex.set("hidden.bias", zeros({3}, f32, meta_device));
  EXPECT_THAT(sentence(complex), HasSubstr("meta has no values"));
}

TEST(StateDict, loads_what_is_in_both_when_not_strict) {
  Net net;
  const Values weight = numbers_of(net.output.weight);
  const nn::IncompatibleKeys keys = net.load_state_dict(
      {{"hidden.bias", full({3}, 7)}, {"hidden.weight", ones({3, 4})}, {"other", ones({1})}},
      false);
  EXPECT_THAT(keys.missing, ElementsAre("output.weight"));
  EXPECT_THAT(keys.unexpected, ElementsAre("other"));
  EXPECT_EQ(numbers_of(net.hidden.bias), (Values{7, 7, 7}));
  EXPECT_EQ(numbers_of(net.output.weight), weight);
}

TEST(StateDict, of_tied_weights_has_both_names) {
  Tied net;
  EXPECT_THAT(names_of(net.named_parameters()), ElementsAre("encoder.weight", "decoder.bias"));
  EXPECT_THAT(names_of(net.state_dict()),
              ElementsAre("encoder.weight", "decoder.weight", "decoder.bias"));
}

}  // namespace
}  // namespace bp::test
