// needs: cuda
// What the CUDA backend says of a card without opening it, compared with what the driver says of one that is open.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <backplane/extensions/peer.h>

#include "backends/cuda/direct_device.hpp"
#include "backends/device_facts.hpp"

namespace {

class CudaFacts : public direct::Cuda {
 protected:
  // The driver's own function, under the name that its library has it by.
  template <class Function> static Function* driver(const char* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
};

TEST_F(CudaFacts, the_range_of_priorities_is_the_drivers) {
  for (uint32_t i = 0; const bp_device_info& info : direct::facts_of(plugin)) {
    fake::Device opened(plugin, i++);
    CUcontext context = nullptr;
    ASSERT_EQ(driver<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(
                  &context, info.dl_device_id),
              CUDA_SUCCESS);
    ASSERT_EQ(driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context), CUDA_SUCCESS);
    int least = -1, greatest = -1;
    ASSERT_EQ(driver<decltype(cuCtxGetStreamPriorityRange)>("cuCtxGetStreamPriorityRange")(
                  &least, &greatest),
              CUDA_SUCCESS);
    EXPECT_EQ(info.least_priority, least);
    EXPECT_EQ(info.greatest_priority, greatest);
    direct::expect_streams_at_both_priorities(opened, info);
  }
}

TEST_F(CudaFacts, a_card_has_a_uuid_a_bus_cores_a_clock_and_a_driver) {
  for (const bp_device_info& info : direct::facts_of(plugin)) {
    EXPECT_TRUE(direct::has_uuid(info));
    EXPECT_THAT(info.bus, testing::MatchesRegex("[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}[.]0"));
    EXPECT_THAT(info.driver, testing::StartsWith("CUDA "));
    EXPECT_GT(info.num_cores, 0u);
    EXPECT_GT(info.clock_mhz, 0u);
  }
}

TEST_F(CudaFacts, the_bus_is_the_drivers) {
  char bus[64] = {};
  const bp_device_info info = direct::facts_of(plugin)[0];
  ASSERT_EQ(driver<decltype(cuDeviceGetPCIBusId)>("cuDeviceGetPCIBusId")(bus, sizeof bus,
                                                                         info.dl_device_id),
            CUDA_SUCCESS);
  EXPECT_STRCASEEQ(info.bus, bus);
}

TEST_F(CudaFacts, free_memory_falls_when_much_is_allocated) {
  constexpr uint64_t much = uint64_t{256} << 20;
  const bp_space_info before = direct::main_space(plugin, device());
  const bp_handle held = device().allocate(much);
  ASSERT_NE(held, 0u);
  EXPECT_LE(direct::main_space(plugin, device()).free_bytes + much / 2, before.free_bytes);
  device().release(held);
  direct::expect_no_space_beside_the_main_one(plugin, device());
}

TEST_F(CudaFacts, links_are_alike_in_both_directions) {
  const bp_peer& peer = extension<bp_peer>(BP_PEER);
  for (uint32_t i = 0; i < num_cards(); ++i) {
    fake::Device other(plugin, i);
    bp_link there{}, back{};
    there.h.size = back.h.size = sizeof there;
    ASSERT_EQ(peer.link(device().get(), other.get(), &there), BP_OK);
    ASSERT_EQ(peer.link(other.get(), device().get(), &back), BP_OK);
    EXPECT_EQ(there.kind, back.kind);
    EXPECT_EQ(there.kind == BP_LINK_SAME, i == 0);
  }
}

}  // namespace
