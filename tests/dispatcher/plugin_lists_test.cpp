// needs: cpu
// Operators of a plugin in C11 with lists, holes, generators and many results: called, differentiated, captured, saved.
#include <gmock/gmock.h>

#include <backplane/capture/capture.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/tracing/saved_call.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;
using bp::value_of;
using testing::HasSubstr;
using Floats = std::vector<float>;

class PluginLists : public testing::Test {
 protected:
  bp::Device device_ = test_device("lists");

  Tensor made(const Floats& numbers) const { return given(numbers, device_); }
  Tensor leaf(const Floats& numbers) const { return bp::set_requires_grad(made(numbers)); }
  static std::vector<Tensor> six(const Tensor& input) {
    return bp::call_boxed("lists::six", {value_of(input)});
  }
  static std::vector<Tensor> cut(const Tensor& input, std::int64_t size) {
    return bp::call_boxed("lists::cut", {value_of(input), value_of(size)});
  }
  static Tensor weigh(const Tensor& input, const std::vector<Tensor>& others) {
    const bp::TensorListValue list(others);
    return bp::call_boxed("lists::weigh", {value_of(input), list.value()})[0];
  }
  static Tensor noise(const Tensor& input, bp::Generator* generator = nullptr) {
    return bp::call_boxed("lists::noise", {value_of(input), value_of(generator)})[0];
  }
  static Floats gradient(const Tensor& output, const Tensor& input) {
    return values(bp::autograd::grad({bp::sum(output)}, {input})[0]);
  }
};

// ---- Many results ----

TEST_F(PluginLists, six_results_come_and_their_gradients_go_back) {
  const Tensor input = leaf({1, 2});
  const std::vector<Tensor> results = six(input);
  ASSERT_EQ(results.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto times = static_cast<float>(i + 1);
    EXPECT_EQ(values(bp::detach(results[i])), (Floats{times, 2 * times}));
  }
  EXPECT_EQ(gradient(results[4], input), (Floats{5, 5}));
  const std::vector<Tensor> again = six(input);
  EXPECT_EQ(gradient(bp::add(again[1], again[5]), input), (Floats{8, 8}));
}

TEST_F(PluginLists, six_results_are_differentiated_twice) {
  const Tensor input = leaf({1, 2});
  const std::vector<Tensor> results = six(input);
  const Tensor total = bp::sum(bp::mul(bp::mul(results[2], results[5]), results[0]));  // 18 x^3
  const Tensor first = bp::autograd::grad({total}, {input}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values(bp::detach(first)), (Floats{54, 216}));
  EXPECT_EQ(gradient(first, input), (Floats{108, 216}));
}

TEST_F(PluginLists, six_results_are_written_to_given_tensors) {
  std::vector<Tensor> results;
  for (int i = 0; i < 6; ++i) results.push_back(made({0, 0}));
  const Tensor input = made({1, 2});
  bp_value args[] = {value_of(input)};
  bp::call_many_into(*bp::find_operator("lists::six"), args, 1, results.data(), 6);
  EXPECT_EQ(values(results[5]), (Floats{6, 12}));
}

// ---- Lists of results ----

TEST_F(PluginLists, the_rule_says_how_many_tensors_a_list_has) {
  const std::vector<Tensor> parts = cut(made({1, 2, 3, 4, 5}), 2);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(values(parts[0]), Floats{15});
  EXPECT_EQ(values(parts[2]), (Floats{3, 4}));
  EXPECT_EQ(values(parts[3]), Floats{5});
}

TEST_F(PluginLists, a_list_may_be_longer_than_any_room_that_the_host_starts_with) {
  const std::vector<Tensor> parts = cut(made(Floats(300, 1)), 1);
  ASSERT_EQ(parts.size(), 301u);
  EXPECT_EQ(values(parts[0]), Floats{300});
  EXPECT_EQ(values(parts[300]), Floats{1});
}

TEST_F(PluginLists, gradients_of_a_list_come_as_one_argument) {
  const Tensor input = leaf({1, 2, 3});
  std::vector<Tensor> parts = cut(input, 2);
  EXPECT_EQ(gradient(parts[2], input), (Floats{0, 0, 1}));  // the others' are zero
  parts = cut(input, 2);
  const Tensor loss = bp::add(bp::mul(parts[0], 10), bp::sum(bp::mul(parts[1], 3)));
  EXPECT_EQ(gradient(loss, input), (Floats{13, 13, 10}));
}

