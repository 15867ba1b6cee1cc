// needs: cpu
// alone: tests/runtime/fake_plugin.hpp and tests/dispatcher/calls.hpp mean different things by the same names
// Capture by a device that records by itself (bp.capture): a plugin inside the test, with two kernels.
#include <gtest/gtest.h>
#include <thread>

#include <backplane/capture/capture.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/extensions/capture.h>
#include <backplane/tensors.hpp>

#include "capture/planned_checks.hpp"
#include "runtime/fake_plugin.hpp"

namespace {

using namespace bp::test;
using bp::Recording;
using bp::Tensor;

using Work = std::vector<std::function<void()>>;

// Work that comes while a stream is recorded goes to the graph.
struct RecordingPlugin : FakePlugin {
  std::map<bp_stream*, Work> recorded;
  int num_graphs = 0, num_dropped = 0, num_runs = 0, num_waits_while_recorded = 0;
  bp_code begin_code = BP_OK, end_code = BP_OK;
  bp_capture extension{};
  bp_arg places[4]{};
  bp_kernel add{}, neg{}, floor{};

  RecordingPlugin() : FakePlugin("recorder") {
    make_asynchronous();
    memory.copy = copy;
    memory.fill = fill;
    queue.synchronize = synchronize;
    plugin.extension = [](void* self, const char* name, std::uint32_t) -> const bp_header* {
      return std::strcmp(name, BP_CAPTURE) == 0 ? &me(self).extension.h : nullptr;
    };
    extension = {{sizeof extension, BP_TYPE_EXTENSION, nullptr}, begin, end, replay, release};
    for (bp_arg& place : places) place.dtypes = 1u << BP_F32, place.layouts = BP_LAYOUT_CONTIGUOUS;
    describe(add, "add", BP_KERNEL_CAPTURABLE, run_add);
    describe(neg, "neg", BP_KERNEL_CAPTURABLE | BP_KERNEL_MAY_FAULT, run_neg);
    describe(floor, "floor", 0, run_neg);
  }

  void describe(bp_kernel& kernel, const char* op, std::uint32_t kernel_flags,
                bp_code (*function)(void*, const bp_call*)) {
    kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
    kernel.op = op;
    kernel.schema_hash = bp::find_operator(op)->schema->hash;
    kernel.args = places;
    kernel.num_args = 1;
    kernel.flags = kernel_flags | BP_KERNEL_DETERMINISTIC;
    kernel.self = this;
    kernel.run = function;
  }

  static RecordingPlugin& me(void* self) { return static_cast<RecordingPlugin&>(of(self)); }
  static RecordingPlugin& me(bp_device* device) {
    return static_cast<RecordingPlugin&>(of(device));
  }

  void give(bp_stream* stream, std::function<void()> work) {
    const std::lock_guard lock(mutex);
    if (const auto found = recorded.find(stream); found != recorded.end())
      return found->second.push_back(std::move(work));
    fake(stream)->work.push_back(std::move(work));
    ++fake(stream)->given;
  }

  static char* address(const bp_region& region) {
    return reinterpret_cast<char*>(region.handle + region.offset);
  }
  static float* data(const bp_tensor* tensor) {
    return reinterpret_cast<float*>(static_cast<char*>(tensor->dl.data) + tensor->dl.byte_offset);
  }

  static bp_code copy(bp_device* device, const bp_region* to, const bp_region* from, std::uint32_t,
                      bp_stream* stream) {
    me(device).give(
        stream, [to = *to, from = *from] { std::memcpy(address(to), address(from), to.bytes); });
    return BP_OK;
  }
  static bp_code fill(bp_device* device, const bp_region* to, const void* pattern,
                      std::uint32_t bytes, bp_stream* stream) {
    std::string element(static_cast<const char*>(pattern), bytes);
    me(device).give(stream, [to = *to, element] {
      for (std::uint64_t at = 0; at < to.bytes; at += element.size())
        std::memcpy(address(to) + at, element.data(), element.size());
    });
    return BP_OK;
  }
  static bp_code synchronize(bp_device* device, bp_stream* stream) {
    if (me(device).recorded.count(stream)) {
      ++me(device).num_waits_while_recorded;
      return say(BP_BAD_ARGUMENT, "the stream is recorded");
    }
    return FakePlugin::synchronize(device, stream);
  }

  static bp_code run_add(void* self, const bp_call* call) {
    ++me(self).num_runs;
    const float* a = data(call->args[0].u.tensor);
    const float* b = data(call->args[1].u.tensor);
    float* out = data(call->outputs[0]);
    me(self).give(call->stream, [a, b, out, n = call->outputs[0]->numel] {
      for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
    });
    return BP_OK;
  }
  // Finds fault with 13.
  static bp_code run_neg(void* self, const bp_call* call) {
    ++me(self).num_runs;
    const float* a = data(call->args[0].u.tensor);
    float* out = data(call->outputs[0]);
    char* fault = call->fault ? address(*call->fault) : nullptr;
    me(self).give(call->stream, [a, out, fault, n = call->outputs[0]->numel] {
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = -a[i];
        if (fault && a[i] == 13) *fault = 1;
      }
    });
    return BP_OK;
  }

