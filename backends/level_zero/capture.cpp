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

// ---- Beginning and ending ------------------------------------------------------------------------------

bp::Status Graph::begin(Device& device, Queue& queue) {
  if (bp::Status status = device.check(); !status.is_ok()) return status;
  queue.set_recording(new Recording(device));
  return bp::ok;
}

bp::Result<std::unique_ptr<Graph>> Graph::end(Device&, Queue& queue, bool keep) {
  const std::unique_ptr<Recording> recording(queue.recording());
  queue.set_recording(nullptr);
  if (!keep) return bp::ok;
  bp::Result<std::unique_ptr<ReusableList>> list = recording->finish();
  if (!list.is_ok()) return list.status();
  return std::make_unique<Graph>(std::move(list.value()));
}

constexpr bp_capture capture_functions = bp::capture_of<Device, Graph>();

}  // namespace level_zero