TEST_F(PluginLists, lists_are_differentiated_twice) {
  const Tensor input = leaf({1, 2, 3});
  const std::vector<Tensor> parts = cut(input, 2);
  const Tensor total = bp::add(bp::mul(parts[0], parts[0]), bp::sum(bp::mul(parts[1], parts[1])));
  const Tensor first = bp::autograd::grad({bp::sum(total)}, {input}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values(bp::detach(first)), (Floats{14, 16, 12}));
  EXPECT_EQ(gradient(bp::select(first, 0, 0), input), (Floats{4, 2, 2}));
}

TEST_F(PluginLists, wrong_lists_of_results_are_refused) {
  EXPECT_EQ(error_of([&] {
              cut(made({1, 2}), 0);
            }),
            "lists::cut: pieces of no elements; pass a positive size (shape rule of lists)");
  EXPECT_EQ(error_of([&] { bp::call_boxed("lists::endless", {value_of(made({1}))}); }),
            "lists::endless: the shape rule of lists gives more than 262144 results; it must leave "
            "out missing ones");
}

// ---- Lists with holes ----

TEST_F(PluginLists, holes_arrive_as_null) {
  EXPECT_EQ(values(weigh(made({1, 1}), {Tensor(), made({10, 20}), Tensor(), made({1, 2})})),
            (Floats{25, 49}));
  EXPECT_EQ(values(weigh(made({1, 1}), {})), (Floats{1, 1}));
  EXPECT_EQ(values(weigh(made({1, 1}), {Tensor(), Tensor()})), (Floats{1, 1}));
}

TEST_F(PluginLists, what_stands_around_holes_gets_its_gradient) {
  const Tensor input = leaf({1, 1}), other = leaf({10, 20}), last = leaf({1, 2});
  const Tensor result = weigh(input, {Tensor(), other, Tensor(), last});
  const std::vector<Tensor> found = bp::autograd::grad({bp::sum(result)}, {last, input, other});
  EXPECT_EQ(values(found[0]), (Floats{4, 4}));
  EXPECT_EQ(values(found[1]), (Floats{1, 1}));
  EXPECT_EQ(values(found[2]), (Floats{2, 2}));
}

TEST_F(PluginLists, tensors_of_a_list_with_holes_are_made_as_the_kernel_wants_them) {
  const Tensor wide = bp::reshape(made({1, 2, 3, 4}), {2, 2});
  const Tensor column = bp::select(wide, 1, 1);
  EXPECT_EQ(values(weigh(made({0, 0}), {Tensor(), column})), (Floats{4, 8}));
}

TEST_F(PluginLists, a_hole_where_none_is_allowed_is_refused) {
  const std::vector<Tensor> pieces{made({1}), Tensor()};
  const bp::TensorListValue list(pieces);
  EXPECT_EQ(error_of([&] {
              bp::call_boxed("lists::cut_back", {value_of(made({1})), list.value()});
            }),
            "lists::cut_back: tensor 1 of 'pieces' is undefined; give it a value first");
}

// ---- Generators ----

TEST_F(PluginLists, a_generator_is_moved_on_and_the_devices_own_stays) {
  bp::default_generator(device_).set_state({1, 5});
  bp::Generator generator(7);
  EXPECT_EQ(values(noise(made({1, 1, 1}), &generator)), (Floats{700, 701, 702}));
  EXPECT_EQ(generator.state().offset, 3u);  // a step for each element
  EXPECT_EQ(values(noise(made({1}), &generator)), Floats{703});
  EXPECT_EQ(bp::default_generator(device_).state().offset, 5u);
}

TEST_F(PluginLists, without_a_generator_the_devices_own_is_moved_on) {
  bp::default_generator(device_).set_state({1, 5});
  EXPECT_EQ(values(noise(made({1, 1}))), (Floats{105, 106}));
  EXPECT_EQ(bp::default_generator(device_).state().offset, 7u);
  EXPECT_EQ(values(bp::call_boxed("lists::noise", {value_of(made({1}))})[0]), Floats{107});
}

