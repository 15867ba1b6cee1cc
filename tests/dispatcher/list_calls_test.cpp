// needs: cpu reference
// Operators of an application with lists, holes, generators and many results: on every rung, through layers and levels.
#include <gmock/gmock.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/level.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/runtime/generator.hpp>

#include "dispatcher/calls.hpp"

namespace bp::list_calls_test {
namespace {

using namespace bp::test;
using testing::ElementsAre;
using testing::HasSubstr;
using Floats = std::vector<float>;

const bp_tensor* listed(const Call& call, std::uint32_t place, std::uint32_t i) {
  return static_cast<const bp_tensor* const*>(call.args[place].u.ptr)[i];
}
const float* numbers(const bp_tensor* tensor) {
  return reinterpret_cast<const float*>(static_cast<const char*>(tensor->dl.data) +
                                        tensor->dl.byte_offset);
}

// ---- spread(Tensor input, int count): the input, then count tensors of its multiples ----

std::uint32_t count_spread(const Call& call) {
  BP_CHECK(call.args[1].u.i >= 0, "test::spread: count {}; pass 0 or more", call.args[1].u.i);
  return static_cast<std::uint32_t>(call.args[1].u.i);
}
void infer_spread(const Call& call, Inferred& out) {
  const bp_tensor& input = *call.args[0].u.tensor;
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    out.outputs[i].dtype = static_cast<Dtype>(input.dtype);
    out.outputs[i].shape = IntList{input.dl.shape, static_cast<std::size_t>(input.dl.ndim)};
  }
}
void run_spread(const Call& call) {
  const bp_tensor& input = *call.args[0].u.tensor;
  for (std::uint32_t r = 0; r < call.num_results; ++r)
    for (std::int64_t i = 0; i < input.numel; ++i)
      call.results[r].data<float>()[i] = static_cast<float>(r + 1) * numbers(&input)[i];
}
void decompose_spread(const Call& call) {
  const Tensor input = Tensor::share(TensorImpl::of(call.args[0].u.tensor));
  for (std::uint32_t r = 0; r < call.num_results; ++r)
    call.results[r] = mul(input, static_cast<double>(r + 1));
}

// ---- pick(Tensor input, Tensor?[] others): the input, and what is there of the others ----

void run_pick(const Call& call) {
  const bp_tensor& input = *call.args[0].u.tensor;
  for (std::int64_t i = 0; i < input.numel; ++i) {
    float sum = numbers(&input)[i];
    for (std::uint32_t k = 0; k < call.args[1].aux; ++k)
      if (const bp_tensor* other = listed(call, 1, k)) sum += numbers(other)[i];
    call.results[0].data<float>()[i] = sum;
  }
}

// ---- draw(Tensor input, Generator? generator): where its numbers begin ----

void run_draw(const Call& call) {
  const auto& generator = *static_cast<const bp_generator*>(call.args[1].u.ptr);
  for (std::int64_t i = 0; i < call.results[0].numel(); ++i)
    call.results[0].data<float>()[i] = static_cast<float>(100 * generator.seed + generator.offset);
}

Operator& made(const char* schema, const CustomOperator& custom, ApplicationKernel kernel) {
  const std::string_view name = Schema::name_in(schema);
  if (Operator* known = find_operator(name)) return *known;
  Operator& op = register_custom_operator(schema, custom);
  device("cpu");
  if (kernel)
    register_application_kernel(op, *find_backend("cpu"), kernel, set_of(f32),
                                BP_LAYOUT_CONTIGUOUS);
  return op;
}

class ListCalls : public testing::Test {
 protected:
  Operator& spread_ = made("test::spread(Tensor input, int count) -> (Tensor first, Tensor[] rest)",
                           {infer_spread, nullptr, count_spread}, run_spread);
  Operator& in_parts_ =
      made("test::in_parts(Tensor input, int count) -> (Tensor first, Tensor[] rest)",
           {infer_spread, decompose_spread, count_spread}, nullptr);
  Operator& pick_ = made("test::pick(Tensor input, Tensor?[] others) -> Tensor", {}, run_pick);
  Operator& draw_ =
      made("test::draw(Tensor input, Generator? generator=None) -> Tensor", {}, run_draw);

