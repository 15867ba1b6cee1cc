// needs: level_zero
// Streams and events of the Level Zero backend.
#include <optional>

#include "backends/level_zero/direct_device.hpp"
#include "backends/queue_checks.hpp"

namespace {

class LevelZeroQueue : public direct::LevelZero {
 protected:
  direct::Spinner& spinner() {
    if (!spinner_) spinner_.emplace(on(), on().compile(direct::spin), 60'000'000);
    return *spinner_;
  }
  void TearDown() override {
    spinner_.reset();
    LevelZero::TearDown();
  }

 private:
  std::optional<direct::Spinner> spinner_;
};

TEST_P(LevelZeroQueue, copies_and_launches_return_before_the_work_is_done) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  direct::expect_copies_and_launches_return_before_the_work_is_done(spinner(),
                                                                    direct::Reads::return_at_once);
}

TEST_P(LevelZeroQueue, a_synchronized_stream_is_idle_at_once) {
  direct::expect_a_synchronized_stream_is_idle_at_once(on());
}

TEST_P(LevelZeroQueue, a_query_alone_sees_the_end) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  direct::expect_a_query_alone_sees_the_end(spinner());
}

TEST_P(LevelZeroQueue, an_event_orders_two_streams) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  direct::expect_an_event_orders_two_streams(spinner(), direct::Reads::return_at_once);
}

TEST_P(LevelZeroQueue, measures_the_work_between_events) {
  BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  direct::expect_measures_the_work_between_events(spinner());
}

TEST_P(LevelZeroQueue, serves_eight_threads_on_eight_streams) {
  direct::expect_eight_threads_use_eight_streams(on());
}

TEST_P(LevelZeroQueue, a_forked_child_is_told_so) {
  direct::expect_a_forked_child_is_told_so(on());
}

// Each record takes a fresh place, and a wait keeps the one that it waits for.
TEST_P(LevelZeroQueue, an_event_moves_on_while_streams_still_wait_for_where_it_was) {
  bp_stream *writer = on().make_stream(), *reader = on().make_stream();
  bp_event* written = on().make_event();
  const bp_handle handle = on().upload(std::vector<int32_t>{0});
  std::vector<int32_t> sent(300), got(300);
  for (int i = 0; i < 300; ++i) {
    const auto place = static_cast<size_t>(i);
    sent[place] = i;
    ASSERT_EQ(device().from_host(handle, &sent[place], 4, writer), BP_OK);
    ASSERT_EQ(device().queue().record_event(device().get(), written, writer), BP_OK);
    ASSERT_EQ(device().queue().wait_event(device().get(), reader, written), BP_OK);
    ASSERT_EQ(device().to_host(&got[place], handle, 4, reader), BP_OK);
    ASSERT_EQ(device().queue().record_event(device().get(), written, reader), BP_OK);
    ASSERT_EQ(device().queue().wait_event(device().get(), writer, written), BP_OK);
  }
  ASSERT_EQ(device().synchronize(reader), BP_OK);
  EXPECT_EQ(got, sent);
  ASSERT_EQ(device().synchronize(writer), BP_OK);
  on().destroy(written);
  device().release(handle);
  on().destroy(writer);
  on().destroy(reader);
}

TEST_P(LevelZeroQueue, urgent_streams_are_streams) {
  for (const int32_t priority : {-1, 0, 1}) {
    bp_stream* stream = nullptr;
    ASSERT_EQ(device().queue().create_stream(device().get(), priority, &stream), BP_OK)
        << fake::Host::last_message();
    EXPECT_EQ(device().synchronize(stream), BP_OK);
    on().destroy(stream);
  }
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroQueue);

}  // namespace
