// needs: cuda
// The extension bp.capture of the CUDA backend.
#include <optional>

#include "backends/capture_checks.hpp"
#include "backends/cuda/direct_device.hpp"

namespace {

class CudaCapture : public direct::Cuda {
 protected:
  void SetUp() override {
    direct::Cuda::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(direct::Recorder::try_out(*this), BP_OK) << fake::Host::last_message();
    recorder_.emplace(*this, compile(direct::axpb));
  }
  void TearDown() override { recorder_.reset(); }

  std::optional<direct::Recorder> recorder_;
};

TEST_F(CudaCapture, what_is_recorded_runs_at_replay_alone) {
  direct::expect_what_is_recorded_runs_at_replay_alone(*recorder_);
}

TEST_F(CudaCapture, launches_copies_and_fills_keep_their_order) {
  direct::expect_launches_copies_and_fills_keep_their_order(*recorder_);
}

TEST_F(CudaCapture, a_graph_replays_many_times_without_waiting) {
  direct::expect_a_graph_replays_many_times_without_waiting(*recorder_);
}

TEST_F(CudaCapture, a_graph_runs_once_at_a_time_on_two_streams) {
  direct::expect_a_graph_runs_once_at_a_time_on_two_streams(*recorder_, 20);
}

TEST_F(CudaCapture, an_empty_recording_replays) {
  direct::expect_an_empty_recording_replays(*recorder_);
}

TEST_F(CudaCapture, another_stream_goes_on_meanwhile) {
  direct::expect_another_stream_goes_on_meanwhile(*recorder_);
}

// The core takes memory for what is captured from the card while it captures.
TEST_F(CudaCapture, memory_and_kernels_are_made_within) {
  ASSERT_EQ(recorder_->begin(), BP_OK);
  const bp_handle x = device().allocate(8);
  ASSERT_NE(x, 0u) << fake::Host::last_message();
  bp_module* module =
      compile("extern \"C\" __global__ void seven(float* x) { x[threadIdx.x] = 7; }");
  EXPECT_EQ(launch(find(module, "seven"), 2, {argument(x)}, recorder_->stream, 2), BP_OK);
  bp_graph* graph = recorder_->end();
  recorder_->replay(graph, recorder_->stream);
  ASSERT_EQ(device().synchronize(recorder_->stream), BP_OK);
  EXPECT_EQ(download<float>(x, 2), (std::vector<float>{7, 7}));
  recorder_->release(graph);
  release(module);
  device().release(x);
}

TEST_F(CudaCapture, fills_of_every_width_are_recorded) {
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    const bp_handle x = upload(std::vector<uint8_t>(64, 0));
    uint8_t pattern[16];
    for (uint8_t i = 0; i < 16; ++i) pattern[i] = static_cast<uint8_t>(i + 1);
    const bp_region to{x, 16, 32};
    ASSERT_EQ(recorder_->begin(), BP_OK);
    ASSERT_EQ(memory().fill(device().get(), &to, pattern, width, recorder_->stream), BP_OK);
    bp_graph* graph = recorder_->end();
    EXPECT_EQ(download<uint8_t>(x, 64), std::vector<uint8_t>(64, 0));
    recorder_->replay(graph, recorder_->stream);
    ASSERT_EQ(device().synchronize(recorder_->stream), BP_OK);
    const std::vector<uint8_t> got = download<uint8_t>(x, 64);
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], i >= 16 && i < 48 ? (i - 16) % width + 1 : 0) << width << " at " << i;
    recorder_->release(graph);
    device().release(x);
  }
}

TEST_F(CudaCapture, what_cannot_be_recorded_is_refused) {
  direct::expect_what_cannot_be_recorded_is_refused(*recorder_);
}

}  // namespace
