// needs: cpu reference
// Chains of pointwise operators as one: the same results as one by one, on whatever serves them, and clear errors for
// what cannot be one expression.
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/chain.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::ChainInput;
using bp::ChainStep;
namespace ops = bp::ops;

ChainInput a(std::uint32_t index) {
  return ChainInput::argument(index);
}
ChainInput r(std::uint32_t index) {
  return ChainInput::step(index);
}
ChainInput n(const bp::Scalar& number) {
  return ChainInput::number(number);
}

bp::Chain join(const std::vector<ChainStep>& steps) {
  return bp::join(steps);
}
bp::Tensor call(const bp::Chain& op, const std::vector<bp::Tensor>& tensors) {
  std::vector<bp_value> args;
  for (const bp::Tensor& tensor : tensors) args.push_back(bp::value_of(tensor));
  return bp::call_pointwise(*op, args.data(), static_cast<std::uint32_t>(args.size()));
}

// tanh(relu(x * y + z) - 0.5) * x
std::vector<ChainStep> five_steps() {
  return {{&ops::mul, {a(0), a(1)}},
          {&ops::add, {r(0), a(2)}},
          {&ops::relu, {r(1)}},
          {&ops::sub, {r(2), n(0.5)}},
          {&ops::mul, {r(3), a(0)}}};
}
bp::Tensor one_by_one(const bp::Tensor& x, const bp::Tensor& y, const bp::Tensor& z) {
  return bp::mul(bp::sub(bp::relu(bp::add(bp::mul(x, y), z)), 0.5), x);
}

bp::Tensor numbers(const std::vector<std::int64_t>& shape, bp::Dtype dtype = bp::f32) {
  return bp::cast(bp::randn(shape, bp::f32, bp::host_device()), dtype);
}

TEST(Chain, five_steps_give_the_bits_of_five_calls_from_one_native_kernel) {
  const bp::Chain op = join(five_steps());
  const Served joined(op->name(), "cpu"), mul("mul", "cpu");
  for (const std::int64_t size : {1, 7, 1000, 100003}) {
    const bp::Tensor x = numbers({size}), y = numbers({size}), z = numbers({size});
    const std::string mul_before = mul.since();
    const bp::Tensor result = call(op, {x, y, z});
    EXPECT_EQ(mul.since(), mul_before) << "a step ran by itself";
    expect_same(result, one_by_one(x, y, z));
  }
  EXPECT_EQ(joined.since(), "native 4");
}

TEST(Chain, follows_strides_and_broadcasts_as_its_steps_do) {
  const bp::Chain op = join(five_steps());
  const bp::Tensor x = bp::transpose(numbers({40, 30}), 0, 1), row = numbers({40}),
                   column = numbers({30, 1});
  expect_same(call(op, {x, row, column}), one_by_one(x, row, column));
  expect_same(call(op, {row, x, x}), one_by_one(row, x, x));
}

TEST(Chain, writes_into_an_output_and_in_place) {
  const bp::Chain op = join(five_steps());
  const bp::Tensor x = numbers({500}), y = numbers({500}), z = numbers({500});
  const bp::Tensor expected = one_by_one(x, y, z);
  bp_value args[] = {bp::value_of(x), bp::value_of(y), bp::value_of(z)};
  const bp::Tensor out = bp::empty_tensor({500}, bp::f32, bp::host_device());
  bp::call_pointwise_into(*op, args, 3, out);
  expect_same(out, expected);
  bp::call_pointwise_into(*op, args, 3, z);
  expect_same(z, expected);
}

