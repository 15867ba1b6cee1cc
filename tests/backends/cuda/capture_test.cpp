// needs: cuda
// The extension bp.capture of the CUDA backend.
#include <backplane/extensions/capture.h>

#include "backends/cuda/direct_device.hpp"

namespace {

class CudaCapture : public direct::Cuda {
 protected:
  void SetUp() override {
    direct::Cuda::SetUp();
    if (IsSkipped()) return;
    stream_ = make_stream();
    ASSERT_EQ(begin(), BP_OK) << fake::Host::last_message();
    ASSERT_EQ(capture().end(device().get(), stream_, nullptr), BP_OK);  // dropped
    module_ = compile(direct::axpb);
    axpb_ = find(module_, "axpb");
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(device().synchronize(stream_), BP_OK);
    if (module_ != nullptr) release(module_);
    destroy(stream_);
  }

  const bp_capture& capture() { return extension<bp_capture>(BP_CAPTURE); }
  bp_code begin() { return capture().begin(device().get(), stream_); }
  bp_graph* end() {
    bp_graph* graph = nullptr;
    EXPECT_EQ(capture().end(device().get(), stream_, &graph), BP_OK) << fake::Host::last_message();
    return graph;
  }
  void replay(bp_graph* graph, bp_stream* stream) {
    EXPECT_EQ(capture().replay(device().get(), graph, stream), BP_OK) << fake::Host::last_message();
  }
  void release_graph(bp_graph* graph) { capture().release(device().get(), graph); }
  // y = scale * x + shift over two elements.
  void axpb(bp_handle x, bp_handle y, float scale, float shift) {
    const direct::AxpbValues values{0, 0, scale, shift};
    EXPECT_EQ(launch(axpb_, 2, {argument(x), argument(y), argument(&values)}, stream_), BP_OK)
        << fake::Host::last_message();
  }

  bp_stream* stream_ = nullptr;
  bp_module* module_ = nullptr;
  bp_function* axpb_ = nullptr;
};

TEST_F(CudaCapture, what_is_recorded_runs_at_replay_alone) {
  const bp_handle x = upload(std::vector<float>{1, 2}), y = upload(std::vector<float>{0, 0});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, y, 2, 1);
  axpb(y, y, 10, 0);  // the same function with other arguments
  bp_graph* graph = end();
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(download<float>(y, 2), (std::vector<float>{0, 0}));
  replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(download<float>(y, 2), (std::vector<float>{30, 50}));
  release_graph(graph);
  device().release(x);
  device().release(y);
}

TEST_F(CudaCapture, launches_copies_and_fills_keep_their_order) {
  const bp_handle x = upload(std::vector<float>{1, 2}), y = upload(std::vector<float>(8, 0)),
                  z = upload(std::vector<float>(8, 0));
  ASSERT_EQ(begin(), BP_OK);
  const float five = 5;
  const bp_region to{x, 4, 4};
  ASSERT_EQ(memory().fill(device().get(), &to, &five, 4, stream_), BP_OK);
  axpb(x, y, 2, 1);
  ASSERT_EQ(device().copy({z, 12, 8}, {y, 0, 8}, BP_COPY_WITHIN, stream_), BP_OK);
  axpb(x, y, 0, 7);
  bp_graph* graph = end();
  replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(download<float>(z, 6), (std::vector<float>{0, 0, 0, 3, 11, 0}));
  EXPECT_EQ(download<float>(y, 2), (std::vector<float>{7, 7}));
  release_graph(graph);
  for (bp_handle handle : {x, y, z}) device().release(handle);
}

TEST_F(CudaCapture, a_graph_replays_many_times_without_waiting) {
  const bp_handle x = upload(std::vector<float>{0, 100});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, x, 1, 1);
  bp_graph* graph = end();
  for (int i = 0; i < 50; ++i) replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(download<float>(x, 2), (std::vector<float>{50, 150}));
  release_graph(graph);
  device().release(x);
}

