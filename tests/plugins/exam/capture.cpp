#include "capture.hpp"

#include <cstring>

#include "device.hpp"
#include "variant.hpp"

namespace reference {

bool Captures::take(Queue& queue, Work work) {
  const std::lock_guard lock(mutex_);
  const auto found = recorded_.find(&queue);
  if (found == recorded_.end()) return false;
  found->second.push_back(std::move(work));
  return true;
}

bp::Status Captures::begin(Queue& queue) {
  const std::lock_guard lock(mutex_);
  if (!recorded_.try_emplace(&queue).second)
    return bp::bad_argument("capture: this stream records already; end that recording first");
  return bp::ok;
}

bp::Result<std::unique_ptr<RecordedWork>> Captures::end(Queue& queue) {
  const std::lock_guard lock(mutex_);
  const auto found = recorded_.find(&queue);
  if (found == recorded_.end())
    return bp::bad_argument("capture: this stream records nothing; begin first");
  auto work = std::make_unique<RecordedWork>(std::move(found->second));
  recorded_.erase(found);
  return work;
}

}  // namespace reference

namespace exam {
namespace {

using reference::Device;
using reference::Queue;
using reference::RecordedWork;

Device& device_of(bp_device* device) {
  return *reinterpret_cast<Device*>(device);
}
Queue& queue_of(bp_device* device, bp_stream* stream) {
  return device_of(device).queue_of(reinterpret_cast<Queue*>(stream));
}

bp_code begin(bp_device* device, bp_stream* stream) {
  return bp::guarded([=] { return device_of(device).captures.begin(queue_of(device, stream)); });
}

bp_code end(bp_device* device, bp_stream* stream, bp_graph** out) {
  return bp::guarded([=]() -> bp::Status {
    auto made = device_of(device).captures.end(queue_of(device, stream));
    if (!made.is_ok() || out == nullptr) return made.status();
    RecordedWork& work = *made.value();
    if (fault_is("capture_drops") && work.size() > 1) work.pop_back();
    if (fault_is("capture_cut_at_64") && work.size() > 64) work.resize(64);
    if (fault_is("capture_repeats") && !work.empty()) work.insert(work.begin(), work.front());
    *out = reinterpret_cast<bp_graph*>(made.value().release());
    return bp::ok;
  });
}

bp_code replay(bp_device* device, bp_graph* graph, bp_stream* stream) {
  return bp::guarded([=]() -> bp::Status {
    for (const reference::Work& work : *reinterpret_cast<RecordedWork*>(graph))
      if (bp::Status given = queue_of(device, stream).submit(work); !given.is_ok()) return given;
    return bp::ok;
  });
}

void release(bp_device*, bp_graph* graph) {
  delete reinterpret_cast<RecordedWork*>(graph);
}

const bp_capture capture = {
    {sizeof(bp_capture), BP_TYPE_EXTENSION, nullptr}, begin, end, replay, release};

}  // namespace

const bp_header* capture_extension(const char* name, uint32_t min_version) {
  const bool known = std::strcmp(name, BP_CAPTURE) == 0 && min_version <= BP_CAPTURE_VERSION;
  return known && reference::is_asynchronous() ? &capture.h : nullptr;
}

}  // namespace exam