TEST_F(PluginLists, a_generator_of_another_device_is_refused) {
  EXPECT_EQ(
      error_of([&] { noise(made({1}), &bp::default_generator(bp::host_device())); }),
      "lists::noise: the generator belongs to cpu:0 and the numbers are drawn on lists:0; pass one "
      "of that device, or one made without a device");
  bp::Generator own(device_, 2);
  EXPECT_EQ(values(noise(made({1}), &own)), Floats{200});
}

TEST_F(PluginLists, backward_draws_what_forward_drew) {
  bp::Generator generator(3);
  generator.set_state({3, 10});
  const Tensor input = leaf({1, 1});
  const Tensor result = noise(input, &generator);
  noise(made({1, 1}), &generator);  // others draw in between
  EXPECT_EQ(gradient(result, input), (Floats{310, 311}));
  EXPECT_EQ(generator.state().offset, 14u);
}

// ---- What keeps calls ----

TEST_F(PluginLists, a_recording_keeps_lists_holes_generators_and_all_results) {
  const Tensor input = made({1, 2, 3}), other = made({1, 1, 1});
  std::vector<Tensor> many, parts;
  Tensor weighed, noisy;
  bp::default_generator(device_).set_state({1, 5});
  bp::Recording recording = bp::capture(device_, [&] {
    many = six(input);
    parts = cut(input, 2);
    weighed = weigh(input, {Tensor(), other});
    noisy = noise(other);
  });
  EXPECT_EQ(recording.num_calls(), 4u);
  for (const float start : {4.0f, 7.0f}) {
    bp::copy_into(input, made({start, start + 1, start + 2}));
    recording.replay();
    EXPECT_EQ(values(many[5]), (Floats{6 * start, 6 * start + 6, 6 * start + 12}));
    EXPECT_EQ(values(parts[2]), Floats{start + 2});
    EXPECT_EQ(values(weighed), (Floats{start + 2, start + 3, start + 4}));
    EXPECT_EQ(values(noisy), (Floats{105, 106, 107}));
  }
  EXPECT_EQ(bp::default_generator(device_).state().offset, 8u);
}

bp::tracing::SavedCall through_a_file(const bp::tracing::SavedCall& call) {
  const std::string file = testing::TempDir() + "lists.call";
  bp::tracing::write_call(call, file);
  return bp::tracing::read_call(file);
}

TEST_F(PluginLists, a_saved_call_is_repeated_with_its_holes_and_its_numbers) {
  const Tensor input = made({1, 2, 3}), other = made({1, 1, 1});
  const std::vector<Tensor> others{Tensor(), other};
  const bp::TensorListValue list(others);
  bp_value weighs[] = {value_of(input), list.value()};
  std::vector<Tensor> results(1);
  bp::tracing::SavedCall saved = bp::tracing::save_call(
      {*bp::find_operator("lists::weigh"), weighs, 2, results.data(), 1}, device_);
  EXPECT_EQ(values(bp::tracing::repeat_call(through_a_file(saved), device_)[0]), (Floats{3, 4, 5}));

  bp_value cuts[] = {value_of(input), value_of(std::int64_t{2})};
  results.resize(3);
  saved = bp::tracing::save_call({*bp::find_operator("lists::cut"), cuts, 2, results.data(), 3},
                                 device_);
  EXPECT_EQ(values(bp::tracing::repeat_call(through_a_file(saved), device_)[2]), Floats{3});
  saved.results.pop_back();
  EXPECT_EQ(error_of([&] { bp::tracing::repeat_call(saved, device_); }),
            "lists::cut: 2 results are saved, and the operator has 3; save the call again");

  bp_generator taken{{sizeof(bp_generator), BP_TYPE_GENERATOR, nullptr}, 4, 20};
  bp_value noises[] = {value_of(other), {BP_GENERATOR, 0, {}}};
  noises[1].u.ptr = &taken;
  results.resize(1);
  saved = bp::tracing::save_call({*bp::find_operator("lists::noise"), noises, 2, results.data(), 1},
                                 device_);
  EXPECT_EQ(values(bp::tracing::repeat_call(through_a_file(saved), device_)[0]),
            (Floats{420, 421, 422}));
}

}  // namespace