TEST_F(CudaCapture, a_graph_runs_once_at_a_time_on_two_streams) {
  const bp_handle x = upload(std::vector<float>{0, 100});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, x, 1, 1);
  bp_graph* graph = end();
  bp_stream* other = make_stream();
  for (int i = 0; i < 20; ++i) replay(graph, i % 2 == 0 ? stream_ : other);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  ASSERT_EQ(device().synchronize(other), BP_OK);
  EXPECT_EQ(download<float>(x, 2), (std::vector<float>{20, 120}));
  release_graph(graph);
  destroy(other);
  device().release(x);
}

TEST_F(CudaCapture, an_empty_recording_replays) {
  ASSERT_EQ(begin(), BP_OK);
  bp_graph* graph = end();
  replay(graph, stream_);
  EXPECT_EQ(device().synchronize(stream_), BP_OK);
  release_graph(graph);
}

TEST_F(CudaCapture, another_stream_goes_on_meanwhile) {
  const bp_handle x = upload(std::vector<float>{1, 2});
  ASSERT_EQ(begin(), BP_OK);
  EXPECT_EQ(download<float>(x, 2), (std::vector<float>{1, 2}));  // on the default stream
  ASSERT_EQ(capture().end(device().get(), stream_, nullptr), BP_OK);
  device().release(x);
}

// The core takes memory for what is captured from the card while it captures.
TEST_F(CudaCapture, memory_and_kernels_are_made_within) {
  ASSERT_EQ(begin(), BP_OK);
  const bp_handle x = device().allocate(8);
  ASSERT_NE(x, 0u) << fake::Host::last_message();
  bp_module* module =
      compile("extern \"C\" __global__ void seven(float* x) { x[threadIdx.x] = 7; }");
  EXPECT_EQ(launch(find(module, "seven"), 2, {argument(x)}, stream_, 2), BP_OK);
  bp_graph* graph = end();
  replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(download<float>(x, 2), (std::vector<float>{7, 7}));
  release_graph(graph);
  release(module);
  device().release(x);
}

TEST_F(CudaCapture, fills_of_every_width_are_recorded) {
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    const bp_handle x = upload(std::vector<uint8_t>(64, 0));
    uint8_t pattern[16];
    for (uint8_t i = 0; i < 16; ++i) pattern[i] = static_cast<uint8_t>(i + 1);
    const bp_region to{x, 16, 32};
    ASSERT_EQ(begin(), BP_OK);
    ASSERT_EQ(memory().fill(device().get(), &to, pattern, width, stream_), BP_OK);
    bp_graph* graph = end();
    EXPECT_EQ(download<uint8_t>(x, 64), std::vector<uint8_t>(64, 0));
    replay(graph, stream_);
    ASSERT_EQ(device().synchronize(stream_), BP_OK);
    const std::vector<uint8_t> got = download<uint8_t>(x, 64);
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], i >= 16 && i < 48 ? (i - 16) % width + 1 : 0) << width << " at " << i;
    release_graph(graph);
    device().release(x);
  }
}

TEST_F(CudaCapture, what_cannot_be_recorded_is_refused) {
  const bp_handle x = upload(std::vector<float>{1, 2});
  bp_event* event = make_event();
  float bytes[2] = {};
  ASSERT_EQ(begin(), BP_OK);
  EXPECT_EQ(begin(), BP_BAD_ARGUMENT);
  EXPECT_EQ(device().from_host(x, bytes, 8, stream_), BP_UNSUPPORTED);
  EXPECT_EQ(device().to_host(bytes, x, 8, stream_), BP_UNSUPPORTED);
  EXPECT_EQ(device().synchronize(stream_), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "synchronize: this stream records its work, and a recording cannot hold that");
  EXPECT_EQ(device().queue().record_event(device().get(), event, stream_), BP_UNSUPPORTED);
  ASSERT_EQ(capture().end(device().get(), stream_, nullptr), BP_OK);
  bp_graph* graph = nullptr;
  EXPECT_EQ(capture().end(device().get(), stream_, &graph), BP_BAD_ARGUMENT);
  EXPECT_EQ(graph, nullptr);
  device().queue().destroy_event(device().get(), event);
  device().release(x);
}

}  // namespace
