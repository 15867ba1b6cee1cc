// needs: cpu reference
// Capture and replay by the core's own list of calls: on cpu, which is synchronous, and on reference, which is not.
#include <gtest/gtest.h>
#include <thread>

#include <backplane/capture/capture.hpp>

#include "dispatcher/calls.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace {

using namespace bp::test;
using bp::Recording;
using bp::Tensor;

bp::Device cpu() {
  return bp::host_device();
}

Tensor random(const std::vector<std::int64_t>& shape) {
  return bp::randn(shape, bp::f32, cpu());
}
void add_into(const Tensor& target, const Tensor& other, double alpha = 1) {
  bp_value args[] = {bp::value_of(target), bp::value_of(other), bp::value_of(alpha)};
  bp::call_pointwise_into(*bp::find_operator("add"), args, 3, target);
}
std::uint64_t allocated(bp::Device device) {
  return bp::memory_statistics(device).allocated_bytes;
}
std::uint64_t reserved(bp::Device device) {
  bp::empty_cache(device);
  return bp::memory_statistics(device).reserved_bytes;
}

// ---- What a replay gives ----

TEST(Capture, a_hundred_replays_give_what_calls_give_for_ever_new_inputs) {
  const Tensor x = random({64, 48}), y = random({64, 48});
  const auto work = [&] { return bp::softmax(bp::relu(bp::sub(bp::mul(x, y), 0.25)), 1); };
  Tensor result;
  Recording graph = bp::capture(cpu(), [&] { result = work(); });
  EXPECT_EQ(graph.num_calls(), 4u);
  EXPECT_FALSE(graph.is_of_device());
  EXPECT_EQ(graph.device(), cpu());
  for (int i = 0; i < 100; ++i) {
    bp::copy_into(x, random({64, 48}));
    graph.replay();
    expect_same(result, work());
  }
}

TEST(Capture, nothing_runs_before_the_first_replay) {
  const Tensor counter = given({5, 5, 5}), one = given({1, 1, 1});
  Recording graph = bp::capture(cpu(), [&] { add_into(counter, one); });
  EXPECT_EQ(values(counter), (std::vector<float>{5, 5, 5}));
  graph.replay();
  graph.replay();
  EXPECT_EQ(values(counter), (std::vector<float>{7, 7, 7}));
}

// One step of training by hand: forward, the gradient of the cross entropy, and both updates in place.
struct Network {
  Tensor weight, bias, x, target;
  Tensor step() {
    const Tensor hidden = bp::relu(bp::add(bp::matmul(x, weight), bias));
    const Tensor probability = bp::softmax(hidden, 1);
    const Tensor error = bp::sub(probability, target);
    const Tensor gradient = bp::matmul(bp::transpose(x, 0, 1), error);
    add_into(weight, gradient, -0.01);
    add_into(bias, bp::sum(error, {0}), -0.01);
    return bp::sum(bp::mul(error, error));
  }
};

TEST(Capture, a_step_of_training_is_replayed_bit_for_bit) {
  Network network{random({300, 70}), random({70}), random({50, 300}), random({50, 70})};
  Network twin{bp::clone(network.weight), bp::clone(network.bias), network.x, network.target};
  Tensor loss;
  Recording graph = bp::capture(cpu(), [&] { loss = network.step(); });
  for (int i = 0; i < 10; ++i) {
    bp::copy_into(network.x, random({50, 300}));
    graph.replay();
    expect_same(loss, twin.step());
    expect_same(network.weight, twin.weight);
    expect_same(network.bias, twin.bias);
  }
}

