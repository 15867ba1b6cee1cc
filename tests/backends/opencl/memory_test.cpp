// needs: opencl
// Memory of the OpenCL backend: copies in all directions, fills, exhaustion.

#include "backends/memory_checks.hpp"
#include "backends/opencl/direct_device.hpp"

namespace {

class OpenClMemory : public direct::OpenCl {};

TEST_F(OpenClMemory, says_what_the_device_is) {
  for (const bp_device_info& info : direct::infos_of(plugin)) {
    direct::expect_names_and_sizes(info);
    EXPECT_EQ(info.offset_alignment, 64u);
  }
}

TEST_F(OpenClMemory, copies_in_all_directions_at_offsets) {
  direct::expect_copies_in_all_directions_at_offsets(*this);
}

TEST_F(OpenClMemory, copies_within_one_allocation) {
  direct::expect_copies_within_one_allocation(*this);
}

TEST_F(OpenClMemory, copies_many_megabytes_whole) {
  direct::expect_a_copy_arrives_whole(*this, (40 << 20) / 4);
}

TEST_F(OpenClMemory, fills_with_a_pattern_of_every_width) {
  direct::expect_fills_with_a_pattern_of_every_width(*this);
}

TEST_F(OpenClMemory, fills_where_the_pattern_does_not_divide_the_place) {
  direct::expect_fills_where_the_pattern_does_not_divide_the_place(*this);
}

TEST_F(OpenClMemory, refuses_a_pattern_of_three_bytes) {
  direct::expect_a_pattern_of_three_bytes_is_refused(*this);
}

TEST_F(OpenClMemory, refuses_what_lies_outside_an_allocation) {
  const bp_handle handle = device.allocate(100);
  char bytes[64] = {};
  const bp_region host_side{reinterpret_cast<uintptr_t>(bytes), 0, 64};
  EXPECT_EQ(device.copy({handle, 64, 64}, host_side, BP_COPY_FROM_HOST), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "copy: the target: 64 bytes at offset 64 do not lie within an allocation of 100 bytes");
  EXPECT_EQ(device.copy(host_side, {handle, UINT64_MAX, 64}, BP_COPY_TO_HOST), BP_BAD_ARGUMENT);
  EXPECT_EQ(device.copy({0, 0, 64}, host_side, BP_COPY_FROM_HOST), BP_BAD_ARGUMENT);
  device.release(handle);
}

TEST_F(OpenClMemory, an_allocation_beyond_the_device_is_out_of_memory) {
  direct::expect_an_allocation_beyond_the_device_is_out_of_memory(*this);
}

}  // namespace
