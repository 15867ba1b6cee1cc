// needs: level_zero
// Memory of the Level Zero backend: copies in all directions, fills, kinds, exhaustion.

#include "backends/level_zero/direct_device.hpp"
#include "backends/memory_checks.hpp"

namespace {

class LevelZeroMemory : public direct::LevelZero {};

TEST_P(LevelZeroMemory, says_what_the_device_is) {
  const bp_device_info info = direct::infos_of(on().plugin).at(0);
  direct::expect_names_and_sizes(info);
  EXPECT_EQ(info.flags, BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_REAL_ADDRESSES);
}

TEST_P(LevelZeroMemory, copies_in_all_directions_at_offsets) {
  direct::expect_copies_in_all_directions_at_offsets(on());
}

TEST_P(LevelZeroMemory, copies_many_megabytes_whole_with_and_without_staging) {
  for (const char* staging : {"0", "1"}) {
    const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_STAGING", staging);
    reopen();
    direct::expect_a_copy_arrives_whole(on(), (17 << 20) / 4 + 3);
  }
}

TEST_P(LevelZeroMemory, allocations_lie_at_multiples_of_what_was_asked_for) {
  for (const uint64_t alignment : {1u, 64u, 256u, 4096u}) {
    bp_handle handles[3] = {};
    for (bp_handle& handle : handles) {
      ASSERT_EQ(on().memory().allocate(device().get(), 100, alignment, &handle), BP_OK)
          << fake::Host::last_message();
      EXPECT_EQ(handle % alignment, 0u);
    }
    for (const bp_handle handle : handles) device().release(handle);
  }
}

TEST_P(LevelZeroMemory, fills_with_a_pattern_of_every_width) {
  direct::expect_fills_with_a_pattern_of_every_width(on());
}

TEST_P(LevelZeroMemory, fills_where_the_pattern_does_not_divide_the_place) {
  direct::expect_fills_where_the_pattern_does_not_divide_the_place(on());
}

TEST_P(LevelZeroMemory, refuses_a_pattern_of_three_bytes) {
  direct::expect_a_pattern_of_three_bytes_is_refused(on());
}

TEST_P(LevelZeroMemory, an_allocation_beyond_the_device_is_out_of_memory) {
  direct::expect_an_allocation_beyond_the_device_is_out_of_memory(on());
  EXPECT_THAT(fake::Host::last_message(),
              testing::StartsWith("1152921504606846976 bytes asked for; one allocation"));
}

TEST_P(LevelZeroMemory, shared_and_host_memory_can_be_read_in_place) {
  for (const char* kind : {"shared", "host"}) {
    const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_MEMORY", kind);
    reopen();
    EXPECT_TRUE(direct::infos_of(on().plugin).at(0).flags & BP_DEVICE_HOST_READABLE) << kind;
    const bp_handle handle = on().upload(std::vector<int>{1, 2, 3});
    int* const values = reinterpret_cast<int*>(handle);
    EXPECT_EQ(values[2], 3) << kind;
    values[0] = 7;
    EXPECT_EQ(on().download<int>(handle, 3), (std::vector<int>{7, 2, 3})) << kind;
    device().release(handle);
  }
}

TEST_P(LevelZeroMemory, an_unknown_kind_is_the_devices_own_and_told) {
  const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_MEMORY", "purple");
  reopen();
  EXPECT_FALSE(direct::infos_of(on().plugin).at(0).flags & BP_DEVICE_HOST_READABLE);
  EXPECT_THAT(on().host.log_lines(), testing::Contains(testing::HasSubstr("'purple'")));
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroMemory);

}  // namespace