TEST(Capture, lists_texts_and_numbers_of_calls_are_its_own) {
  const Tensor x = random({6, 5, 4});
  Tensor sum, joined, scaled;
  Recording graph = [&] {
    // All that the calls point to is gone, and written over, before the replay.
    std::vector<std::int64_t> dims{0, 2};
    std::vector<Tensor> parts{bp::neg(x), bp::abs(x)};
    Recording made = bp::capture(cpu(), [&] {
      sum = bp::sum(x, dims);
      joined = bp::cat(parts, 1);
      scaled = bp::mul(x, 3.5);
    });
    dims.assign({7, 7});
    return made;
  }();
  graph.replay();
  expect_same(sum, bp::sum(x, {0, 2}));
  expect_same(scaled, bp::mul(x, 3.5));
  const std::vector<Tensor> parts{bp::neg(x), bp::abs(x)};
  expect_same(joined, bp::cat(parts, 1));
}

TEST(Capture, views_copies_and_conversions_are_part_of_it) {
  const Tensor x = random({8, 6}), whole = bp::cast(random({6, 8}), bp::i32);
  Tensor result, copy = bp::empty_tensor({8, 6}, bp::f32, cpu());
  const auto work = [&] { return bp::add(bp::transpose(x, 0, 1), whole); };
  Recording graph = bp::capture(cpu(), [&] {
    result = work();
    bp::copy_into(copy, x);
  });
  bp::copy_into(x, random({8, 6}));
  graph.replay();
  expect_same(result, work());
  expect_same(copy, x);
}

TEST(Capture, a_number_that_became_a_tensor_is_written_at_each_replay) {
  const Tensor x = random({100});
  Tensor result;
  Recording graph = bp::capture(cpu(), [&] {
    const Tensor number = bp::scalar_tensor(2.5, bp::f32, cpu());
    result = bp::mul(x, number);
    add_into(number, number);  // spoils it for a call that does not write it again
  });
  for (int i = 0; i < 3; ++i) {
    graph.replay();
    expect_same(result, bp::mul(x, 2.5));
  }
}

TEST(Capture, random_numbers_are_those_reserved_at_the_capture) {
  bp::manual_seed(7);
  const Tensor first = random({100});
  bp::manual_seed(7);
  Tensor drawn;
  Recording graph = bp::capture(cpu(), [&] { drawn = random({100}); });
  for (int i = 0; i < 2; ++i) {
    graph.replay();
    expect_same(drawn, first);
  }
  EXPECT_NE(values(random({100})), values(first)) << "the capture reserved no numbers";
}

TEST(Capture, an_applications_kernel_runs_at_each_replay) {
  static int runs;
  runs = 0;
  bp::Operator& op = bp::register_custom_operator("test::counts_runs(Tensor input) -> Tensor");
  bp::register_application_kernel(
      op, *bp::find_backend("cpu"),
      [](const bp::Call& call) {
        ++runs;
        const Tensor input = Tensor::share(bp::TensorImpl::of(call.args[0].u.tensor));
        bp::copy_into(call.results[0], bp::mul(input, input));
      },
      bp::dtypes::all, BP_LAYOUT_STRIDED);
  const Tensor x = random({2000});
  Tensor result;
  Recording graph = bp::capture(cpu(), [&] {
    bp_value args[] = {bp::value_of(x)};
    result = bp::call_one(op, args, 1);
  });
  EXPECT_EQ(runs, 0);
  graph.replay();
  graph.replay();
  EXPECT_EQ(runs, 2);
  expect_same(result, bp::mul(x, x));
}

TEST(Capture, a_write_at_a_replay_is_a_new_version) {
  const Tensor counter = random({2000}), one = random({2000});
  Recording graph = bp::capture(cpu(), [&] { add_into(counter, one); });
  const std::uint32_t before = counter.version();
  graph.replay();
  EXPECT_GT(counter.version(), before);
}

// ---- Memory ----

TEST(Capture, what_it_holds_goes_with_it) {
  const Tensor x = random({1 << 20});
  const std::uint64_t allocated_before = allocated(cpu()), reserved_before = reserved(cpu());
  {
    Tensor result;
    Recording graph = bp::capture(cpu(), [&] { result = bp::exp(bp::neg(bp::exp(bp::neg(x)))); });
    graph.replay();
    EXPECT_GT(reserved(cpu()), reserved_before);
  }
  EXPECT_EQ(allocated(cpu()), allocated_before);
  EXPECT_EQ(reserved(cpu()), reserved_before);
}

