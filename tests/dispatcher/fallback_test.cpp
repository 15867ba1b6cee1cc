// needs: cpu reference
// Devices without kernels: what they give is what the cpu gives, bit for bit, and it lies on the device.
#include <functional>
#include <gtest/gtest.h>

#include "dispatcher/calls.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;
using Tensors = std::vector<Tensor>;

// ---- The same numbers ----

struct Inputs {
  Tensor a, b;       // f32 [4, 6], of both signs
  Tensor positive;   // f32 [4, 6]
  Tensor row;        // f32 [6]
  Tensor cube, fit;  // f32 [2, 3, 4], [2, 4, 5]
  Tensor whole;      // i64 [4, 6]
  Tensor index;      // i64 [3], below 4
  Tensor where;      // i64 [4, 6], below 4
  Tensor mask;       // bool [4, 6]
  Tensor half;       // f16 [4, 6]
  Tensor small;      // i8 [4, 6]
};

Inputs make_inputs() {
  std::vector<float> a(24), b(24), positive(24);
  std::vector<std::int64_t> whole(24), where(24);
  for (std::size_t i = 0; i < 24; ++i) {
    a[i] = static_cast<float>((i * 7) % 24) - 11.5f;
    b[i] = 0.25f * static_cast<float>((i * 5) % 24) - 2.0f;
    positive[i] = 0.1f + static_cast<float>((i * 11) % 24);
    whole[i] = static_cast<std::int64_t>((i * 13) % 7) - 3;
    where[i] = static_cast<std::int64_t>((i * 3) % 4);
  }
  const std::vector<std::int64_t> shape = {4, 6};
  Inputs in;
  in.a = given(a, shape);
  in.b = given(b, shape);
  in.positive = given(positive, shape);
  in.row = counted({6});
  in.cube = counted({2, 3, 4});
  in.fit = counted({2, 4, 5});
  in.whole = given(whole, shape);
  in.index = given<std::int64_t>({2, 0, 3}, {3});
  in.where = given(where, shape);
  in.mask = bp::gt(in.a, 0);
  in.half = bp::cast(in.a, bp::f16);
  in.small = bp::cast(in.whole, bp::i8);
  return in;
}

Tensors step_of_lists(const Inputs& in) {
  const Tensors all{bp::clone(in.a), bp::clone(in.row)}, means{neg(in.b), neg(in.row)};
  const Tensors squares{bp::clone(in.positive), square(in.row)};
  const Tensor step = select(select(in.positive, 0, 0), 0, 1);
  bp::_fused_adamw_(all, {in.b, in.row}, means, squares, {}, {step, step}, 0.125, 0.75, 0.875, 0.25,
                    1e-3, false, false);
  return {all[0], all[1], means[0], means[1], squares[0], squares[1]};
}

template <class F> Inputs map(const Inputs& in, F&& f) {
  return {f(in.a),     f(in.b),     f(in.positive), f(in.row),  f(in.cube), f(in.fit),
          f(in.whole), f(in.index), f(in.where),    f(in.mask), f(in.half), f(in.small)};
}

// The same values under other strides: every second element of a longer tensor.
Tensor spread(const Tensor& tensor) {
  std::vector<std::int64_t> shape = tensor.shape().to_vector();
  shape.push_back(2);
  const Tensor room = empty_tensor(shape, tensor.dtype(), tensor.device());
  const Tensor every_second = bp::select(room, -1, 1);
  copy_into(every_second, tensor);
  return every_second;
}

