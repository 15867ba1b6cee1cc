// needs: cuda
// The extension bp.peer of the CUDA backend; skipped with less than two cards.
#include <backplane/extensions/peer.h>

#include "backends/cuda/direct_device.hpp"

namespace {

class CudaPeer : public direct::Cuda {
 protected:
  void SetUp() override {
    direct::Cuda::SetUp();
    if (IsSkipped()) return;
    if (num_cards() < 2) GTEST_SKIP() << "one card is here, and this needs two";
    second_.emplace(plugin, 1);
  }
  fake::Device& second() { return *second_; }
  const bp_peer& peer() { return extension<bp_peer>(BP_PEER); }

 private:
  std::optional<fake::Device> second_;
};

TEST_F(CudaPeer, a_copy_waits_for_both_streams_and_both_wait_for_it) {
  bp_module* module = compile(direct::spin);
  const bp_handle from = upload(std::vector<uint32_t>(1 << 20, 7));
  const bp_handle to = second().allocate(4 << 20);
  const uint64_t rounds = 4'000'000;
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_EQ(launch(find(module, "spin"), 1, {argument(from), argument(&rounds)}), BP_OK);
    const bp_region target{to, 0, 4 << 20}, source{from, 0, 4 << 20};
    ASSERT_EQ(peer().copy(second().get(), &target, nullptr, device().get(), &source, nullptr),
              BP_OK)
        << fake::Host::last_message();
    std::vector<uint32_t> got(1 << 20);
    ASSERT_EQ(second().to_host(got.data(), to, 4 << 20), BP_OK);
    ASSERT_EQ(second().synchronize(), BP_OK);
    EXPECT_EQ(got, download<uint32_t>(from, 1 << 20)) << turn;
    EXPECT_NE(got[0], 7u);
    EXPECT_EQ(got[1], 7u);
  }
  second().release(to);
  device().release(from);
  release(module);
}

TEST_F(CudaPeer, copies_the_other_way_at_offsets) {
  const bp_handle here = upload(std::vector<uint8_t>(64, 1)), there = second().allocate(64);
  std::vector<uint8_t> sent(64);
  for (uint8_t i = 0; i < 64; ++i) sent[i] = i;
  ASSERT_EQ(second().from_host(there, sent.data(), 64), BP_OK);
  const bp_region target{here, 10, 20}, source{there, 30, 20};
  ASSERT_EQ(peer().copy(device().get(), &target, nullptr, second().get(), &source, nullptr), BP_OK);
  const std::vector<uint8_t> got = download<uint8_t>(here, 64);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i >= 10 && i < 30 ? i + 20 : 1) << i;
  second().release(there);
  device().release(here);
}

}  // namespace
