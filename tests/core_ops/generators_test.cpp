// needs: cpu reference
// Draws from a generator of the caller's own: the numbers of a device seeded alike, which stays where it is.
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensors.hpp>

namespace bp::generators_test {
namespace {

using Draws = std::vector<double>;

// Each row that draws, as a function of a generator.
std::map<std::string, std::function<Tensor(Generator*)>> draws_of_rows() {
  const Tensor halves = full({5}, 0.5, f64);
  return {
      {"rand", [](Generator* g) { return rand({5}, f64, {}, g); }},
      {"randn", [](Generator* g) { return randn({5}, f64, {}, g); }},
      {"randint", [](Generator* g) { return randint(0, 1000, {5}, f64, {}, g); }},
      {"wide randint",
       [](Generator* g) { return randint(0, std::int64_t{1} << 40, {5}, f64, {}, g); }},
      {"randperm", [](Generator* g) { return randperm(9, f64, {}, g); }},
      {"bernoulli", [=](Generator* g) { return bernoulli(full({64}, 0.5, f64), {}, g); }},
      {"multinomial", [=](Generator* g) { return to(multinomial(halves, 5, true, g), f64); }},
      {"race", [=](Generator* g) { return to(multinomial(ones({64}, f64), 9, false, g), f64); }},
      {"normal", [=](Generator* g) { return normal(halves, halves, g); }},
      {"normal by number", [=](Generator* g) { return normal(0.0, halves, g); }},
      {"normal of a size", [](Generator* g) { return normal(0, 1, {5}, f64, {}, g); }},
  };
}

TEST(Generators, draws_are_those_of_the_device_seeded_alike_and_leave_it_alone) {
  Generator& of_device = default_generator(host_device());
  for (const auto& [row, draw] : draws_of_rows()) {
    manual_seed(17);
    const Draws expected = to_vector<double>(draw(nullptr));
    const std::uint64_t end = of_device.state().offset;
    manual_seed(5);
    Generator own(17);
    EXPECT_EQ(to_vector<double>(draw(&own)), expected) << row;
    EXPECT_EQ(own.state().offset, end) << row;
    EXPECT_EQ(of_device.state().offset, 0u) << row;
    EXPECT_NE(to_vector<double>(draw(&own)), expected) << row;
  }
}

TEST(Generators, draw_the_same_on_every_device) {
  Generator here(3), there(3);
  const Device place = device("reference");
  EXPECT_EQ(to_vector<double>(rand({7}, f64, host_device(), &here)),
            to_vector<double>(to(rand({7}, f64, place, &there), host_device())));
  EXPECT_EQ(here.state().offset, there.state().offset);
}

TEST(Generators, of_another_device_are_refused) {
  Generator there(device("reference"), 3);
  EXPECT_EQ(*there.device(), device("reference"));
  const auto sentence = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(
      sentence([&] { rand({2}, f32, host_device(), &there); }),
      "rand: the generator belongs to reference:0 and the numbers are drawn on cpu:0; pass one of "
      "that device, or one made without a device");
  for (const auto& [row, draw] : draws_of_rows())
    EXPECT_NE(sentence([&] { draw(&there); }), "no error") << row;
  EXPECT_EQ(there.state().offset, 0u);
}

TEST(Generators, are_not_moved_by_meta_tensors) {
  Generator own(3);
  rand({7}, f32, meta_device, &own);
  EXPECT_EQ(own.state().offset, 0u);
}

TEST(Generators, pass_through_boxed_calls) {
  Generator own(3), again(3);
  const Dims size{4};
  bp_value args[] = {value_of(IntList(size)), {}, {}, value_of(&own)};
  const Tensor boxed = call_boxed(*find_operator("rand"), args)[0];
  EXPECT_EQ(to_vector<float>(boxed), to_vector<float>(rand({4}, {}, {}, &again)));
  // Where the numbers were taken already, they begin there.
  bp_generator taken{{sizeof(bp_generator), BP_TYPE_GENERATOR, nullptr}, 3, 0};
  args[3] = {BP_GENERATOR, 0, {}};
  args[3].u.ptr = &taken;
  EXPECT_EQ(to_vector<float>(call_boxed(*find_operator("rand"), args)[0]), to_vector<float>(boxed));
  EXPECT_EQ(taken.offset, 0u);
}

TEST(Generators, draw_into_tensors_in_place) {
  const Tensor target = zeros({6}, f64);
  Generator own(3), again(3);
  EXPECT_TRUE(uniform_(target, -1, 1, &own).is_same(target));
  EXPECT_EQ(to_vector<double>(target),
            to_vector<double>(sub(mul(rand({6}, f64, {}, &again), 2), 1)));
  normal_(target, 5, 2, &own);
  EXPECT_EQ(to_vector<double>(target), to_vector<double>(normal(5, 2, {6}, f64, {}, &again)));
  bernoulli_(target, 0.5, &own);
  EXPECT_EQ(to_vector<double>(target), to_vector<double>(bernoulli(zeros({6}, f64), 0.5, &again)));
  EXPECT_EQ(own.state().offset, again.state().offset);
  const Tensor flags = zeros({64}, boolean);
  EXPECT_TRUE(item<bool>(any(bernoulli_(flags, 1))));
  const Tensor row = zeros({2, 3}, f64);
  normal_(select(row, 0, 1));
  EXPECT_EQ(to_vector<double>(select(row, 0, 0)), (Draws{0, 0, 0}));
}

TEST(Generators, what_was_drawn_in_place_is_a_constant) {
  const Tensor leaf = set_requires_grad(ones({3}, f64));
  const Tensor product = mul(leaf, 2);
  uniform_(product);
  backward(sum(product));
  EXPECT_FALSE(grad(leaf).defined());  // zero, as of what copy_ wrote over
  EXPECT_THROW(normal_(leaf), Error);
  EXPECT_THROW(normal_(Tensor()), Error);
  EXPECT_THROW(uniform_(product, 2, 1), Error);
  EXPECT_THROW(bernoulli_(product, 2), Error);
}

}  // namespace
}  // namespace bp::generators_test