TEST(Chain, computes_in_every_dtype_that_its_steps_share) {
  const bp::Chain op =
      join({{&ops::mul, {a(0), a(1)}}, {&ops::add, {r(0), a(0)}}, {&ops::sub, {r(1), n(3)}}});
  for (const bp::Dtype dtype : {bp::f64, bp::i64, bp::i8, bp::u8, bp::complex64}) {
    const bp::Tensor x = bp::cast(bp::mul(numbers({300}), 40), dtype),
                     y = bp::cast(bp::mul(numbers({300}), 40), dtype);
    SCOPED_TRACE(bp::name(dtype));
    expect_same(call(op, {x, y}), bp::sub(bp::add(bp::mul(x, y), x), 3));
  }
}

TEST(Chain, rounds_half_precision_once) {
  const bp::Chain op = join({{&ops::mul, {a(0), a(1)}}, {&ops::add, {r(0), a(0)}}});
  const bp::Tensor x = numbers({1000}, bp::f16), y = numbers({1000}, bp::f16);
  const bp::Tensor wide_x = bp::cast(x, bp::f32), wide_y = bp::cast(y, bp::f32);
  expect_same(call(op, {x, y}), bp::cast(bp::add(bp::mul(wide_x, wide_y), wide_x), bp::f16));
}

TEST(Chain, takes_numbers_that_vary_as_arguments) {
  // a0 * a1 + a2 * a0, where a1 and alpha are one number.
  const bp::Chain op = join({{&ops::mul, {a(0), a(0)}}, {&ops::add, {r(0), a(0), a(1)}}});
  EXPECT_NE(std::string(op->schema->text).find("(Tensor a0, Scalar a1) -> Tensor"),
            std::string::npos);
  const bp::Tensor x = numbers({333});
  for (const double number : {1.0, -2.5}) {
    bp_value args[] = {bp::value_of(x), bp::value_of(number)};
    expect_same(bp::call_pointwise(*op, args, 2), bp::add(bp::mul(x, x), x, number));
  }
}

TEST(Chain, a_power_of_integers_is_looked_at_as_by_itself) {
  const bp::Chain op =
      join({{&ops::add, {a(0), a(0)}}, {&ops::pow, {r(0), ChainInput::number_argument(1)}}});
  const bp::Tensor x = bp::cast(numbers({50}), bp::i64);
  bp_value squared[] = {bp::value_of(x), bp::value_of(std::int64_t{2})};
  expect_same(bp::call_chain(op, squared, 2), bp::pow(bp::add(x, x), 2));
  bp_value inverted[] = {bp::value_of(x), bp::value_of(std::int64_t{-1})};
  EXPECT_THROW(bp::call_chain(op, inverted, 2), bp::Error);
  const bp::Chain fixed = join({{&ops::add, {a(0), a(0)}}, {&ops::pow, {r(0), n(-1)}}});
  bp_value given[] = {bp::value_of(x)};
  EXPECT_THROW(bp::call_chain(fixed, given, 1), bp::Error);
}

TEST(Chain, a_comparison_may_be_a_condition_and_the_last_result) {
  const bp::Chain leaky = join(
      {{&ops::gt, {a(0), n(0)}}, {&ops::mul, {a(0), n(0.1)}}, {&ops::where, {r(0), a(0), r(1)}}});
  const bp::Chain inside = join(
      {{&ops::gt, {a(0), n(-1)}}, {&ops::lt, {a(0), a(1)}}, {&ops::logical_and, {r(0), r(1)}}});
  const bp::Chain masked = join({{&ops::mul, {a(1), a(1)}}, {&ops::where, {a(0), r(0), a(1)}}});
  const bp::Tensor x = numbers({2000}), y = numbers({2000});
  expect_same(call(leaky, {x}), bp::where(bp::gt(x, 0), x, bp::mul(x, 0.1)));
  expect_same(call(inside, {x, y}), bp::logical_and(bp::gt(x, -1), bp::lt(x, y)));
  const bp::Tensor mask = bp::gt(y, 0);
  expect_same(call(masked, {mask, x}), bp::where(mask, bp::mul(x, x), x));
}