TEST(Capture, memory_is_used_again_within_it) {
  constexpr std::int64_t count = 300000;
  const Tensor x = random({count});
  const std::uint64_t before = reserved(cpu());
  Tensor result;
  Recording graph = bp::capture(cpu(), [&] {
    result = x;
    for (int i = 0; i < 50; ++i) result = bp::mul(bp::add(result, 1), 0.5);
  });
  EXPECT_LE(reserved(cpu()) - before, 16u << 20) << "of 100 results of 1.2 MB";
  graph.replay();
  Tensor expected = x;
  for (int i = 0; i < 50; ++i) expected = bp::mul(bp::add(expected, 1), 0.5);
  expect_same(result, expected);
}

TEST(Capture, nobody_else_gets_its_memory_between_replays) {
  for (const std::int64_t count : {10, 900, 5000, 300000}) {
    const Tensor x = random({count});
    Tensor result;
    Recording graph = bp::capture(cpu(), [&] {
      const Tensor kept = bp::exp(x);  // freed in the capture, and read by a later call
      const Tensor other = bp::neg(kept);
      result = bp::add(bp::mul(other, kept), x);
    });
    const Tensor expected = bp::add(bp::mul(bp::neg(bp::exp(x)), bp::exp(x)), x);
    for (int i = 0; i < 2; ++i) {
      std::vector<Tensor> others;
      for (int k = 0; k < 6; ++k) others.push_back(bp::full({count}, 77.0, bp::f32, cpu()));
      bp::empty_cache(cpu());
      graph.replay();
      for (const Tensor& other : others)
        expect_same(other, bp::full({count}, 77.0, bp::f32, cpu()));
      expect_same(result, expected);
    }
  }
}

TEST(Capture, inputs_live_as_long_as_it_does) {
  const Tensor x = random({2000});
  Tensor result, weight = random({2000}), expected = bp::mul(x, weight);
  Recording graph = bp::capture(cpu(), [&] { result = bp::mul(x, weight); });
  weight = {};
  const Tensor other = bp::full({2000}, 5.0, bp::f32, cpu());
  graph.replay();
  expect_same(result, expected);
}

TEST(Capture, a_result_outlives_it) {
  const Tensor x = random({100000});
  Tensor result;
  {
    Recording graph = bp::capture(cpu(), [&] { result = bp::neg(x); });
    graph.replay();
  }
  const Tensor other = bp::full({100000}, 5.0, bp::f32, cpu());
  expect_same(result, bp::neg(x));
}

TEST(Capture, a_plugin_stays_while_a_graph_of_it_lives) {
  bp::Backend& backend = bp::load_plugin(test_plugin("partial"));
  {
    Recording graph;
    {
      const Tensor x = counted({4}, backend.devices.front()->device);
      graph = bp::capture(x.device(), [&] { bp::add(x, x); });
    }
    EXPECT_NE(error_of([&] { bp::unload_plugin(backend); }).find("1 graph"), std::string::npos);
    graph.replay();
  }
  bp::unload_plugin(backend);
}

// ---- What cannot be captured ----

// The error within, and that the thread, the device and the next capture work afterwards.
std::string error_in_capture(bp::Device device, const std::function<void()>& work) {
  const std::string error = error_of([&] { bp::capture(device, work); });
  const Tensor x = random({10});
  Tensor result;
  Recording graph = bp::capture(cpu(), [&] { result = bp::neg(x); });
  graph.replay();
  expect_same(result, bp::neg(x));
  bp::Stream::current(device).synchronize();
  return error;
}

TEST(Capture, waiting_is_refused) {
  const std::string text =
      "cpu:0 is being captured by this thread, and nothing of that has run; end the capture, "
      "replay it, and wait then";
  EXPECT_EQ(error_in_capture(cpu(), [] { bp::synchronize(cpu()); }), "synchronize: " + text);
  EXPECT_EQ(error_in_capture(cpu(), [] { bp::Stream::current(cpu()).synchronize(); }),
            "synchronize: " + text);
  EXPECT_EQ(error_in_capture(cpu(), [] { bp::Stream::current(cpu()).query(); }), "query: " + text);
}

