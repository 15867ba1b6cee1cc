// needs: cpu
// Pinned and registered host memory, on the plugin `npu`, which keeps accounts of both.
#include <backplane/dispatcher/pinned.hpp>

#include "dispatcher/calls.hpp"
#include "plugins/npu/hooks.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

bp::Device npu() {
  static const bp::Device device = test_device("npu");
  return device;
}

const npu::Hooks& hooks() {
  const bp_plugin& plugin = *bp::device_record(npu()).backend->plugin;
  return *reinterpret_cast<const npu::Hooks*>(plugin.extension(plugin.self, "npu.hooks", 1));
}
std::uint64_t num_pinned() {
  return hooks().num_pinned(bp::device_record(npu()).handle);
}
std::uint64_t num_registered() {
  return hooks().num_registered(bp::device_record(npu()).handle);
}

struct Pinned : testing::Test {
  const std::int64_t live = bp::num_live_storages(npu());
  void TearDown() override {
    EXPECT_EQ(num_pinned(), 0u);
    EXPECT_EQ(num_registered(), 0u);
    EXPECT_EQ(bp::num_live_storages(npu()), live);
  }
};

TEST_F(Pinned, a_copy_is_a_tensor_of_the_host) {
  const Tensor x = counted({3, 4});
  EXPECT_FALSE(bp::is_pinned(x, npu()));
  const Tensor pinned = bp::pin_memory(x, npu());
  EXPECT_TRUE(bp::is_pinned(pinned, npu()));
  EXPECT_FALSE(bp::is_pinned(pinned, bp::host_device()));
  EXPECT_EQ(pinned.device(), bp::host_device());
  EXPECT_EQ(num_pinned(), 1u);
  expect_same(pinned, x);
  expect_same(bp::to_device(pinned, npu()), x);
  expect_same(bp::add(pinned, x), bp::add(x, x));
  EXPECT_TRUE(bp::pin_memory(pinned, npu()).is_same(pinned));
}

TEST_F(Pinned, follows_strides_and_knows_views) {
  const Tensor x = counted({3, 4});
  const Tensor turned = bp::pin_memory(bp::transpose(x, 0, 1), npu());
  expect_same(turned, bp::transpose(x, 0, 1));
  EXPECT_TRUE(bp::is_pinned(bp::slice(turned, 0, 1, 3), npu()));
}

TEST_F(Pinned, is_the_tensor_itself_where_all_memory_is_alike) {
  const Tensor x = counted({2});
  EXPECT_TRUE(bp::pin_memory(x, bp::host_device()).is_same(x));
  EXPECT_FALSE(bp::is_pinned(bp::empty_pinned_tensor({2}, bp::f32, bp::host_device()), npu()));
  std::vector<char> memory(64);
  EXPECT_FALSE(bp::register_host_memory(memory.data(), memory.size(), bp::host_device()));
}

TEST_F(Pinned, that_is_used_up_is_an_error_and_comes_back) {
  constexpr std::int64_t most = 1 << 20;
  {
    const Tensor all = bp::empty_pinned_tensor({most}, bp::u8, npu());
    EXPECT_EQ(error_of([] { bp::pin_memory(counted({2}), npu()); }),
              "pin_memory: 0 bytes of 1048576 can be pinned (plugin npu, device npu:0)");
    EXPECT_EQ(class_of_error([] { bp::pin_memory(counted({2}), npu()); }),
              bp::ErrorClass::out_of_memory);
  }
  EXPECT_TRUE(bp::is_pinned(bp::empty_pinned_tensor({most}, bp::u8, npu()), npu()));
}

TEST_F(Pinned, of_more_bytes_than_can_be_counted_is_an_error) {
  for (const std::int64_t numel : {(std::int64_t{1} << 61) + 1, std::int64_t{1} << 62})
    EXPECT_NE(error_of([&] {
                bp::empty_pinned_tensor({numel}, bp::f64, npu());
              }).find("has more than 2^63 - 1 bytes"),
              std::string::npos);
}

TEST_F(Pinned, without_elements_is_none) {
  EXPECT_FALSE(bp::is_pinned(bp::empty_pinned_tensor({0, 3}, bp::f32, npu()), npu()));
}

TEST_F(Pinned, is_of_the_host_alone) {
  EXPECT_EQ(
      error_of([] { bp::pin_memory(counted({2}, npu()), npu()); }),
      "pin_memory: the tensor is on npu:0; only memory of cpu:0 can be pinned, so copy it there "
      "with to()");
  EXPECT_EQ(class_of_error([] { bp::pin_memory(Tensor(), npu()); }), bp::ErrorClass::bad_argument);
}

TEST_F(Pinned, memory_of_the_application_is_registered_and_stays_its_own) {
  std::vector<float> memory = {1, 2, 3, 4};
  const std::uint64_t bytes = memory.size() * sizeof(float);
  const Tensor x = bp::tensor_from_blob(memory.data(), {4}, bp::contiguous_strides({4}), bp::f32,
                                        bp::host_device(), nullptr, nullptr);
  ASSERT_TRUE(bp::register_host_memory(memory.data(), bytes, npu()));
  EXPECT_EQ(num_registered(), 1u);
  EXPECT_EQ(bp::num_live_storages(npu()), live + 1);
  EXPECT_TRUE(bp::is_pinned(x, npu()));
  expect_same(bp::to_device(x, npu()), x);
  EXPECT_EQ(class_of_error([&] { bp::register_host_memory(memory.data(), 4, npu()); }),
            bp::ErrorClass::bad_argument);
  bp::unregister_host_memory(memory.data(), npu());
  EXPECT_FALSE(bp::is_pinned(x, npu()));
  EXPECT_EQ(memory, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(class_of_error([&] { bp::unregister_host_memory(memory.data(), npu()); }),
            bp::ErrorClass::bad_argument);
  EXPECT_EQ(class_of_error([] { bp::register_host_memory(nullptr, 4, npu()); }),
            bp::ErrorClass::bad_argument);
}

TEST_F(Pinned, memory_that_was_pinned_is_not_unregistered) {
  const Tensor pinned = bp::empty_pinned_tensor({4}, bp::f32, npu());
  EXPECT_EQ(class_of_error([&] { bp::unregister_host_memory(pinned.data_ptr(), npu()); }),
            bp::ErrorClass::bad_argument);
}

}  // namespace