TEST(Chain, of_logic_alone_computes_in_bools) {
  const bp::Chain op = join({{&ops::logical_not, {a(0)}}, {&ops::logical_or, {r(0), a(1)}}});
  const bp::Tensor x = bp::gt(numbers({100}), 0), y = bp::gt(numbers({100}), 0);
  expect_same(call(op, {x, y}), bp::logical_or(bp::logical_not(x), y));
}

TEST(Chain, the_same_steps_are_the_same_operator) {
  const bp::Chain first = join(five_steps());
  EXPECT_EQ(&*first, &*join(five_steps()));
  std::vector<ChainStep> other = five_steps();
  other[3].inputs[1] = n(0.25);
  EXPECT_NE(&*first, &*join(other));
  bp::Chain found[4];
  std::vector<std::thread> threads;
  for (bp::Chain& each : found)
    threads.emplace_back([&each] {
      each = join({{&ops::exp, {a(0)}}, {&ops::neg, {r(0)}}, {&ops::exp, {r(1)}}});
    });
  for (std::thread& thread : threads) thread.join();
  for (const bp::Chain& each : found) EXPECT_EQ(&*each, &*found[0]);
}

TEST(Chain, of_forty_operations_is_still_one_kernel) {
  std::vector<ChainStep> steps{{&ops::add, {a(0), n(1)}}};
  for (std::uint32_t i = 0; i < 39; ++i)
    steps.push_back({i % 2 ? &ops::add : &ops::mul, {r(i), n(0.5)}});
  const bp::Chain op = join(steps);
  const bp::Tensor x = numbers({5000});
  bp::Tensor expected = bp::add(x, 1);
  for (int i = 0; i < 39; ++i) expected = i % 2 ? bp::add(expected, 0.5) : bp::mul(expected, 0.5);
  const Served served(op->name(), "cpu");
  expect_same(call(op, {x}), expected);
  EXPECT_EQ(served.since(), "native 1");
  steps.push_back({&ops::exp, {r(39)}});
  EXPECT_EQ(error_of([&] { join(steps); }),
            "join: the 41 steps have 41 operations; at most 40 go into one chain: make it two");
}

TEST(Chain, on_a_device_without_kernels_the_host_runs_it_whole) {
  const bp::Chain op = join(five_steps());
  const bp::Tensor x = numbers({64}), y = numbers({64}), z = numbers({64});
  const bp::Device reference = bp::device("reference");
  const Served served(op->name(), "reference");
  const bp::Tensor result = call(
      op, {bp::to_device(x, reference), bp::to_device(y, reference), bp::to_device(z, reference)});
  expect_same(result, one_by_one(x, y, z));
  EXPECT_EQ(served.since(), "host 1");
}

// `partial` has f32 kernels of add and mul, and makes none for expressions.
TEST(Chain, a_backend_with_kernels_for_all_steps_runs_them_one_by_one) {
  bp::Backend& backend = bp::load_plugin(test_plugin("partial"));
  const bp::Device device = backend.devices.front()->device;
  {
    const bp::Chain op = join({{&ops::add, {a(0), a(1)}}, {&ops::add, {r(0), a(0)}}});
    const Served served(op->name(), "partial");
    const bp::Tensor x = counted({2, 3}, device), y = counted({2, 3}, device);
    EXPECT_EQ(values(call(op, {x, y})), (std::vector<float>{0, 3, 6, 9, 12, 15}));
    EXPECT_EQ(served.since(), "decomposed 1");
  }
  bp::unload_plugin(backend);
}

TEST(Chain, made_before_a_plugin_is_loaded_again_it_is_offered_then) {
  const bp::Chain op = join(five_steps());
  bp::unload_plugin(*bp::find_backend("cpu"));
  const bp::Tensor x = numbers({10}), y = numbers({10}), z = numbers({10});
  const Served served(op->name(), "cpu");
  expect_same(call(op, {x, y, z}), one_by_one(x, y, z));
  EXPECT_EQ(served.since(), "native 1");
}