TEST(Capture, copies_from_and_to_the_host_are_refused) {
  const Tensor x = random({4});
  EXPECT_EQ(error_in_capture(cpu(), [&] { values(x); }),
            "copy: values go to the host within the capture on cpu:0, and a replay could not "
            "repeat that; copy before "
            "the capture, or after a replay");
  EXPECT_EQ(error_in_capture(cpu(),
                             [] {
                               given({1, 2, 3});
                             }),
            "copy: values go from the host to the device within the capture on cpu:0, and a replay "
            "could not repeat "
            "that; copy before the capture, or after a replay");
}

TEST(Capture, what_only_the_host_can_serve_is_refused) {
  const Tensor x = bp::to_device(random({4}), bp::device("reference"));
  EXPECT_EQ(error_in_capture(x.device(), [&] { bp::exp(x); }),
            "exp: no kernel of reference:0 takes this call in a capture, and what runs on the host "
            "cannot be "
            "part of a capture; call "
            "it outside");
}

TEST(Capture, shapes_from_data_are_refused) {
  const Tensor x = random({4});
  EXPECT_EQ(error_in_capture(cpu(), [&] { bp::nonzero(x); }),
            "nonzero: the shape of its result depends on values, which a capture on cpu:0 does not "
            "have; call it "
            "outside");
}

TEST(Capture, another_device_is_refused) {
  const Tensor x = random({4}), far = bp::to_device(x, bp::device("reference"));
  EXPECT_EQ(error_in_capture(far.device(), [&] { bp::neg(x); }),
            "neg: is on cpu:0, and this thread captures on reference:0; end the capture first");
  EXPECT_EQ(error_in_capture(far.device(), [&] { bp::copy_into(x, random({4})); }),
            "randn: is on cpu:0, and this thread captures on reference:0; end the capture first");
  const Tensor other = bp::empty_tensor({4}, bp::f32, far.device());
  EXPECT_EQ(error_in_capture(cpu(), [&] { bp::copy_into(other, far); }),
            "copy: is on reference:0, and this thread captures on cpu:0; end the capture first");
}

TEST(Capture, another_stream_is_refused) {
  const bp::Device reference = bp::device("reference");
  const Tensor x = bp::to_device(random({4}), reference), y = bp::to_device(random({4}), reference);
  const bp::Stream stream(reference);
  ASSERT_NE(stream.impl(), bp::Stream::current(reference).impl());
  EXPECT_EQ(error_in_capture(reference,
                             [&] {
                               const bp::StreamGuard guard(stream);
                               bp::copy_into(x, y);
                             }),
            "copy: is on another stream of reference:0 than the one that this thread captures; end "
            "the capture first");
}

TEST(Capture, a_capture_within_a_capture_is_refused) {
  Recording empty, graph = bp::capture(cpu(), [] {});
  graph.replay();
  EXPECT_EQ(error_in_capture(cpu(), [] { bp::capture(cpu(), [] {}); }),
            "capture: this thread captures on cpu:0 already; end that capture first");
  EXPECT_EQ(error_in_capture(cpu(), [&] { graph.replay(); }),
            "replay: this thread is capturing, and a recording cannot be part of another; end the "
            "capture first");
  EXPECT_EQ(error_of([&] { empty.replay(); }),
            "replay: the recording is empty; capture something first");
}

TEST(Capture, an_error_that_somebody_swallows_still_drops_it) {
  const std::string error =
      error_in_capture(cpu(), [] { error_of([] { bp::synchronize(cpu()); }); });
  EXPECT_EQ(error.find("capture: it was dropped: synchronize: cpu:0 is being captured"), 0u)
      << error;
}

