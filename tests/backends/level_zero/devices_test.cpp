// needs: cpu reference level_zero
// level_zero:0 beside the other devices of one process: tensors go round all of them, and one model lives on two.
#include <backplane/nn/layers.hpp>
#include <backplane/optim/sgd.hpp>
#include <backplane/tensors.hpp>

#include "backends/level_zero/direct_device.hpp"
#include "tools/run_program.hpp"

namespace {

std::vector<bp::Device> devices_here() {
  std::vector<bp::Device> found;
  for (const char* name : {"cpu:0", "level_zero:0", "reference:0", "opencl:0", "cuda:0"}) {
    try {
      found.push_back(bp::device(name));
    } catch (const bp::Error&) {  // not on this machine
    }
  }
  return found;
}

class LevelZeroDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
  }
};

TEST_F(LevelZeroDevices, tensors_go_from_each_to_each) {
  const std::vector<bp::Device> devices = devices_here();
  ASSERT_GE(devices.size(), 3u);
  const bp::Tensor sent = bp::rand({33, 7});
  for (const bp::Device from : devices) {
    for (const bp::Device to : devices) {
      const bp::Tensor there = bp::to(bp::to(sent, from), to);
      EXPECT_EQ(bp::item<double>(bp::max(bp::abs(bp::sub(bp::to(there, devices[0]), sent)))), 0)
          << bp::device_record(from).name << " to " << bp::device_record(to).name;
    }
  }
}

TEST_F(LevelZeroDevices, are_listed_beside_those_of_other_makers) {
  const auto listed = bp::test::run_backplane({"devices"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  for (const bp::Device device : devices_here())
    EXPECT_THAT(listed.out, testing::HasSubstr(bp::device_record(device).name));
}

// Two layers on two devices learn what they learn on one.
std::vector<double> losses_of(bp::Device first_place, bp::Device second_place) {
  bp::manual_seed(7);
  const bp::Tensor inputs = bp::randn({64, 8}), wanted = bp::sin(bp::sum(inputs, 1, true));
  bp::nn::Linear first(8, 16), second(16, 1);
  first.to(first_place);
  second.to(second_place);
  std::vector<bp::Tensor> parameters = first.parameters();
  for (const bp::Tensor& each : second.parameters()) parameters.push_back(each);
  bp::optim::SGD optimizer(parameters, {.lr = 0.05});
  const bp::Tensor x = bp::to(inputs, first_place), y = bp::to(wanted, second_place);
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    optimizer.zero_grad();
    const bp::Tensor hidden = bp::to(bp::tanh(first.forward(x)), second_place);
    const bp::Tensor loss = bp::mse_loss(second.forward(hidden), y);
    bp::backward(loss);
    optimizer.step();
    losses.push_back(bp::item<double>(loss));
  }
  return losses;
}

TEST_F(LevelZeroDevices, a_model_split_over_two_devices_learns_the_same) {
  if (!direct::spirv_of(direct::spin)) GTEST_SKIP() << "no clang, opt and llvm-spirv";
  const bp::Device cpu = bp::device("cpu:0"), here = bp::device("level_zero:0");
  const std::vector<double> expected = losses_of(cpu, cpu);
  EXPECT_LT(expected.back(), 0.8 * expected.front());
  const auto close = testing::Pointwise(testing::DoubleNear(1e-4), expected);
  EXPECT_THAT(losses_of(here, bp::device("reference:0")), close);
  EXPECT_THAT(losses_of(cpu, here), close);
}

}  // namespace
