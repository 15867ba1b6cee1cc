// needs: level_zero
// The extension bp.interop of the Level Zero backend: its own objects, handed out.
#include <backplane/extensions/interop.h>

#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroInterop : public direct::LevelZero {
 protected:
  const bp_interop& interop() { return on().extension<bp_interop>(BP_INTEROP); }
};

TEST_P(LevelZeroInterop, hands_out_driver_context_and_device) {
  for (const char* const* kind = interop().device_kinds; *kind != nullptr; ++kind) {
    uint64_t object = 0;
    EXPECT_EQ(interop().device_handle(device().get(), *kind, &object), BP_OK) << *kind;
    EXPECT_NE(object, 0u) << *kind;
  }
}

TEST_P(LevelZeroInterop, hands_out_what_a_stream_is_made_of) {
  const bool is_immediate = std::string(GetParam()) == "immediate";
  const char* own = is_immediate ? "level_zero.command_list" : "level_zero.command_queue";
  const char* other = is_immediate ? "level_zero.command_queue" : "level_zero.command_list";
  uint64_t object = 0;
  EXPECT_EQ(interop().stream_handle(device().get(), nullptr, own, &object), BP_OK);
  EXPECT_NE(object, 0u);
  EXPECT_EQ(interop().stream_handle(device().get(), nullptr, other, &object), BP_UNSUPPORTED);
}

TEST_P(LevelZeroInterop, hands_out_an_event_once_it_was_recorded) {
  bp_event* event = on().make_event();
  uint64_t object = 0;
  EXPECT_EQ(interop().event_handle(device().get(), event, "level_zero.event", &object),
            BP_BAD_ARGUMENT);
  ASSERT_EQ(device().queue().record_event(device().get(), event, nullptr), BP_OK);
  EXPECT_EQ(interop().event_handle(device().get(), event, "level_zero.event", &object), BP_OK);
  EXPECT_NE(object, 0u);
  on().destroy(event);
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroInterop);

}  // namespace