  static bp_code begin(bp_device* device, bp_stream* stream) {
    if (me(device).begin_code != BP_OK) return say(me(device).begin_code, "it will not record");
    EXPECT_TRUE(fake(stream)->work.empty()) << "earlier work is under way";
    me(device).recorded[stream];
    return BP_OK;
  }
  static bp_code end(bp_device* device, bp_stream* stream, bp_graph** out) {
    RecordingPlugin& self = me(device);
    const std::lock_guard lock(self.mutex);
    auto work = std::make_unique<Work>(std::move(self.recorded.at(stream)));
    self.recorded.erase(stream);
    if (!out) ++self.num_dropped;
    if (self.end_code != BP_OK) return say(self.end_code, "the graph has a hole");
    if (!out) return BP_OK;
    ++self.num_graphs;
    *out = reinterpret_cast<bp_graph*>(work.release());
    return BP_OK;
  }
  static bp_code replay(bp_device* device, bp_graph* graph, bp_stream* stream) {
    for (const auto& work : *reinterpret_cast<Work*>(graph)) me(device).give(stream, work);
    return BP_OK;
  }
  static void release(bp_device* device, bp_graph* graph) {
    --me(device).num_graphs;
    delete reinterpret_cast<Work*>(graph);
  }
};

class DeviceCapture : public testing::Test {
 protected:
  DeviceCapture() {
    const bp_kernel* kernels[] = {&plugin_.add, &plugin_.neg, &plugin_.floor};
    bp::register_kernels(*registered_.backend, kernels, 3);
  }
  ~DeviceCapture() override {
    bp::synchronize(device_);  // graphs go when their last replay is done
    EXPECT_EQ(plugin_.num_graphs, 0);
    EXPECT_EQ(plugin_.num_waits_while_recorded, 0);
    bp::unregister_kernels(registered_.backend->number);
  }

  Tensor given(const std::vector<float>& values) {
    const Tensor tensor =
        bp::empty_tensor({static_cast<std::int64_t>(values.size())}, bp::f32, device_);
    bp::copy_from_host_memory(tensor, values.data());
    return tensor;
  }
  static std::vector<float> values(const Tensor& tensor) {
    std::vector<float> result(static_cast<std::size_t>(tensor.numel()));
    bp::copy_to_host_memory(tensor, result.data());
    return result;
  }

  struct Operators {
    Operators() { bp::ensure_operators(); }
  } operators_;
  RecordingPlugin plugin_;
  Registered registered_{plugin_};
  bp::Device device_ = registered_.device();
};

TEST_F(DeviceCapture, kernels_run_once_and_are_replayed_by_the_device) {
  const Tensor x = given({1, 2, 3}), y = given({10, 20, 30});
  Tensor result;
  Recording graph = bp::capture(device_, [&] { result = bp::neg(bp::add(x, y)); });
  EXPECT_TRUE(graph.is_of_device());
  EXPECT_EQ(graph.num_calls(), 2u);
  EXPECT_EQ(plugin_.num_runs, 2);
  graph.replay();
  EXPECT_EQ(values(result), (std::vector<float>{-11, -22, -33}));
  bp::copy_into(x, given({4, 5, 6}));
  graph.replay();
  EXPECT_EQ(values(result), (std::vector<float>{-14, -25, -36}));
  EXPECT_EQ(plugin_.num_runs, 2);
}

TEST_F(DeviceCapture, copies_within_and_numbers_are_recorded) {
  const Tensor x = given({1}), copy = given({0});
  Tensor result;
  Recording graph = bp::capture(device_, [&] {
    const Tensor number = bp::scalar_tensor(2.5, bp::f32, device_);
    bp::copy_into(copy, x);
    result = bp::add(copy, number);
  });
  EXPECT_EQ(values(copy), std::vector<float>{0});
  bp::copy_into(x, given({4}));
  graph.replay();
  EXPECT_EQ(values(copy), std::vector<float>{4});
  EXPECT_EQ(values(result), std::vector<float>{6.5});
}

TEST_F(DeviceCapture, a_planned_kernels_workspace_and_plan_live_with_the_recording) {
  expect_a_planned_kernel_is_recorded(device_);
}

TEST_F(DeviceCapture, memory_that_it_names_is_given_to_nobody_else) {
  const std::vector<float> ones(50000, 1), twos(50000, 2);
  Tensor x = given(ones), result;
  Recording graph = bp::capture(device_, [&] {
    const Tensor between = bp::add(x, x);
    result = bp::neg(bp::add(between, x));
  });
  x = {};
  std::vector<Tensor> others;
  for (int i = 0; i < 8; ++i) others.push_back(given(twos));
  graph.replay();
  EXPECT_EQ(values(result), std::vector<float>(50000, -3));
  for (const Tensor& other : others) EXPECT_EQ(values(other), twos);
}