  static std::vector<Tensor> call(Operator& op, const Tensor& input, std::int64_t count) {
    return call_boxed(op, std::vector{value_of(input), value_of(count)});
  }
  Tensor pick(const Tensor& input, const std::vector<Tensor>& others) const {
    const TensorListValue list(others);
    return call_boxed(pick_, std::vector{value_of(input), list.value()})[0];
  }
  Tensor draw(const Tensor& input, Generator* generator = nullptr) const {
    return call_boxed(draw_, std::vector{value_of(input), value_of(generator)})[0];
  }
  static std::uint64_t calls_on(const Operator& op, Rung rung) {
    for (const CallCount& count : call_counts())
      if (count.op == op.name() && count.calls[static_cast<int>(rung)])
        return count.calls[static_cast<int>(rung)];
    return 0;
  }
  static void expect_spread(const std::vector<Tensor>& results, std::size_t count) {
    ASSERT_EQ(results.size(), count + 1);
    for (std::size_t r = 0; r < results.size(); ++r)
      EXPECT_EQ(values(results[r]),
                (Floats{static_cast<float>(r + 1), 2.0f * static_cast<float>(r + 1)}));
  }
};

// ---- The rungs ----

TEST_F(ListCalls, run_by_a_kernel) {
  reset_call_counts();
  for (const std::int64_t count : {0, 1, 3, 4, 9, 100})
    expect_spread(call(spread_, given({1, 2}), count), static_cast<std::size_t>(count));
  EXPECT_EQ(calls_on(spread_, Rung::native), 6u);
  EXPECT_EQ(values(pick(given({1, 2}), {Tensor(), given({10, 20}), Tensor()})), (Floats{11, 22}));
}

TEST_F(ListCalls, run_with_arguments_laid_out_anew) {
  reset_call_counts();
  const Tensor wide = given<float>({1, 9, 2, 9}, {2, 2});
  expect_spread(call(spread_, select(wide, 1, 0), 6), 6);
  EXPECT_EQ(calls_on(spread_, Rung::legalized), 1u);
  EXPECT_EQ(values(pick(given({0, 0}), {Tensor(), select(wide, 1, 1), select(wide, 1, 0)})),
            (Floats{10, 11}));
  EXPECT_EQ(calls_on(pick_, Rung::legalized), 1u);
}

TEST_F(ListCalls, run_by_their_decomposition) {
  reset_call_counts();
  expect_spread(call(in_parts_, given({1, 2}), 7), 7);
  EXPECT_EQ(calls_on(in_parts_, Rung::decomposed), 1u);
}

TEST_F(ListCalls, run_on_the_host) {
  const Device far = device("reference");
  reset_call_counts();
  const std::vector<Tensor> results = call(spread_, given({1, 2}, far), 5);
  expect_spread(results, 5);
  EXPECT_EQ(results[5].device(), far);
  EXPECT_EQ(calls_on(spread_, Rung::host), 1u);
  EXPECT_EQ(values(pick(given({1, 2}, far), {Tensor(), given({10, 20}, far)})), (Floats{11, 22}));
  default_generator(far).set_state({2, 5});
  default_generator(host_device()).set_state({3, 0});
  EXPECT_EQ(values(draw(given({1, 2}, far))), (Floats{205, 205}));
  EXPECT_EQ(default_generator(far).state().offset, 7u);
  EXPECT_EQ(default_generator(host_device()).state().offset, 0u);
}

TEST_F(ListCalls, say_where_there_is_no_rung_left) {
  const PolicyScope on_the_device(Rung::host, Policy::forbid);
  EXPECT_THAT(error_of([&] {
                call(spread_, given({1, 2}, device("reference")), 5);
              }),
              HasSubstr("test::spread: reference:0 has no kernel for test::spread in float32"));
}

TEST_F(ListCalls, give_empty_results_and_meta_tensors) {
  const std::vector<Tensor> empty = call(spread_, given(Floats{}), 5);
  EXPECT_EQ(empty.size(), 6u);
  EXPECT_EQ(to_string(empty[5].shape()), "[0]");
  const std::vector<Tensor> meta = call(spread_, empty_tensor({3}, f32, meta_device), 5);
  EXPECT_EQ(meta[5].device(), meta_device);
  EXPECT_EQ(to_string(meta[5].shape()), "[3]");
}

TEST_F(ListCalls, write_into_given_tensors) {
  std::vector<Tensor> results;
  for (int i = 0; i < 7; ++i) results.push_back(given({0, 0}));
  const Tensor input = given({1, 2});
  bp_value args[] = {value_of(input), value_of(std::int64_t{6})};
  call_many_into(spread_, args, 2, results.data(), 7);
  expect_spread(results, 6);
  results[6] = given({0, 0, 0});
  EXPECT_EQ(error_of([&] { call_many_into(spread_, args, 2, results.data(), 7); }),
            "test::spread: the output has shape [3], the result has [2]; give one of that shape");
  EXPECT_EQ(error_of([&] { call_many_into(spread_, args, 2, results.data(), 6); }),
            "test::spread: 6 outputs are given and there are 7 results; give one for each");
}

// ---- Generators ----

TEST_F(ListCalls, all_generator_arguments_reach_a_kernel_as_where_numbers_begin) {
  Generator own(4);
  own.set_state({4, 20});
  EXPECT_EQ(values(draw(given({1, 2}), &own)), (Floats{420, 420}));
  EXPECT_EQ(own.state().offset, 22u);
  Generator other(device("reference"), 1);
  EXPECT_THAT(
      error_of([&] { draw(given({1}), &other); }),
      HasSubstr("test::draw: the generator belongs to reference:0 and the numbers are drawn on "
                "cpu:0"));
}

// ---- Wrong calls ----

TEST_F(ListCalls, of_wrong_arguments_say_what_is_wrong) {
  EXPECT_EQ(error_of([&] { call(spread_, given({1}), -1); }),
            "test::spread: count -1; pass 0 or more");
  EXPECT_EQ(error_of([&] {
              call_boxed(pick_, std::vector{value_of(given({1})), value_of(1.0)});
            }),
            "test::pick: argument 'others' takes Tensor?[], got float; the schema is "
            "test::pick(Tensor input, Tensor?[] others) -> Tensor");
  EXPECT_EQ(error_of([&] {
              call_boxed(draw_, std::vector{value_of(given({1})), value_of(std::int64_t{3})});
            }),
            "test::draw: argument 'generator' takes Generator or None, got int; the schema is "
            "test::draw(Tensor input, Generator? generator=None) -> Tensor");
  bp_value nowhere{};
  nowhere.tag = BP_GENERATOR;
  EXPECT_EQ(error_of([&] {
              call_boxed(draw_, std::vector{value_of(given({1})), nowhere});
            }),
            "test::draw: argument 'generator' is a Generator at NULL; pass the address of one");
}

TEST_F(ListCalls, need_somebody_who_counts) {
  EXPECT_EQ(
      error_of([] { register_custom_operator("test::uncounted(Tensor input) -> Tensor[]"); }),
      "test::uncounted: nothing says how many tensors its Tensor[] has; give it a count rule; "
      "the schema is test::uncounted(Tensor input) -> Tensor[]");
  EXPECT_THAT(error_of([] {
                register_custom_operator("test::counted(Tensor input) -> Tensor",
                                         {nullptr, nullptr, count_spread});
              }),
              HasSubstr("has a rule for how many tensors a Tensor[] has, and no such result"));
}

// ---- Derivatives ----

TEST_F(ListCalls, without_a_derivative_say_so_in_backward) {
  const Tensor input = set_requires_grad(given({1, 2}));
  EXPECT_THAT(error_of([&] { backward(sum(call(spread_, input, 6)[5])); }),
              HasSubstr("backward through test::spread: its derivative is not known"));
  const Tensor other = set_requires_grad(given({1, 2}));
  EXPECT_THAT(error_of([&] {
                backward(sum(pick(given({1, 2}), {Tensor(), other})));
              }),
              HasSubstr("backward through test::pick: its derivative is not known"));
}

TEST_F(ListCalls, are_differentiated_through_their_decomposition) {
  const Tensor input = set_requires_grad(given({1, 2}));
  const std::vector<Tensor> results = call(in_parts_, input, 6);
  backward(sum(mul(results[2], results[6])));  // 21 x^2
  EXPECT_EQ(values(grad(input)), (Floats{42, 84}));
}

// ---- Layers and levels ----

thread_local std::vector<std::string> seen;

void see(const Call& call) {
  std::string holes;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag != BP_TENSOR_LIST) continue;
    for (std::uint32_t k = 0; k < call.args[i].aux; ++k) holes += listed(call, i, k) ? 'x' : '-';
  }
  seen.push_back(fmt::format("{} {} {}", call.op.name(), call.num_results, holes));
}
void watch_layer(const Call& call, const Level*) {
  see(call);
  redispatch_below(Layer::profile, call);
}
void watch_level(const Call& call, const Level*) {
  see(call);
  dispatch(call);
}

