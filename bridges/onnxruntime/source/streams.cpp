// Streams and what waits for them.
#include "streams.hpp"

#include <memory>

#include "graph.hpp"

namespace bp::onnx {
namespace {

struct OurStream : OrtSyncStreamImpl {
  explicit OurStream(Device device) : stream(device) {}
  Stream stream;
};

struct OurNotification : OrtSyncNotificationImpl {
  explicit OurNotification(const Stream& of) : stream(of), event(of.device()) {}
  Stream stream;
  Event event;
};

void release_stream(OrtSyncStreamImpl* self) {
  delete static_cast<OurStream*>(self);
}

OrtStatus* activate(OrtSyncNotificationImpl* self) {
  auto* const ours = static_cast<OurNotification*>(self);
  return guarded([&] { ours->event.record(ours->stream); });
}

OrtStatus* wait_on_device(OrtSyncNotificationImpl* self, OrtSyncStream* consumer) {
  auto* const ours = static_cast<OurNotification*>(self);
  return guarded([&] {
    const Stream* waiting = stream_of(consumer);
    if (waiting && waiting->device() == ours->stream.device())
      ours->event.wait(*waiting);
    else
      ours->event.synchronize();  // nothing else orders streams of two devices
  });
}

OrtStatus* wait_on_host(OrtSyncNotificationImpl* self) {
  return guarded([&] { static_cast<OurNotification*>(self)->event.synchronize(); });
}

OrtStatus* create_notification(OrtSyncStreamImpl* self, OrtSyncNotificationImpl** out) {
  return guarded([&] {
    auto made = std::make_unique<OurNotification>(static_cast<OurStream*>(self)->stream);
    made->release = [](OrtSyncNotificationImpl* each) {
      delete static_cast<OurNotification*>(each);
    };
    made->activate = activate;
    made->wait_on_device = wait_on_device;
    made->wait_on_host = wait_on_host;
    *out = made.release();
  });
}

}  // namespace

OrtSyncStreamImpl* make_stream(Device device) {
  auto made = std::make_unique<OurStream>(device);
  made->release = release_stream;
  made->handle = [](OrtSyncStreamImpl* self) -> void* {
    return &static_cast<OurStream*>(self)->stream;
  };
  made->create_notification = create_notification;
  made->flush = [](OrtSyncStreamImpl* self) {
    return guarded([&] { static_cast<OurStream*>(self)->stream.synchronize(); });
  };
  made->end_run = [](OrtSyncStreamImpl*) -> OrtStatus* { return nullptr; };
  return made.release();
}

const Stream* stream_of(const OrtSyncStream* stream) {
  const OrtSyncStreamImpl* impl = stream ? ort::impl_of_stream(stream) : nullptr;
  if (!impl || impl->release != release_stream) return nullptr;
  return &static_cast<const OurStream*>(impl)->stream;
}

}  // namespace bp::onnx