TEST(Chain, takes_a_number_where_a_step_takes_a_tensor_or_a_number) {
  const bp::Chain op = join({{&ops::maximum, {a(0), ChainInput::number_argument(1)}},
                             {&ops::mul, {r(0), ChainInput::number_argument(1)}}});
  const bp::Tensor x = numbers({70});
  for (const double number : {0.0, 0.5}) {
    bp_value args[] = {bp::value_of(x), bp::value_of(number)};
    expect_same(bp::call_chain(op, args, 2), bp::mul(bp::maximum(x, number), number));
  }
  EXPECT_EQ(error_of([] {
              join({{&ops::where, {ChainInput::number_argument(0), a(1), a(2)}}});
            }),
            "join: step 0 (where): 'condition' takes a tensor, not the number of argument 0");
}

bp::Tensor call_as_chain(const bp::Chain& op, const std::vector<bp::Tensor>& tensors) {
  std::vector<bp_value> args;
  for (const bp::Tensor& tensor : tensors) args.push_back(bp::value_of(tensor));
  return bp::call_chain(op, args.data(), static_cast<std::uint32_t>(args.size()));
}

TEST(ChainCall, is_one_kernel_where_there_is_one) {
  const bp::Chain op = join(five_steps());
  const Served served(op->name(), "cpu");
  const bp::Tensor x = numbers({50}), y = numbers({50}), z = numbers({50});
  expect_same(call_as_chain(op, {x, y, z}), one_by_one(x, y, z));
  EXPECT_EQ(served.since(), "native 1");
}

TEST(ChainCall, converts_as_the_steps_do_where_dtypes_differ) {
  const bp::Chain op = join(five_steps());
  const bp::Tensor x = numbers({50}), y = numbers({50}, bp::f64), z = numbers({50}, bp::i32);
  expect_same(call_as_chain(op, {x, y, z}), one_by_one(x, y, z));
  const bp::Chain scaled = join({{&ops::add, {a(0), a(0), a(1)}}, {&ops::neg, {r(0)}}});
  bp_value args[] = {bp::value_of(z), bp::value_of(0.5)};
  EXPECT_EQ(error_of([&] { bp::call_chain(scaled, args, 2); }),
            error_of([&] { bp::neg(bp::add(z, z, 0.5)); }));
}

// `partial` has kernels of add and mul alone. One by one they are called for themselves, and three results of four
// are gone before the last is made.
TEST(ChainCall, steps_are_counted_for_themselves_and_free_what_was_read) {
  bp::Backend& backend = bp::load_plugin(test_plugin("partial"));
  const bp::Device device = backend.devices.front()->device;
  {
    const bp::Chain op = join({{&ops::add, {a(0), a(1)}},
                               {&ops::add, {r(0), a(0)}},
                               {&ops::mul, {r(1), a(1)}},
                               {&ops::add, {r(2), a(0)}}});
    const Served whole(op->name(), "partial"), add("add", "partial");
    const bp::Tensor x = counted({1 << 16}, device), y = counted({1 << 16}, device);
    bp::reset_peak_memory_statistics(device);
    const std::uint64_t before = bp::memory_statistics(device).allocated_bytes;
    const bp::Tensor result = call_as_chain(op, {x, y});
    EXPECT_LE(bp::memory_statistics(device).peak_allocated_bytes, before + 2 * x.nbytes() + 4096);
    EXPECT_EQ(values(result)[2], 14.0f);
    EXPECT_EQ(whole.since(), "not at all");
    EXPECT_EQ(add.since(), "native 3");
  }
  bp::unload_plugin(backend);
}