struct OpCase {
  const char* name;
  std::function<Tensors(const Inputs&)> run;
};

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> all = {
      {"add", [](const Inputs& in) { return Tensors{add(in.a, in.b, 2)}; }},
      {"add_a_row", [](const Inputs& in) { return Tensors{add(in.a, in.row)}; }},
      {"add_a_number",
       [](const Inputs& in) {
         return Tensors{add(in.a, 1.5), sub(2, in.a)};
       }},
      {"add_promotes",
       [](const Inputs& in) {
         return Tensors{add(in.whole, in.a), add(in.half, in.a)};
       }},
      {"add_small_integers", [](const Inputs& in) { return Tensors{add(in.small, in.small)}; }},
      {"mul_div",
       [](const Inputs& in) {
         return Tensors{mul(in.a, in.b), div(in.a, in.positive)};
       }},
      {"div_of_integers", [](const Inputs& in) { return Tensors{div(in.whole, 2)}; }},
      {"functions",
       [](const Inputs& in) {
         return Tensors{exp(in.b),     log(in.positive), sqrt(in.positive), bp::tanh(in.b),
                        sigmoid(in.b), relu(in.a),       neg(in.a),         abs(in.a),
                        sin(in.b),     cos(in.b),        floor(in.b)};
       }},
      {"functions_of_halves",
       [](const Inputs& in) {
         return Tensors{bp::tanh(in.half), neg(in.half)};
       }},
      {"maximum_where",
       [](const Inputs& in) {
         return Tensors{maximum(in.a, in.b), minimum(in.a, in.b), where(in.mask, in.a, in.b),
                        where(in.mask, 1.0, in.b)};
       }},
      {"comparisons",
       [](const Inputs& in) {
         return Tensors{lt(in.a, in.b),  le(in.a, in.b),  gt(in.a, 0),         ge(in.a, in.b),
                        eq(in.whole, 0), ne(in.whole, 0), logical_not(in.mask)};
       }},
      {"cast_copy",
       [](const Inputs& in) {
         return Tensors{cast(in.a, bp::i32), copy(in.a), cast(in.whole, bp::f64)};
       }},
      {"sum_over_axes",
       [](const Inputs& in) {
         return Tensors{sum(in.cube), sum(in.cube, 1), sum(in.cube, {0, 2}, true), sum(in.whole, 0),
                        sum(in.mask)};
       }},
      {"mean_max_min_argmax",
       [](const Inputs& in) {
         return Tensors{mean(in.a, 1), bp::max(in.a, 0), bp::min(in.cube, {0, 1}), argmax(in.a),
                        argmax(in.a, 1, true)};
       }},
      {"matmul",
       [](const Inputs& in) {
         return Tensors{matmul(in.cube, in.fit), matmul(in.a, in.row),
                        matmul(in.cube, select(in.fit, 0, 0)), matmul(in.row, in.row)};
       }},
      {"softmax",
       [](const Inputs& in) {
         return Tensors{softmax(in.a, 1), log_softmax(in.a, 0)};
       }},
      {"gather",
       [](const Inputs& in) {
         return Tensors{gather(in.a, 0, in.where), index_select(in.a, 0, in.index)};
       }},
      {"scatter_add",
       [](const Inputs& in) { return Tensors{scatter_add(in.a, 0, in.where, in.b)}; }},
      {"cat",
       [](const Inputs& in) {
         return Tensors{bp::cat({in.a, in.b, in.a}, 1), bp::cat({in.whole, in.whole})};
       }},
      {"one_hot",
       [](const Inputs& in) {
         return Tensors{one_hot(in.index, 5), one_hot(in.index)};
       }},
      {"nonzero",
       [](const Inputs& in) {
         return Tensors{nonzero(in.whole), nonzero(in.mask)};
       }},
      {"cumsum",
       [](const Inputs& in) {
         return Tensors{cumsum(in.a, 1), cumsum(in.whole, 0)};
       }},
      {"sort",
       [](const Inputs& in) {
         const bp::SortResult up = bp::sort(in.a), down = bp::sort(in.whole, 0, true);
         return Tensors{up.values, up.indices, down.values, down.indices};
       }},
      {"written_lists", step_of_lists},
      {"views_of_results",
       [](const Inputs& in) {
         const Tensor c = add(transpose(in.a, 0, 1), 1);
         return Tensors{neg(slice(c, 0, 1, 6, 2)), permute(c, {1, 0}), neg(diagonal(c))};
       }},
  };
  return all;
}

class Fallback : public testing::TestWithParam<const char*> {
 protected:
  bp::Device device =
      std::string(GetParam()) == "reference" ? bp::device("reference") : test_device(GetParam());
  const char* name() const { return GetParam(); }
};

void expect_same_all(const Tensors& actual, const Tensors& expected, bp::Device device) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "result " << i);
    EXPECT_EQ(actual[i].device(), device);
    expect_same(actual[i], expected[i]);
  }
}

TEST_P(Fallback, gives_the_numbers_of_the_cpu) {
  const Inputs on_host = make_inputs();
  const Inputs on_device = map(on_host, [&](const Tensor& t) { return to_device(t, device); });
  for (const OpCase& op : op_cases()) {
    SCOPED_TRACE(op.name);
    expect_same_all(op.run(on_device), op.run(on_host), device);
  }
}

TEST_P(Fallback, gives_them_for_inputs_of_any_strides) {
  const Inputs on_host = make_inputs();
  const Inputs on_device =
      map(on_host, [&](const Tensor& t) { return spread(to_device(t, device)); });
  ASSERT_FALSE(on_device.a.is_contiguous());
  for (const OpCase& op : op_cases()) {
    SCOPED_TRACE(op.name);
    expect_same_all(op.run(on_device), op.run(map(on_host, spread)), device);
  }
}

