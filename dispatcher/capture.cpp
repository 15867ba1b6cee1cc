// Beginning, ending and replaying captures.
#include <algorithm>
#include <cstring>

#include <backplane/dispatcher/capture.hpp>
#include <backplane/dispatcher/loading/generated/abi_sizes.hpp>
#include <backplane/tensor/check.hpp>

#include "generated_kernels.hpp"
#include "recording.hpp"

namespace bp {
namespace {

// The device's own recording, if it has the extension.
bool find_api(Recording& recording) {
  const bp_header* found = find_extension(*recording.record().backend, BP_CAPTURE,
                                          BP_CAPTURE_VERSION, loading::abi_size("bp_capture", 1));
  if (!found) return false;
  std::memcpy(&recording.api, found, std::min<std::size_t>(found->size, sizeof(bp_capture)));
  const bp_capture& api = recording.api;
  return api.begin && api.end && api.replay && api.release;
}

bp_code begin_on_device(Recording& recording) {
  StreamImpl& stream = recording.stream;
  // The fault word is made by work of its own; and since nobody may wait for the stream while it is recorded, nothing
  // earlier may be under way.
  arm_fault(stream);
  synchronize_stream(stream);
  clear_plugin_error();
  const bp_code code = recording.api.begin(recording.record().handle, stream.raw);
  if (code != BP_OK && code != BP_UNSUPPORTED)
    throw_plugin_error(recording.record(), code, "capture");
  return code;
}

// Lets the device record, if it can; else the core will.
void begin(Recording& recording) {
  if (!find_api(recording)) return;
  BP_CHECK(!set_recorded(recording.stream, true),
           "capture: another thread captures this stream of {}; take another one",
           recording.record().name);
  try {
    recording.by_device = begin_on_device(recording) == BP_OK;
  } catch (...) {
    set_recorded(recording.stream, false);
    throw;
  }
  if (!recording.by_device) set_recorded(recording.stream, false);
}

// Makes the current stream wait for the replay before this one, which may be under way on another.
void order_after_last(Recording& recording) {
  const Device device = recording.record().device;
  Stream current = Stream::current(device);
  if (recording.last_stream && recording.last_stream->impl() != current.impl()) {
    Event last(device);
    last.record(*recording.last_stream);
    last.wait(current);
  }
  recording.last_stream = std::move(current);
}

void delete_recording(void* recording) {
  delete static_cast<Recording*>(recording);
}

}  // namespace

void ReleaseRecording::operator()(Recording* recording) const noexcept {
  if (recording->last_stream)
    release_after(*recording->last_stream->impl(), delete_recording, recording);
  else
    delete recording;
}

Device Graph::device() const {
  BP_CHECK(recording_, "device: the graph is empty; capture something first");
  return recording_->record().device;
}

bool Graph::is_of_device() const {
  return recording_ && recording_->by_device;
}

std::size_t Graph::num_calls() const {
  return recording_ ? recording_->num_calls : 0;
}

void Graph::replay() {
  BP_CHECK(recording_, "replay: the graph is empty; capture something first");
  Recording& recording = *recording_;
  if (CaptureState* outer = current_capture())
    refuse_capture(*outer, ErrorClass::bad_argument,
                   "replay: this thread captures, and a graph cannot be part of another; end the "
                   "capture first");
  DeviceRecord& record = device_record(recording.record().device);
  StreamImpl& stream = current_stream_impl(record);
  order_after_last(recording);
  if (!recording.by_device) {
    for (RecordedCall& call : recording.calls) replay_call(recording, call, stream);
    return;
  }
  for (const char* op : recording.fault_operators) arm_fault(recording.stream, op);
  clear_plugin_error();
  const bp_code code = recording.api.replay(record.handle, recording.graph, stream.raw);
  if (code != BP_OK) throw_plugin_error(record, code, "replay");
  stream.last_operator.store("replay", std::memory_order_relaxed);
}

CaptureScope::CaptureScope(const Stream& stream) : guard_(stream) {
  StreamImpl& captured = *stream.impl();
  BP_CHECK(captured.record->backend,
           "capture: {} computes nothing; capture on a device with memory", captured.record->name);
  if (CaptureState* outer = current_capture())
    refuse_capture(
        *outer, ErrorClass::bad_argument,
        fmt::format("capture: this thread captures on {} already; end that capture first",
                    outer->stream.record->name));
  recording_.reset(new Recording(captured));
  begin(*recording_);
  set_current_capture(recording_.get());
  is_open_ = true;
}

CaptureScope::~CaptureScope() {
  end(false);
}

// The thread works as before from here on; what the device has recorded is taken, or dropped.
bp_code CaptureScope::end(bool takes) noexcept {
  if (!std::exchange(is_open_, false)) return BP_OK;
  set_current_capture(nullptr);
  Recording& recording = *recording_;
  if (!recording.by_device) return BP_OK;
  clear_plugin_error();
  const bp_code code = recording.api.end(recording.record().handle, recording.stream.raw,
                                         takes ? &recording.graph : nullptr);
  set_recorded(recording.stream, false);
  return code;
}

Graph CaptureScope::finish() {
  BP_CHECK(is_open_, "capture: it is finished already; begin another");
  BP_CHECK(current_capture() == recording_.get(),
           "capture: it was begun on another thread; finish it there");
  const std::string failure = recording_->failure;
  const bp_code code = end(failure.empty());
  BP_CHECK(failure.empty(), "capture: it was dropped: {}", failure);
  if (code != BP_OK) throw_plugin_error(recording_->record(), code, "capture");
  Graph graph;
  graph.recording_ = std::move(recording_);
  return graph;
}

Graph capture(const Stream& stream, const std::function<void()>& work) {
  CaptureScope scope(stream);
  work();
  return scope.finish();
}

Graph capture(Device device, const std::function<void()>& work) {
  return capture(Stream::current(device), work);
}

}  // namespace bp
