// needs: cuda
// Memory of the CUDA backend: copies in all directions, fills, exhaustion.
#include <gmock/gmock.h>

#include "backends/cuda/direct_device.hpp"
#include "backends/memory_checks.hpp"

namespace {

class CudaMemory : public direct::Cuda {};

TEST_F(CudaMemory, says_what_the_device_is) {
  for (const bp_device_info& info : direct::infos_of(plugin)) {
    direct::expect_names_and_sizes(info);
    EXPECT_EQ(info.offset_alignment, 256u);
    EXPECT_EQ(info.dl_device_type, 2);  // kDLCUDA
    EXPECT_TRUE(info.flags & BP_DEVICE_REAL_ADDRESSES);
  }
}

TEST_F(CudaMemory, copies_in_all_directions_at_offsets) {
  direct::expect_copies_in_all_directions_at_offsets(*this);
}

TEST_F(CudaMemory, copies_within_one_allocation) {
  direct::expect_copies_within_one_allocation(*this);
}

TEST_F(CudaMemory, copies_many_megabytes_whole) {
  direct::expect_a_copy_arrives_whole(*this, (40 << 20) / 4);
}

TEST_F(CudaMemory, fills_with_a_pattern_of_every_width) {
  direct::expect_fills_with_a_pattern_of_every_width(*this);
}

TEST_F(CudaMemory, fills_where_the_pattern_does_not_divide_the_place) {
  direct::expect_fills_where_the_pattern_does_not_divide_the_place(*this);
}

TEST_F(CudaMemory, refuses_a_pattern_of_three_bytes) {
  direct::expect_a_pattern_of_three_bytes_is_refused(*this);
}

TEST_F(CudaMemory, an_allocation_beyond_the_device_is_out_of_memory) {
  direct::expect_an_allocation_beyond_the_device_is_out_of_memory(*this);
  EXPECT_THAT(fake::Host::last_message(),
              testing::HasSubstr("1152921504606846976 bytes asked for; of the card's "));
}

TEST_F(CudaMemory, an_exhausted_card_serves_again_after_freeing) {
  std::vector<bp_handle> held;
  for (uint64_t bytes = uint64_t{8} << 30; bytes >= uint64_t{64} << 20;) {
    const bp_handle handle = device().allocate(bytes);
    if (handle != 0)
      held.push_back(handle);
    else
      bytes /= 2;
  }
  ASSERT_FALSE(held.empty());
  EXPECT_EQ(device().allocate(uint64_t{1} << 30), 0u);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("are allocated here"));
  for (bp_handle handle : held) device().release(handle);
  const bp_handle handle = device().allocate(uint64_t{1} << 30);
  EXPECT_NE(handle, 0u);
  device().release(handle);
}

}  // namespace
