// needs: level_zero
// The extension bp.capture of the Level Zero backend: recordings as command lists that run again and again.
#include <backplane/extensions/capture.h>

#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroCapture : public direct::LevelZero {
 protected:
  void SetUp() override {
    LevelZero::SetUp();
    if (IsSkipped()) return;
    BP_SKIP_WITHOUT_A_TOOL_CHAIN();
    stream_ = on().make_stream();
    module_ = on().compile(direct::axpb);
    axpb_ = on().find(module_, "axpb");
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(device().synchronize(stream_), BP_OK);
      on().release(module_);
      on().destroy(stream_);
    }
    LevelZero::TearDown();
  }

  const bp_capture& capture() { return on().extension<bp_capture>(BP_CAPTURE); }
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
    EXPECT_EQ(on().launch(axpb_, 2, {on().argument(x), on().argument(y), on().argument(&values)},
                          stream_),
              BP_OK)
        << fake::Host::last_message();
  }

  bp_stream* stream_ = nullptr;
  bp_module* module_ = nullptr;
  bp_function* axpb_ = nullptr;
};

TEST_P(LevelZeroCapture, what_is_recorded_runs_at_replay_alone) {
  const bp_handle x = on().upload(std::vector<float>{1, 2}),
                  y = on().upload(std::vector<float>{0, 0});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, y, 2, 1);
  axpb(y, y, 10, 0);  // the same function with other arguments
  bp_graph* graph = end();
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(on().download<float>(y, 2), (std::vector<float>{0, 0}));
  replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(on().download<float>(y, 2), (std::vector<float>{30, 50}));
  release_graph(graph);
  device().release(x);
  device().release(y);
}

TEST_P(LevelZeroCapture, launches_copies_and_fills_keep_their_order) {
  const bp_handle x = on().upload(std::vector<float>{1, 2}),
                  y = on().upload(std::vector<float>(8, 0)),
                  z = on().upload(std::vector<float>(8, 0));
  ASSERT_EQ(begin(), BP_OK);
  const float five = 5;
  const bp_region to{x, 4, 4};
  ASSERT_EQ(on().memory().fill(device().get(), &to, &five, 4, stream_), BP_OK);
  axpb(x, y, 2, 1);
  ASSERT_EQ(device().copy({z, 12, 8}, {y, 0, 8}, BP_COPY_WITHIN, stream_), BP_OK);
  axpb(x, y, 0, 7);
  bp_graph* graph = end();
  replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(on().download<float>(z, 6), (std::vector<float>{0, 0, 0, 3, 11, 0}));
  EXPECT_EQ(on().download<float>(y, 2), (std::vector<float>{7, 7}));
  release_graph(graph);
  for (bp_handle handle : {x, y, z}) device().release(handle);
}

TEST_P(LevelZeroCapture, a_graph_replays_many_times_without_waiting) {
  const bp_handle x = on().upload(std::vector<float>{0, 100});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, x, 1, 1);
  bp_graph* graph = end();
  for (int i = 0; i < 50; ++i) replay(graph, stream_);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(on().download<float>(x, 2), (std::vector<float>{50, 150}));
  release_graph(graph);
  device().release(x);
}

TEST_P(LevelZeroCapture, a_graph_runs_once_at_a_time_on_two_streams) {
  const bp_handle x = on().upload(std::vector<float>{0, 100});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, x, 1, 1);
  bp_graph* graph = end();
  bp_stream* other = on().make_stream();
  for (int i = 0; i < 200; ++i) replay(graph, i % 2 == 0 ? stream_ : other);
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  ASSERT_EQ(device().synchronize(other), BP_OK);
  EXPECT_EQ(on().download<float>(x, 2), (std::vector<float>{200, 300}));
  release_graph(graph);
  on().destroy(other);
  device().release(x);
}

TEST_P(LevelZeroCapture, an_empty_recording_replays) {
  ASSERT_EQ(begin(), BP_OK);
  bp_graph* graph = end();
  replay(graph, stream_);
  EXPECT_EQ(device().synchronize(stream_), BP_OK);
  release_graph(graph);
}

TEST_P(LevelZeroCapture, another_stream_goes_on_meanwhile) {
  const bp_handle x = on().upload(std::vector<float>{1, 2});
  ASSERT_EQ(begin(), BP_OK);
  EXPECT_EQ(on().download<float>(x, 2), (std::vector<float>{1, 2}));  // on the default stream
  ASSERT_EQ(capture().end(device().get(), stream_, nullptr), BP_OK);
  device().release(x);
}

TEST_P(LevelZeroCapture, what_cannot_be_recorded_is_refused) {
  const bp_handle x = on().upload(std::vector<float>{1, 2});
  bp_event* event = on().make_event();
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
  on().destroy(event);
  device().release(x);
}

TEST_P(LevelZeroCapture, what_comes_before_and_after_a_replay_keeps_its_place) {
  const bp_handle x = on().upload(std::vector<float>{0, 0});
  ASSERT_EQ(begin(), BP_OK);
  axpb(x, x, 2, 1);
  bp_graph* graph = end();
  std::vector<float> got(2 * 40);
  for (size_t i = 0; i < 40; ++i) {
    axpb(x, x, 0, static_cast<float>(i));
    replay(graph, stream_);
    ASSERT_EQ(device().to_host(&got[2 * i], x, 8, stream_), BP_OK);
  }
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(got[2 * i], 2 * static_cast<float>(i) + 1) << i;
  release_graph(graph);
  device().release(x);
}

// Graphs give their events back, and those are used again.
TEST_P(LevelZeroCapture, many_graphs_live_and_end) {
  const bp_handle x = on().upload(std::vector<float>{0, 0});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(begin(), BP_OK);
    axpb(x, x, 1, 1);
    bp_graph* graph = end();
    replay(graph, stream_);
    replay(graph, stream_);
    release_graph(graph);
  }
  ASSERT_EQ(device().synchronize(stream_), BP_OK);
  EXPECT_EQ(on().download<float>(x, 2), (std::vector<float>{200, 200}));
  device().release(x);
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroCapture);

}  // namespace
