// Beginning, ending and replaying captures.
#include <backplane/capture/capture.hpp>
#include <backplane/runtime/extensions.hpp>
#include <backplane/tensor/check.hpp>

#include "recording.hpp"

namespace bp {
namespace {

// The device's own work, if it has the extension.
bool find_api(RecordedWork& work) {
  work.api = extensions_of(work.record()).capture;
  return work.api.begin != nullptr;
}

bp_code begin_on_device(RecordedWork& work) {
  StreamImpl& stream = work.stream;
  // The fault word is made by work of its own; and since nobody may wait for the stream while it is recorded, nothing
  // earlier may be under way.
  arm_fault(stream);
  synchronize_stream(stream);
  clear_plugin_error();
  const bp_code code = work.api.begin(work.record().handle, stream.raw);
  if (code != BP_OK && code != BP_UNSUPPORTED) throw_plugin_error(work.record(), code, "capture");
  return code;
}

// Lets the device record, if it can; else the core will.
void begin(RecordedWork& work) {
  if (!find_api(work)) return;
  BP_CHECK(!set_recorded(work.stream, true),
           "capture: another thread is capturing this stream of {}; use another one",
           work.record().name);
  try {
    work.by_device = begin_on_device(work) == BP_OK;
  } catch (...) {
    set_recorded(work.stream, false);
    throw;
  }
  if (!work.by_device) set_recorded(work.stream, false);
}

// Makes the current stream wait for the replay before this one, which may be under way on another.
void order_after_last(RecordedWork& work) {
  const Device device = work.record().device;
  Stream current = Stream::current(device);
  if (work.last_stream && work.last_stream->impl() != current.impl()) {
    Event last(device);
    last.record(*work.last_stream);
    last.wait(current);
  }
  work.last_stream = std::move(current);
}

void delete_work(void* work) {
  delete static_cast<RecordedWork*>(work);
}

}  // namespace

void ReleaseRecordedWork::operator()(RecordedWork* work) const noexcept {
  if (work->last_stream)
    release_after(*work->last_stream->impl(), delete_work, work);
  else
    delete work;
}

Device Recording::device() const {
  BP_CHECK(work_, "device: the recording is empty; capture something first");
  return work_->record().device;
}

bool Recording::is_of_device() const {
  return work_ && work_->by_device;
}

std::size_t Recording::num_calls() const {
  return work_ ? work_->num_calls : 0;
}

void Recording::replay() {
  BP_CHECK(work_, "replay: the recording is empty; capture something first");
  RecordedWork& work = *work_;
  if (CaptureState* outer = current_capture())
    refuse_capture(
        *outer, ErrorClass::bad_argument,
        "replay: this thread is capturing, and a recording cannot be part of another; end the "
        "capture first");
  DeviceRecord& record = device_record(work.record().device);
  StreamImpl& stream = current_stream_impl(record);
  order_after_last(work);
  if (!work.by_device) {
    for (RecordedCall& call : work.calls) replay_call(work, call, stream);
    return;
  }
  for (const char* op : work.fault_operators) arm_fault(work.stream, op);
  clear_plugin_error();
  bp_stream* const used = stream.raw;
  const bp_code code = work.api.replay(record.handle, work.graph, used);
  if (code != BP_OK) throw_stream_error(stream, used, code, "replay");
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
  work_.reset(new RecordedWork(captured));
  begin(*work_);
  set_current_capture(work_.get());
  is_open_ = true;
}

CaptureScope::~CaptureScope() {
  end(false);
}

// The thread works as before from here on; what the device has recorded is taken, or dropped.
bp_code CaptureScope::end(bool takes) noexcept {
  if (!std::exchange(is_open_, false)) return BP_OK;
  set_current_capture(nullptr);
  RecordedWork& work = *work_;
  if (!work.by_device) return BP_OK;
  clear_plugin_error();
  const bp_code code =
      work.api.end(work.record().handle, work.stream.raw, takes ? &work.graph : nullptr);
  set_recorded(work.stream, false);
  return code;
}

Recording CaptureScope::finish() {
  BP_CHECK(is_open_, "capture: it is finished already; begin another");
  BP_CHECK(current_capture() == work_.get(),
           "capture: it was begun on another thread; finish it there");
  const std::string failure = work_->failure;
  const bp_code code = end(failure.empty());
  BP_CHECK(failure.empty(), "capture: it was dropped: {}", failure);
  if (code != BP_OK) throw_plugin_error(work_->record(), code, "capture");
  Recording recording;
  recording.work_ = std::move(work_);
  return recording;
}

Recording capture(const Stream& stream, const std::function<void()>& work) {
  CaptureScope scope(stream);
  work();
  return scope.finish();
}

Recording capture(Device device, const std::function<void()>& work) {
  return capture(Stream::current(device), work);
}

}  // namespace bp
