// needs: cpu reference_compiler
// Capture of generated kernels, on asynchronous devices whose memory the host cannot read.
#include <backplane/capture/capture.hpp>
#include <backplane/dispatcher/transfer.hpp>

#include "codegen/agree.hpp"
#include "dispatcher/calls.hpp"

namespace {

using bp::Recording;
using bp::Tensor;
using bp::test::error_of;
using bp::test::expect_same;
using bp::test::values;

class CompiledCapture : public testing::TestWithParam<const char*> {
 protected:
  bp::Device device() const { return bp::device(GetParam()); }
  Tensor random(const std::vector<std::int64_t>& shape) const {
    return bp::to_device(bp::randn(shape, bp::f32, bp::host_device()), device());
  }
};

#define BP_NEEDS_DEVICE BP_SKIP_WITHOUT(GetParam())

void add_into(const Tensor& target, const Tensor& other, double alpha) {
  bp_value args[] = {bp::value_of(target), bp::value_of(other), bp::value_of(alpha)};
  bp::call_pointwise_into(*bp::find_operator("add"), args, 3, target);
}

// Forward, the gradient of the cross entropy, and both updates in place.
struct Network {
  Tensor weight, bias, x, target;
  Tensor step() {
    const Tensor hidden = bp::relu(bp::add(bp::matmul(x, weight), bias));
    const Tensor error = bp::sub(bp::softmax(hidden, 1), target);
    add_into(weight, bp::matmul(bp::transpose(x, 0, 1), error), -0.01);
    add_into(bias, bp::sum(error, {0}), -0.01);
    return bp::sum(bp::mul(error, error));
  }
};

TEST_P(CompiledCapture, a_step_of_training_is_replayed_bit_for_bit) {
  BP_NEEDS_DEVICE;
  Network network{random({60, 33}), random({33}), random({20, 60}), random({20, 33})};
  Network twin{bp::clone(network.weight), bp::clone(network.bias), network.x, network.target};
  Tensor loss;
  Recording graph = bp::capture(device(), [&] { loss = network.step(); });
  for (int i = 0; i < 10; ++i) {
    bp::copy_into(network.x, random({20, 60}));
    graph.replay();
    expect_same(loss, twin.step());
    expect_same(network.weight, twin.weight);
    expect_same(network.bias, twin.bias);
  }
}

TEST_P(CompiledCapture, a_hundred_replays_need_nobody_to_wait) {
  BP_NEEDS_DEVICE;
  const Tensor x = random({5000}), sum = random({5000}), twin = bp::clone(sum);
  Recording graph = bp::capture(device(), [&] { add_into(sum, bp::exp(bp::neg(bp::abs(x))), 1); });
  for (int i = 0; i < 100; ++i) graph.replay();
  for (int i = 0; i < 100; ++i) add_into(twin, bp::exp(bp::neg(bp::abs(x))), 1);
  expect_same(sum, twin);
}

TEST_P(CompiledCapture, random_numbers_sorting_and_scans_keep_their_scratch_memory) {
  BP_NEEDS_DEVICE;
  Tensor drawn, sorted, scanned;
  const Tensor x = random({3000});
  const auto sort = [&] { return bp::sort(x, 0, true); };
  Recording graph = bp::capture(device(), [&] {
    drawn = bp::rand({1000}, bp::f32, device());
    sorted = sort().values;
    scanned = bp::cumsum(x, 0);
  });
  graph.replay();
  const std::vector<float> first = values(drawn);
  for (int i = 0; i < 3; ++i) {
    bp::copy_into(x, random({3000}));
    graph.replay();
    const Tensor other = bp::full({3000}, 9.0, bp::f32, device());
    expect_same(sorted, sort().values);
    expect_same(scanned, bp::cumsum(x, 0));
    EXPECT_EQ(values(drawn), first);
  }
}

TEST_P(CompiledCapture, a_bad_index_in_a_replay_is_reported_when_it_is_waited_for) {
  BP_NEEDS_DEVICE;
  const Tensor x = random({10});
  const Tensor index = bp::to_device(bp::test::given<std::int64_t>({1, 2}, {2}), device());
  Tensor result;
  Recording graph = bp::capture(device(), [&] { result = bp::index_select(x, 0, index); });
  graph.replay();
  expect_same(result, bp::index_select(x, 0, index));
  bp::copy_into(index, bp::to_device(bp::test::given<std::int64_t>({1, 10}, {2}), device()));
  for (int i = 0; i < 2; ++i) {
    graph.replay();
    EXPECT_NE(error_of([&] { bp::synchronize(device()); }).find("index out of range"),
              std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(all, CompiledCapture,
                         testing::Values("reference_compiler:0", "opencl:0", "cuda:0"));

}  // namespace
