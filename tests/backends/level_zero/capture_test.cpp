// needs: level_zero
// The extension bp.capture of the Level Zero backend: recordings as command lists that run again and again.
#include <optional>

#include "backends/capture_checks.hpp"
#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroCapture : public direct::LevelZero {
 protected:
  void SetUp() override {
    LevelZero::SetUp();
    if (IsSkipped()) return;
    BP_SKIP_WITHOUT_A_TOOL_CHAIN();
    recorder_.emplace(on(), on().compile(direct::axpb));
  }
  void TearDown() override {
    recorder_.reset();
    LevelZero::TearDown();
  }

  std::optional<direct::Recorder> recorder_;
};

TEST_P(LevelZeroCapture, what_is_recorded_runs_at_replay_alone) {
  direct::expect_what_is_recorded_runs_at_replay_alone(*recorder_);
}

TEST_P(LevelZeroCapture, launches_copies_and_fills_keep_their_order) {
  direct::expect_launches_copies_and_fills_keep_their_order(*recorder_);
}

TEST_P(LevelZeroCapture, a_graph_replays_many_times_without_waiting) {
  direct::expect_a_graph_replays_many_times_without_waiting(*recorder_);
}

TEST_P(LevelZeroCapture, a_graph_runs_once_at_a_time_on_two_streams) {
  direct::expect_a_graph_runs_once_at_a_time_on_two_streams(*recorder_, 200);
}

TEST_P(LevelZeroCapture, an_empty_recording_replays) {
  direct::expect_an_empty_recording_replays(*recorder_);
}

TEST_P(LevelZeroCapture, another_stream_goes_on_meanwhile) {
  direct::expect_another_stream_goes_on_meanwhile(*recorder_);
}

TEST_P(LevelZeroCapture, what_cannot_be_recorded_is_refused) {
  direct::expect_what_cannot_be_recorded_is_refused(*recorder_);
}

TEST_P(LevelZeroCapture, what_comes_before_and_after_a_replay_keeps_its_place) {
  const bp_handle x = on().upload(std::vector<float>{0, 0});
  ASSERT_EQ(recorder_->begin(), BP_OK);
  recorder_->axpb(x, x, 2, 1);
  bp_graph* graph = recorder_->end();
  std::vector<float> got(2 * 40);
  for (size_t i = 0; i < 40; ++i) {
    recorder_->axpb(x, x, 0, static_cast<float>(i));
    recorder_->replay(graph, recorder_->stream);
    ASSERT_EQ(device().to_host(&got[2 * i], x, 8, recorder_->stream), BP_OK);
  }
  ASSERT_EQ(device().synchronize(recorder_->stream), BP_OK);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(got[2 * i], 2 * static_cast<float>(i) + 1) << i;
  recorder_->release(graph);
  device().release(x);
}

// Graphs give their events back, and those are used again.
TEST_P(LevelZeroCapture, many_graphs_live_and_end) {
  const bp_handle x = on().upload(std::vector<float>{0, 0});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(recorder_->begin(), BP_OK);
    recorder_->axpb(x, x, 1, 1);
    bp_graph* graph = recorder_->end();
    recorder_->replay(graph, recorder_->stream);
    recorder_->replay(graph, recorder_->stream);
    recorder_->release(graph);
  }
  ASSERT_EQ(device().synchronize(recorder_->stream), BP_OK);
  EXPECT_EQ(on().download<float>(x, 2), (std::vector<float>{200, 200}));
  device().release(x);
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroCapture);

}  // namespace