TEST(Chain, tensors_of_other_dtypes_are_refused_by_name) {
  const bp::Chain op = join({{&ops::mul, {a(0), a(1)}}, {&ops::exp, {r(0)}}});
  const std::string name = op->name();
  const bp::Tensor x = numbers({4}), wide = numbers({4}, bp::f64), whole = numbers({4}, bp::i32);
  EXPECT_EQ(
      error_of([&] {
        call(op, {x, wide});
      }),
      name +
          ": 'a1' is float64, not float32; a chain computes in one dtype: cast first, or call the "
          "operators one by one");
  EXPECT_EQ(error_of([&] {
              call(op, {whole, whole});
            }),
            name +
                ": its steps do not all compute in int32 as they are; cast the tensors first, or "
                "call the operators "
                "one by one");
  const bp::Chain scaled = join({{&ops::add, {a(0), a(0), a(1)}}, {&ops::neg, {r(0)}}});
  bp_value args[] = {bp::value_of(whole), bp::value_of(0.5)};
  EXPECT_EQ(error_of([&] { bp::call_pointwise(*scaled, args, 2); }),
            std::string(scaled->name()) +
                ": the number 'a1' would change the dtype int32 of the tensors; a chain computes "
                "in one dtype: cast first, or call the operators one by one");
  EXPECT_EQ(class_of_error([&] { call(op, {x, numbers({5})}); }), bp::ErrorClass::bad_argument);
}

TEST(Chain, what_is_no_expression_is_refused_with_the_step) {
  EXPECT_EQ(error_of([] { join({}); }), "join: no steps; give at least one");
  EXPECT_EQ(
      error_of([] {
        join({{&ops::exp, {a(0)}}, {&ops::sum, {r(0)}}});
      }),
      "join: step 1: 'sum' is not a pointwise operator with an expression; call it by itself");
  EXPECT_EQ(error_of([] {
              join({{&ops::exp, {a(0)}}, {&ops::exp, {a(0)}}});
            }),
            "join: step 0 (exp): its result is used by no later step; leave it out");
  EXPECT_EQ(error_of([] {
              join({{&ops::exp, {r(0)}}});
            }),
            "join: step 0 (exp): 'input' is the result of step 0, which does not come before it");
  EXPECT_EQ(error_of([] {
              join({{&ops::gt, {a(0), a(1)}}, {&ops::mul, {r(0), a(0)}}});
            }),
            "join: step 1 (mul): 'input' takes values of the chain's dtype, and step 0 (gt) gives "
            "bools; a chain computes in "
            "one dtype: cast between two chains");
  EXPECT_EQ(error_of([] {
              join({{&ops::exp, {a(1)}}});
            }),
            "join: argument 0 of 2 is used by no step; number them from 0 without gaps");
  EXPECT_EQ(error_of([] {
              join({{&ops::exp, {a(8)}}});
            }),
            "join: step 0 (exp): 'input' is argument 8; a chain has at most 8 arguments");
  EXPECT_EQ(
      error_of([] {
        join({{&ops::add, {a(0), n(std::complex<double>(0, 1))}}});
      }),
      "join: step 0 (add): a complex number cannot be part of an expression; make it an argument");
  EXPECT_EQ(error_of([] {
              join({{&ops::add, {a(0), n((std::int64_t{1} << 53) + 1)}}});
            }),
            "join: step 0 (add): the number 9007199254740993 is beyond 2^53, where doubles skip "
            "some; make it an "
            "argument");
  EXPECT_EQ(error_of([] {
              join({{&ops::mul, {a(0)}}});
            }),
            "join: step 0: 'mul' lacks the argument 'other'; give it");
  EXPECT_EQ(
      error_of([] {
        join({{&ops::where, {a(0), a(0), a(1)}}});
      }),
      "join: step 0 (where): 'input' takes values of the chain's dtype, and argument 0 is bools "
      "elsewhere; give them "
      "different arguments");
  EXPECT_EQ(error_of([] {
              join({{&ops::mul, {n(2), n(3)}}});
            }),
            "join: step 0 (mul): all its arguments are numbers; compute it first");
}

}  // namespace
