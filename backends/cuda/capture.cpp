#include "capture.hpp"

#include "device.hpp"
#include "queue.hpp"

namespace cuda_backend {

// ---- Replaying -----------------------------------------------------------------------------------------

Graph::Graph(Device& device, CUgraph recorded) : device_(device) {
  const Current current(device.context());
  const OutsideCapture outside;
  CUresult error = driver.cuGraphInstantiateWithFlags(&executable_, recorded, 0);
  driver.cuGraphDestroy(recorded);
  require("making a graph of a recording", error);
  error = driver.cuEventCreate(&last_run_, CU_EVENT_DISABLE_TIMING);
  if (error != CUDA_SUCCESS) driver.cuGraphExecDestroy(executable_);
  require("creating an event", error);
}

Graph::~Graph() {
  if (!device_.check_process().is_ok()) return;
  const Current current(device_.context());
  const OutsideCapture outside;
  driver.cuEventSynchronize(last_run_);
  driver.cuEventDestroy(last_run_);
  driver.cuGraphExecDestroy(executable_);
}

// The driver runs one after the other, also on several streams.
bp::Status Graph::replay(Queue& queue) {
  if (bp::Status status = device_.check_process(); !status.is_ok()) return status;
  if (bp::Status status = queue.refuse_in_recording("a replay"); !status.is_ok()) return status;
  const Current current(device_.context());
  std::lock_guard lock(mutex_);
  const CUresult error = driver.cuGraphLaunch(executable_, queue.get());
  if (error != CUDA_SUCCESS) return queue.explain("replay", error);
  queue.note("a replay of captured work");
  return queue.check("replay", driver.cuEventRecord(last_run_, queue.get()));
}

// ---- Beginning and ending ------------------------------------------------------------------------------

bp::Status Graph::begin(Device& device, Queue& queue) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  const Current current(device.context());
  // Relaxed: what the core allocates meanwhile lives as long as the graph, and kernels may come from the compiler.
  // Whatever a recording cannot hold is refused before the driver sees it.
  const CUresult error = driver.cuStreamBeginCapture(queue.get(), CU_STREAM_CAPTURE_MODE_RELAXED);
  if (error != CUDA_SUCCESS) return queue.explain("beginning a recording", error);
  queue.set_recording(true);
  return bp::ok;
}

bp::Result<std::unique_ptr<Graph>> Graph::end(Device& device, Queue& queue, bool keep) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  const Current current(device.context());
  CUgraph recorded = nullptr;
  const CUresult error = driver.cuStreamEndCapture(queue.get(), &recorded);
  queue.set_recording(false);
  if (!keep) {
    if (recorded != nullptr) driver.cuGraphDestroy(recorded);
    return class_of(error) == BP_DEVICE_LOST ? queue.explain("ending a recording", error) : bp::ok;
  }
  if (error != CUDA_SUCCESS) return queue.explain("ending a recording", error);
  return std::make_unique<Graph>(device, recorded);
}

constexpr bp_capture capture_functions = bp::capture_of<Device, Graph>();

}  // namespace cuda_backend