TEST_F(ListCalls, are_seen_whole_by_layers) {
  set_layer_fallback(Layer::profile, watch_layer);
  seen.clear();
  {
    const IncludeLayers included(key_of(Layer::profile));
    expect_spread(call(spread_, given({1, 2}), 6), 6);
    EXPECT_EQ(values(pick(given({1, 2}), {Tensor(), given({1, 1})})), (Floats{2, 3}));
  }
  set_layer_fallback(Layer::profile, nullptr);
  EXPECT_THAT(seen, ElementsAre("test::spread 7 ", "test::pick 1 -x"));
}

TEST_F(ListCalls, are_seen_whole_by_levels) {
  constexpr auto layer = static_cast<Layer>(44);
  set_layer_fallback(layer, watch_level);
  seen.clear();
  {
    const Level level(layer, nullptr, Sees::all);
    expect_spread(call(spread_, given({1, 2}), 6), 6);
    EXPECT_EQ(values(pick(given({1, 2}), {Tensor(), given({1, 1})})), (Floats{2, 3}));
    Generator own(4);
    EXPECT_EQ(values(draw(given({1}), &own)), Floats{400});
  }
  set_layer_fallback(layer, nullptr);
  EXPECT_THAT(seen, ElementsAre("test::spread 7 ", "test::pick 1 -x", "test::draw 1 "));
}

}  // namespace
}  // namespace bp::list_calls_test
