// needs: opencl
// The extension bp.capture of the OpenCL backend; skipped where the driver has no command buffers.
#include <optional>

#include "backends/capture_checks.hpp"
#include "backends/opencl/direct_device.hpp"

namespace {

class OpenClCapture : public direct::OpenCl {
 protected:
  void SetUp() override {
    const bp_code code = direct::Recorder::try_out(*this);
    if (code == BP_UNSUPPORTED) GTEST_SKIP() << fake::Host::last_message();
    ASSERT_EQ(code, BP_OK) << fake::Host::last_message();
    recorder_.emplace(*this, compile(direct::axpb));
  }
  void TearDown() override { recorder_.reset(); }

  std::optional<direct::Recorder> recorder_;
};

TEST_F(OpenClCapture, what_is_recorded_runs_at_replay_alone) {
  direct::expect_what_is_recorded_runs_at_replay_alone(*recorder_);
}

TEST_F(OpenClCapture, launches_copies_and_fills_keep_their_order) {
  direct::expect_launches_copies_and_fills_keep_their_order(*recorder_);
}

TEST_F(OpenClCapture, a_graph_replays_many_times_without_waiting) {
  direct::expect_a_graph_replays_many_times_without_waiting(*recorder_);
}

TEST_F(OpenClCapture, a_graph_runs_once_at_a_time_on_two_streams) {
  direct::expect_a_graph_runs_once_at_a_time_on_two_streams(*recorder_, 20);
}

TEST_F(OpenClCapture, an_empty_recording_replays) {
  direct::expect_an_empty_recording_replays(*recorder_);
}

TEST_F(OpenClCapture, another_stream_goes_on_meanwhile) {
  direct::expect_another_stream_goes_on_meanwhile(*recorder_);
}

TEST_F(OpenClCapture, what_cannot_be_recorded_is_refused) {
  direct::expect_what_cannot_be_recorded_is_refused(*recorder_);
}

}  // namespace
