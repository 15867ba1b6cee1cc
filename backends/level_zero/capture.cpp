#include "capture.hpp"

#include "device.hpp"

namespace level_zero {

// ---- Recording -----------------------------------------------------------------------------------------

ReusableList::~ReusableList() {
  if (!device.is_of_this_process()) return;
  loader.zeCommandListDestroy(list);
  // Nobody signals them any more, and only what is signalled is used again.
  for (const Mark& mark : {start, done})
    if (mark) loader.zeEventHostSignal(mark.get());
}

Recording::Recording(Device& device) : device_(device) {
  ze_command_list_handle_t list = nullptr;
  bool keeps_order = false;
  const auto require_ok = [](bp::Status status) {
    if (!status.is_ok()) throw bp::Failure{status};
  };
  require_ok(device.check("capture", "zeCommandListCreate", make_list(device, list, keeps_order)));
  into_ = std::make_unique<ReusableList>(device, list);
  for (Mark* mark : {&into_->start, &into_->done}) {
    bp::Result<Mark> taken = device.marks().take();
    require_ok(taken.status());
    *mark = std::move(taken.value());
  }
  list_ = std::make_unique<OrderedList>(list, keeps_order, false);
  ze_result_t result = list_->wait(into_->start.get());
  if (result == ZE_RESULT_SUCCESS) result = list_->reset(into_->start.get());
  require_ok(device.check("capture", "zeCommandListAppendWaitOnEvents", result));
}

bp::Result<std::unique_ptr<ReusableList>> Recording::finish() {
  bp::Status status =
      device_.check("capture", "zeCommandListAppendBarrier", list_->mark(into_->done.get()));
  if (!status.is_ok()) return status;
  status = device_.check("capture", "zeCommandListClose", loader.zeCommandListClose(into_->list));
  if (!status.is_ok()) return status;
  return std::move(into_);
}

// ---- Replaying -----------------------------------------------------------------------------------------

Graph::~Graph() {
  if (list_->device.check().is_ok()) (void)wait_for_last_run();
}

bp::Status Graph::wait_for_last_run() {
  if (!last_run_) return bp::ok;
  return list_->device.check("replay", "zeEventHostSynchronize",
                             loader.zeEventHostSynchronize(last_run_.get(), UINT64_MAX));
}

bp::Status Graph::replay(Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("a replay"); !status.is_ok()) return status;
  if (list_->num_commands == 0) return bp::ok;
  std::lock_guard lock(mutex_);
  // A list must not be on two queues at once.
  if (last_queue_ != &queue) {
    if (bp::Status status = wait_for_last_run(); !status.is_ok()) return status;
  }
  last_queue_ = &queue;
  bp::Status status = queue.run(list_->list, list_->start, list_->done);
  if (!status.is_ok()) return status;
  bp::Result<Mark> end = queue.mark();
  last_run_ = std::move(end.value());
  return end.status();
}

// ---- The extension's table -----------------------------------------------------------------------------

namespace {

bp::Status begin(Device& device, Queue& queue) {
  if (bp::Status status = device.check(); !status.is_ok()) return status;
  if (queue.recording() != nullptr)
    return bp::bad_argument("capture: this stream records already; end that recording first");
  queue.set_recording(new Recording(device));
  return bp::ok;
}

bp::Status end(Queue& queue, bp_graph** out) {
  const std::unique_ptr<Recording> recording(queue.recording());
  if (!recording) return bp::bad_argument("capture: this stream records nothing; begin first");
  queue.set_recording(nullptr);
  if (out == nullptr) return bp::ok;
  bp::Result<std::unique_ptr<ReusableList>> list = recording->finish();
  if (!list.is_ok()) return list.status();
  *out = reinterpret_cast<bp_graph*>(new Graph(std::move(list.value())));
  return bp::ok;
}

constexpr bp_capture make_capture_functions() {
  bp_capture table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.begin = [](bp_device* device, bp_stream* stream) {
    return bp::guarded([=] {
      Device& on = Device::of(device);
      return begin(on, on.queue_of(stream));
    });
  };
  table.end = [](bp_device* device, bp_stream* stream, bp_graph** out) {
    return bp::guarded([=] { return end(Device::of(device).queue_of(stream), out); });
  };
  table.replay = [](bp_device* device, bp_graph* graph, bp_stream* stream) {
    return bp::guarded([=] {
      return reinterpret_cast<Graph*>(graph)->replay(Device::of(device).queue_of(stream));
    });
  };
  table.release = [](bp_device*, bp_graph* graph) { delete reinterpret_cast<Graph*>(graph); };
  return table;
}

}  // namespace

constexpr bp_capture capture_functions = make_capture_functions();

}  // namespace level_zero