TEST_P(Fallback, keeps_empty_tensors_and_numbers) {
  const Tensor none = empty_tensor({0, 3}, bp::f32, device);
  EXPECT_EQ(to_string(add(none, none).shape()), "[0, 3]");
  EXPECT_EQ(values(sum(none, 0)), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(to_string(nonzero(bp::zeros({3}, bp::f32, device)).shape()), "[0, 1]");
  EXPECT_EQ(values(sum(counted({}, device))), (std::vector<float>{0}));
}

TEST_P(Fallback, makes_new_tensors_on_the_device) {
  EXPECT_EQ(values(bp::ones({2}, bp::f32, device)), (std::vector<float>{1, 1}));
  EXPECT_EQ(values<std::int64_t>(bp::arange(0, 3, 1, bp::i64, device)),
            (std::vector<std::int64_t>{0, 1, 2}));
  bp::manual_seed(7);
  const Tensor here = bp::rand({100}, bp::f32, device);
  EXPECT_EQ(here.device(), device);
  bp::manual_seed(7);
  expect_same(here, bp::rand({100}, bp::f32, bp::host_device()));
}

TEST_P(Fallback, goes_on_after_a_refused_call) {
  const Tensor a = counted({2, 3}, device), b = counted({4}, device);
  EXPECT_EQ(error_of([&] { add(a, b); }),
            "add: shapes [2, 3] and [4] do not broadcast (dimension 1: 3 against 4); make the "
            "sizes equal, "
            "or one of them 1");
  EXPECT_NE(error_of([&] { index_select(a, 0, given<std::int64_t>({5}, {1}, device)); }),
            "no error");
  expect_same(neg(a), neg(counted({2, 3})));
}

TEST_P(Fallback, leaves_nothing_behind) {
  const std::int64_t on_device = bp::num_live_storages(device);
  const std::int64_t on_host = bp::num_live_storages(bp::host_device());
  {
    const Inputs in = map(make_inputs(), [&](const Tensor& t) { return to_device(t, device); });
    for (const OpCase& op : op_cases()) op.run(in);
  }
  bp::synchronize(device);
  EXPECT_EQ(bp::num_live_storages(device), on_device);
  EXPECT_EQ(bp::num_live_storages(bp::host_device()), on_host);
}

INSTANTIATE_TEST_SUITE_P(On, Fallback, testing::Values("memonly", "reference"),
                         [](const auto& device) { return std::string(device.param); });

// ---- Work that is queued ----

class Queued : public testing::Test {
 protected:
  Queued() : device(bp::device("reference")), hooks(reference_hooks()) { bp::synchronize(device); }
  bp::Device device;
  const bp_reference_hooks& hooks;
};

TEST_F(Queued, a_thousand_copies_return_while_nothing_has_begun) {
  const Tensor from = counted({1000}, device);
  std::vector<Tensor> copies;
  for (int i = 0; i < 1000; ++i) copies.push_back(empty_tensor({1000}, bp::f32, device));
  bp::synchronize(device);
  hooks.hold(0);
  for (const Tensor& copy : copies) copy_into(copy, from);
  std::uint64_t pending = 0, allocations = 0, bytes = 0;
  hooks.usage(0, &pending, &allocations, &bytes);
  EXPECT_GE(pending, 1000u);
  EXPECT_FALSE(bp::Stream::current(device).query());
  hooks.release(0);
  bp::synchronize(device);
  hooks.usage(0, &pending, &allocations, &bytes);
  EXPECT_EQ(pending, 0u);
  for (const Tensor& copy : copies) ASSERT_EQ(values(copy)[999], 999);
}

TEST_F(Queued, results_of_the_host_are_queued_as_well) {
  hooks.hold(0);
  std::vector<Tensor> made;
  for (int i = 0; i < 100; ++i) made.push_back(bp::full({10}, i, bp::f32, device));
  hooks.release(0);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(values(made[static_cast<std::size_t>(i)])[9], static_cast<float>(i));
}

TEST_F(Queued, a_late_error_comes_out_once_with_the_operators_name) {
  const std::int64_t living = bp::num_live_storages(device);
  {
    hooks.fail_next(0, BP_INTERNAL);
    const Tensor a = bp::full({10}, 3, bp::f32, device);
    const std::string error = error_of([&] { bp::synchronize(device); });
    EXPECT_EQ(error.substr(0, 24), "synchronize after full: ") << error;
    EXPECT_NE(error.find("device reference:0"), std::string::npos) << error;
    EXPECT_EQ(error_of([&] { bp::synchronize(device); }), "no error");
    EXPECT_EQ(values(add(bp::ones({2}, bp::f32, device), 1)), (std::vector<float>{2, 2}));
  }
  bp::synchronize(device);
  EXPECT_EQ(bp::num_live_storages(device), living);
}

TEST_F(Queued, a_late_error_of_an_input_ends_the_call_that_needs_it) {
  const Tensor a = counted({10}, device);
  hooks.fail_next(0, BP_STREAM_LOST);
  const std::string error = error_of([&] { neg(a); });
  EXPECT_EQ(error.substr(0, 23), "synchronize after neg: ") << error;
  EXPECT_EQ(values(neg(a))[9], -9);
}

// The same on a device that has kernels of its own, whose calls have numbers.
class QueuedKernels : public testing::Test {
 protected:
  QueuedKernels()
      : device(bp::device("reference_primitives")), hooks(reference_hooks("reference_primitives")) {
    bp::synchronize(device);
  }
  bp::Device device;
  const bp_reference_hooks& hooks;
};

TEST_F(QueuedKernels, an_error_passes_to_the_stream_that_waited) {
  const Tensor a = counted({10}, device);
  bp::synchronize(device);
  const bp::Stream first(device), second(device);
  bp::Event event(device);
  hooks.hold(0);
  Tensor b;
  {
    const bp::StreamGuard guard(first);
    hooks.fail_next(0, BP_INTERNAL);
    b = neg(a);
    event.record(first);
    add(b, 1);  // its stream goes on
  }
  event.wait(second);
  hooks.release(0);
  const std::string error = error_of([&] { second.synchronize(); });
  EXPECT_EQ(error.substr(0, 5), "neg: ") << error;
  EXPECT_EQ(error_of([&] { second.synchronize(); }), "no error");
  EXPECT_NE(error_of([&] { first.synchronize(); }), "no error");
  EXPECT_EQ(error_of([&] { bp::synchronize(device); }), "no error");
}

TEST_F(QueuedKernels, an_error_passes_once_from_a_stream_that_is_still_at_work) {
  const Tensor a = counted({10}, device), many = bp::ones({1 << 16}, bp::f32, device);
  bp::synchronize(device);
  const bp::Stream first(device), second(device);
  bp::Event event(device), end(device);
  hooks.hold(0);
  std::vector<Tensor> kept;
  {
    const bp::StreamGuard guard(first);
    hooks.fail_next(0, BP_INTERNAL);
    kept.push_back(neg(a));
    event.record(first);
    for (int i = 0; i < 500; ++i) kept.push_back(add(many, i));
    end.record(first);
  }
  event.wait(second);
  hooks.release(0);
  const std::string error = error_of([&] { second.synchronize(); });
  EXPECT_EQ(error.substr(0, 5), "neg: ") << error;
  EXPECT_EQ(error_of([&] { second.synchronize(); }), "no error");
  EXPECT_FALSE(end.query()) << "the stream was done before it was asked again";
  EXPECT_NE(error_of([&] { first.synchronize(); }), "no error");
  EXPECT_EQ(error_of([&] { bp::synchronize(device); }), "no error");
}

TEST_F(QueuedKernels, a_device_that_is_opened_anew_has_run_no_kernel) {
  neg(counted({10}, device));
  bp::synchronize(device);
  const bp::Backend& backend = *bp::device_record(device).backend;
  const bp::KernelTable* table = bp::find_operator("neg")->tables[backend.number].load();
  ASSERT_NE(table, nullptr);
  ASSERT_NE(table->num_candidates, 0u);
  EXPECT_EQ(table->candidates[0]->ran_on & 1u, 1u);
  bp::empty_cache(device);
  bp::reset_device(device);
  EXPECT_EQ(table->candidates[0]->ran_on & 1u, 0u);
  EXPECT_EQ(values(neg(counted({10}, device)))[9], -9);
}

TEST_F(QueuedKernels, a_late_error_names_the_operator_that_failed_and_not_the_last_one) {
  const Tensor a = counted({10}, device);
  bp::synchronize(device);
  hooks.hold(0);
  hooks.fail_next(0, BP_INTERNAL);
  const Tensor b = neg(a);
  const Tensor c = add(b, 1);
  const Tensor d = empty_tensor({10}, bp::f32, device);
  copy_into(d, c);
  hooks.release(0);
  const std::string error = error_of([&] { bp::synchronize(device); });
  EXPECT_EQ(error.substr(0, 5), "neg: ") << error;
  EXPECT_NE(error.find("of its stream, found by synchronize after copy"), std::string::npos)
      << error;
  EXPECT_EQ(error_of([&] { bp::synchronize(device); }), "no error");
}

TEST_F(Queued, tensors_may_go_before_their_work_is_done) {
  const std::int64_t living = bp::num_live_storages(device);
  const Tensor from = counted({1000}, device), to = empty_tensor({1000}, bp::f32, device);
  hooks.hold(0);
  {
    const Tensor between = empty_tensor({1000}, bp::f32, device);
    copy_into(between, from);
    copy_into(to, between);
  }
  const Tensor other = bp::full({1000}, 5, bp::f32, device);  // may get the memory of `between`
  hooks.release(0);
  EXPECT_EQ(values(to)[999], 999);
  EXPECT_EQ(values(other)[999], 5);
  EXPECT_EQ(bp::num_live_storages(device), living + 3);
}

}  // namespace
