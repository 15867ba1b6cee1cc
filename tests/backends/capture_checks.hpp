// What a backend with the extension bp.capture does: asked of a device, with a module that has the kernel axpb.
#pragma once

#include <backplane/extensions/capture.h>

#include "backends/direct_device.hpp"

namespace direct {

// A stream of its own that records, and the kernel axpb on it.
class Recorder {
 public:
  // Takes the module.
  Recorder(DirectDevice& device, bp_module* module)
      : on(device), stream(device.make_stream()), module_(module),
        axpb_(device.find(module, "axpb")) {}
  ~Recorder() {
    EXPECT_EQ(on.opened().synchronize(stream), BP_OK);
    on.release(module_);
    on.destroy(stream);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Whether the device records at all; what was recorded is dropped.
  static bp_code try_out(DirectDevice& on) {
    bp_stream* stream = on.make_stream();
    const auto& capture = on.extension<bp_capture>(BP_CAPTURE);
    const bp_code code = capture.begin(on.opened().get(), stream);
    if (code == BP_OK) {
      EXPECT_EQ(capture.end(on.opened().get(), stream, nullptr), BP_OK);
    }
    on.destroy(stream);
    return code;
  }

  bp_code begin() { return capture().begin(device(), stream); }
  bp_code drop() { return capture().end(device(), stream, nullptr); }
  bp_graph* end() {
    bp_graph* graph = nullptr;
    EXPECT_EQ(capture().end(device(), stream, &graph), BP_OK) << fake::Host::last_message();
    return graph;
  }
  void replay(bp_graph* graph, bp_stream* on_stream) {
    EXPECT_EQ(capture().replay(device(), graph, on_stream), BP_OK) << fake::Host::last_message();
  }
  void release(bp_graph* graph) { capture().release(device(), graph); }
  // y = scale * x + shift over two elements.
  void axpb(bp_handle x, bp_handle y, float scale, float shift) {
    const AxpbValues values{0, 0, scale, shift};
    EXPECT_EQ(on.launch(axpb_, 2, {on.argument(x), on.argument(y), on.argument(&values)}, stream),
              BP_OK)
        << fake::Host::last_message();
  }
  const bp_capture& capture() { return on.extension<bp_capture>(BP_CAPTURE); }

  DirectDevice& on;
  bp_stream* const stream;

 private:
  bp_device* device() { return on.opened().get(); }

  bp_module* module_;
  bp_function* axpb_;
};

inline void expect_what_is_recorded_runs_at_replay_alone(Recorder& r) {
  fake::Device& device = r.on.opened();
  const bp_handle x = r.on.upload(std::vector<float>{1, 2}),
                  y = r.on.upload(std::vector<float>{0, 0});
  ASSERT_EQ(r.begin(), BP_OK);
  r.axpb(x, y, 2, 1);
  r.axpb(y, y, 10, 0);  // the same function with other arguments
  bp_graph* graph = r.end();
  ASSERT_EQ(device.synchronize(r.stream), BP_OK);
  EXPECT_EQ(r.on.download<float>(y, 2), (std::vector<float>{0, 0}));
  r.replay(graph, r.stream);
  ASSERT_EQ(device.synchronize(r.stream), BP_OK);
  EXPECT_EQ(r.on.download<float>(y, 2), (std::vector<float>{30, 50}));
  r.release(graph);
  device.release(x);
  device.release(y);
}

inline void expect_launches_copies_and_fills_keep_their_order(Recorder& r) {
  fake::Device& device = r.on.opened();
  const bp_handle x = r.on.upload(std::vector<float>{1, 2}),
                  y = r.on.upload(std::vector<float>(8, 0)),
                  z = r.on.upload(std::vector<float>(8, 0));
  ASSERT_EQ(r.begin(), BP_OK);
  const float five = 5;
  const bp_region to{x, 4, 4};
  ASSERT_EQ(r.on.memory().fill(device.get(), &to, &five, 4, r.stream), BP_OK);
  r.axpb(x, y, 2, 1);
  ASSERT_EQ(device.copy({z, 12, 8}, {y, 0, 8}, BP_COPY_WITHIN, r.stream), BP_OK);
  r.axpb(x, y, 0, 7);
  bp_graph* graph = r.end();
  r.replay(graph, r.stream);
  ASSERT_EQ(device.synchronize(r.stream), BP_OK);
  EXPECT_EQ(r.on.download<float>(z, 6), (std::vector<float>{0, 0, 0, 3, 11, 0}));
  EXPECT_EQ(r.on.download<float>(y, 2), (std::vector<float>{7, 7}));
  r.release(graph);
  for (bp_handle handle : {x, y, z}) device.release(handle);
}

inline void expect_a_graph_replays_many_times_without_waiting(Recorder& r) {
  const bp_handle x = r.on.upload(std::vector<float>{0, 100});
  ASSERT_EQ(r.begin(), BP_OK);
  r.axpb(x, x, 1, 1);
  bp_graph* graph = r.end();
  for (int i = 0; i < 50; ++i) r.replay(graph, r.stream);
  ASSERT_EQ(r.on.opened().synchronize(r.stream), BP_OK);
  EXPECT_EQ(r.on.download<float>(x, 2), (std::vector<float>{50, 150}));
  r.release(graph);
  r.on.opened().release(x);
}

inline void expect_a_graph_runs_once_at_a_time_on_two_streams(Recorder& r, int num_replays) {
  const bp_handle x = r.on.upload(std::vector<float>{0, 100});
  ASSERT_EQ(r.begin(), BP_OK);
  r.axpb(x, x, 1, 1);
  bp_graph* graph = r.end();
  bp_stream* other = r.on.make_stream();
  for (int i = 0; i < num_replays; ++i) r.replay(graph, i % 2 == 0 ? r.stream : other);
  ASSERT_EQ(r.on.opened().synchronize(r.stream), BP_OK);
  ASSERT_EQ(r.on.opened().synchronize(other), BP_OK);
  const auto sum = static_cast<float>(num_replays);
  EXPECT_EQ(r.on.download<float>(x, 2), (std::vector<float>{sum, 100 + sum}));
  r.release(graph);
  r.on.destroy(other);
  r.on.opened().release(x);
}

inline void expect_an_empty_recording_replays(Recorder& r) {
  ASSERT_EQ(r.begin(), BP_OK);
  bp_graph* graph = r.end();
  r.replay(graph, r.stream);
  EXPECT_EQ(r.on.opened().synchronize(r.stream), BP_OK);
  r.release(graph);
}

inline void expect_another_stream_goes_on_meanwhile(Recorder& r) {
  const bp_handle x = r.on.upload(std::vector<float>{1, 2});
  ASSERT_EQ(r.begin(), BP_OK);
  EXPECT_EQ(r.on.download<float>(x, 2), (std::vector<float>{1, 2}));  // on the default stream
  ASSERT_EQ(r.drop(), BP_OK);
  r.on.opened().release(x);
}

inline void expect_what_cannot_be_recorded_is_refused(Recorder& r) {
  fake::Device& device = r.on.opened();
  const bp_handle x = r.on.upload(std::vector<float>{1, 2});
  bp_event* event = r.on.make_event();
  float bytes[2] = {};
  ASSERT_EQ(r.begin(), BP_OK);
  EXPECT_EQ(r.begin(), BP_BAD_ARGUMENT);
  EXPECT_EQ(device.from_host(x, bytes, 8, r.stream), BP_UNSUPPORTED);
  EXPECT_EQ(device.to_host(bytes, x, 8, r.stream), BP_UNSUPPORTED);
  EXPECT_EQ(device.synchronize(r.stream), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "synchronize: this stream records its work, and a recording cannot hold that");
  EXPECT_EQ(device.queue().record_event(device.get(), event, r.stream), BP_UNSUPPORTED);
  ASSERT_EQ(r.drop(), BP_OK);
  bp_graph* graph = nullptr;
  EXPECT_EQ(r.capture().end(device.get(), r.stream, &graph), BP_BAD_ARGUMENT);
  EXPECT_EQ(graph, nullptr);
  r.on.destroy(event);
  device.release(x);
}

}  // namespace direct