TEST(Capture, what_the_work_throws_drops_it_and_comes_through) {
  const Tensor x = random({4}), y = random({5});
  EXPECT_EQ(class_of_error([&] { bp::capture(cpu(), [&] { bp::add(x, y); }); }),
            bp::ErrorClass::bad_argument);
  EXPECT_THROW(bp::capture(cpu(), [] { throw std::runtime_error("mine"); }), std::runtime_error);
  expect_cpu_works();
}

TEST(Capture, a_scope_that_is_left_is_dropped) {
  const Tensor x = random({4});
  { const bp::CaptureScope scope(bp::Stream::current(cpu())); }
  expect_cpu_works();
  bp::CaptureScope scope(bp::Stream::current(cpu()));
  const Tensor result = bp::neg(x);
  Recording graph = scope.finish();
  EXPECT_EQ(error_of([&] { scope.finish(); }), "capture: it is finished already; begin another");
  graph.replay();
  expect_same(result, bp::neg(x));
}

// ---- Threads and streams ----

TEST(Capture, threads_capture_and_call_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 20; ++i) {
        const Tensor x = random({3000});
        const auto work = [&] { return bp::mul(bp::exp(bp::neg(bp::abs(x))), t + 1.0); };
        if (t % 2) {
          Tensor result;
          Recording graph = bp::capture(bp::Stream(cpu()), [&] { result = work(); });
          for (int k = 0; k < 5; ++k) {
            bp::copy_into(x, random({3000}));
            graph.replay();
            expect_same(result, work());
          }
        } else {
          expect_same(work(), work());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Capture, other_threads_run_while_one_captures) {
  const Tensor x = random({100});
  Tensor elsewhere, result;
  Recording graph = bp::capture(cpu(), [&] {
    result = bp::exp(x);
    std::thread([&] {
      elsewhere = bp::neg(x);
      EXPECT_EQ(values(elsewhere), values(bp::mul(x, -1)));
      bp::synchronize(cpu());
    }).join();
  });
  EXPECT_EQ(graph.num_calls(), 1u);
}

TEST(Capture, replays_on_an_asynchronous_device_keep_their_order) {
  const bp::Device reference = bp::device("reference");
  const Tensor a = bp::to_device(random({5000}), reference),
               b = bp::to_device(random({5000}), reference);
  const std::vector<float> expected = values(a);
  Tensor result;
  {
    const bp::Stream first(reference), second(reference);
    Recording graph = bp::capture(first, [&] {
      const Tensor between = bp::empty_tensor({5000}, bp::f32, reference);
      bp::copy_into(between, a);
      bp::copy_into(b, between);
      result = b;
    });
    EXPECT_EQ(graph.num_calls(), 2u);
    for (const bp::Stream& stream : {first, second, first}) {
      const bp::StreamGuard guard(stream);
      graph.replay();
    }
    first.synchronize();
  }
  EXPECT_EQ(values(result), expected);
}

TEST(Capture, it_dies_only_after_its_last_replay_is_done) {
  const bp::Device reference = bp::device("reference");
  const bp_reference_hooks& hooks = reference_hooks();
  bp::synchronize(reference);
  const std::uint64_t before = allocated(reference);
  {
    const Tensor a = bp::to_device(random({5000}), reference),
                 b = bp::to_device(random({5000}), reference);
    const std::vector<float> expected = values(a);
    Recording graph = bp::capture(reference, [&] {
      const Tensor between = bp::empty_tensor({5000}, bp::f32, reference);
      bp::copy_into(between, a);
      bp::copy_into(b, between);
    });
    ASSERT_EQ(hooks.hold(0), BP_OK);
    graph.replay();
    graph = {};
    // Takes whatever memory is free now, before the replay has run.
    std::vector<Tensor> others;
    for (int i = 0; i < 10; ++i) {
      others.push_back(bp::empty_tensor({5000}, bp::f32, reference));
      bp::copy_into(others.back(), a);
    }
    ASSERT_EQ(hooks.release(0), BP_OK);
    EXPECT_EQ(values(b), expected);
    for (const Tensor& other : others) EXPECT_EQ(values(other), expected);
  }
  bp::synchronize(reference);
  EXPECT_EQ(allocated(reference), before);
}

}  // namespace
