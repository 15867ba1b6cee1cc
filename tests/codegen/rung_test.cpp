// needs: cpu reference_compiler
// Generated kernels as the third rung of the ladder: behind a backend's own, before decomposition, under policies, and
// gone with their backend.
#include <atomic>

#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/policy.hpp>

#include "dispatcher/calls.hpp"

namespace {

using namespace bp::test;
using bp::Policy;
using bp::Rung;

constexpr const char* library = BP_PLUGIN_DIR "/libbackplane_reference_compiler.so";

class GeneratedRung : public testing::Test {
 protected:
  ~GeneratedRung() override {
    x = {};
    if (backend_) bp::unload_plugin(*backend_);
  }
  bp::Backend* backend_ = &bp::load_plugin(library);
  bp::Device device = backend_->devices.front()->device;
  bp::Tensor x = counted({2, 3}, device);
};

TEST_F(GeneratedRung, serves_calls_short_and_long) {
  const Served served("add", "reference_compiler");
  expect_same(bp::add(x, x), bp::mul(x, 2));
  expect_same(bp::add(x, bp::transpose(bp::transpose(x, 0, 1), 0, 1)), bp::mul(x, 2));
  EXPECT_EQ(served.since(), "generated 2");
}

TEST_F(GeneratedRung, is_left_out_when_it_is_forbidden) {
  bp::set_policy(device, Rung::generated, Policy::forbid);
  const Served served("add", "reference_compiler");
  expect_same(bp::add(x, x), bp::to(bp::mul(bp::to(x, bp::host_device()), 2), device));
  EXPECT_EQ(served.since(), "host 1");
  bp::set_policy(device, Rung::generated, Policy::allow);
  bp::add(x, x);
  EXPECT_EQ(served.since(), "generated 1, host 1");
}

TEST_F(GeneratedRung, is_left_out_on_this_thread_alone) {
  const Served served("neg", "reference_compiler");
  {
    const bp::PolicyScope scope(Rung::generated, Policy::forbid);
    bp::neg(x);
  }
  bp::neg(x);
  EXPECT_EQ(served.since(), "generated 1, host 1");
}

std::atomic<int> num_native{0};
void count_and_copy(const bp::Call& call) {
  ++num_native;
  const bp::Tensor source = bp::Tensor::share(bp::TensorImpl::of(call.args[0].u.tensor));
  bp::copy_into(call.results[0], source);
}

TEST_F(GeneratedRung, comes_behind_the_backends_own_kernels) {
  bp::register_application_kernel(bp::ops::relu, *backend_, count_and_copy, bp::set_of(bp::f32),
                                  BP_LAYOUT_STRIDED);
  const Served served("relu", "reference_compiler");
  num_native = 0;
  bp::relu(x);
  EXPECT_EQ(num_native, 1);
  EXPECT_EQ(served.since(), "native 1");
  bp::relu(bp::ones({3}, bp::i32, device));
  EXPECT_EQ(served.since(), "native 1, generated 1");
}

TEST_F(GeneratedRung, comes_before_decomposition) {
  const Served served("sigmoid", "reference_compiler");
  bp::sigmoid(x);
  EXPECT_EQ(served.since(), "generated 1");
}

TEST_F(GeneratedRung, comes_again_with_its_backend) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(values(bp::exp(bp::zeros({2}, bp::f32, device))), (std::vector<float>{1, 1}));
    x = {};
    bp::unload_plugin(*backend_);
    backend_ = nullptr;
    backend_ = &bp::load_plugin(library);
    device = backend_->devices.front()->device;
  }
}

TEST_F(GeneratedRung, works_while_several_threads_meet_a_new_kernel) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      right += values(bp::log(bp::ones({3}, bp::f32, device))) == std::vector<float>{0, 0, 0};
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

}  // namespace