TEST_F(DeviceCapture, a_device_that_has_no_graphs_leaves_it_to_the_core) {
  plugin_.begin_code = BP_UNSUPPORTED;
  const Tensor x = given({1, 2});
  Tensor result;
  Recording graph = bp::capture(device_, [&] { result = bp::neg(x); });
  EXPECT_FALSE(graph.is_of_device());
  EXPECT_EQ(plugin_.num_runs, 0);
  graph.replay();
  EXPECT_EQ(values(result), (std::vector<float>{-1, -2}));
}

TEST_F(DeviceCapture, errors_of_the_device_come_through_and_leave_the_stream_as_it_was) {
  const Tensor x = given({1, 2});
  const auto work = [&] { bp::neg(x); };
  plugin_.begin_code = BP_INTERNAL;
  EXPECT_NE(text_of([&] { bp::capture(device_, work); }).find("it will not record"),
            std::string::npos);
  plugin_.begin_code = BP_OK;
  plugin_.end_code = BP_INTERNAL;
  EXPECT_NE(text_of([&] { bp::capture(device_, work); }).find("the graph has a hole"),
            std::string::npos);
  plugin_.end_code = BP_OK;
  EXPECT_EQ(text_of([&] { bp::capture(device_, [&] { values(bp::neg(x)); }); }),
            "copy: values go to the host within the capture on recorder:0, and a replay could not "
            "repeat that; copy before the capture, or after a replay");
  EXPECT_EQ(plugin_.num_dropped, 1);
  EXPECT_EQ(values(bp::neg(x)), (std::vector<float>{-1, -2}));
}

TEST_F(DeviceCapture, a_kernel_that_cannot_be_captured_is_refused) {
  const Tensor x = given({1, 2});
  EXPECT_EQ(text_of([&] { bp::capture(device_, [&] { bp::floor(x); }); }),
            "floor: no kernel of recorder:0 takes this call in a capture, and what runs on the "
            "host cannot be part of a "
            "capture; call it outside");
}

TEST_F(DeviceCapture, a_bad_index_in_a_replay_is_reported_each_time) {
  const Tensor x = given({1, 2});
  Recording graph = bp::capture(device_, [&] { bp::neg(x); });
  graph.replay();
  bp::synchronize(device_);
  bp::copy_into(x, given({1, 13}));
  for (int i = 0; i < 2; ++i) {
    graph.replay();
    EXPECT_NE(text_of([&] { bp::synchronize(device_); }).find("neg: index out of range"),
              std::string::npos);
  }
}

TEST_F(DeviceCapture, one_stream_has_one_recording) {
  const bp::Stream stream(device_);
  bp::capture(stream, [&] {
    std::thread([&] {
      EXPECT_EQ(text_of([&] { bp::capture(stream, [] {}); }),
                "capture: another thread is capturing this stream of recorder:0; use another one");
      const Tensor x = given({1, 2});
      Tensor result;
      Recording graph = bp::capture(bp::Stream(device_), [&] { result = bp::neg(x); });
      graph.replay();
      EXPECT_EQ(values(result), (std::vector<float>{-1, -2}));
    }).join();
  });
}

TEST_F(DeviceCapture, a_graph_is_released_when_its_last_replay_is_done) {
  const Tensor x = given({1, 2}), y = given({0, 0});
  {
    Recording graph = bp::capture(device_, [&] { bp::copy_into(y, x); });
    graph.replay();
  }
  EXPECT_EQ(plugin_.num_graphs, 1);
  EXPECT_EQ(values(y), (std::vector<float>{1, 2}));
  bp::synchronize(device_);
  EXPECT_EQ(plugin_.num_graphs, 0);
}

// The allocator waits for streams before it gives up; not for the one that is recorded.
TEST_F(DeviceCapture, running_out_of_memory_within_it_is_that_error) {
  const Tensor x = given(std::vector<float>(3 << 20, 1));
  plugin_.capacity = plugin_.held_bytes.load();
  const bp::Error error = error_of([&] { bp::capture(device_, [&] { bp::add(x, x); }); });
  EXPECT_EQ(error.error_class(), bp::ErrorClass::out_of_memory) << error.what();
  plugin_.capacity = ~0ull;
  bp::synchronize(device_);
}

TEST_F(DeviceCapture, events_are_no_part_of_it) {
  const Tensor x = given({1, 2});
  bp::Event event(device_);
  EXPECT_EQ(
      text_of([&] { bp::capture(device_, [&] { event.record(bp::Stream::current(device_)); }); }),
      "record: an event cannot be part of a capture on recorder:0; use it before, or around "
      "the replay");
  event.record(bp::Stream::current(device_));
  event.synchronize();
}

}  // namespace
