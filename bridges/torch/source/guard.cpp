// What PyTorch asks of a device type: which device and stream are current, and events.
#include <map>
#include <mutex>

#include "devices.hpp"
#include "tensors.hpp"

namespace bp::bridge {
namespace {

// PyTorch names streams by number, and never says that it has done with one: they are kept.
class Streams {
 public:
  c10::Stream add(c10::Device device, int priority) {
    Stream stream(device_at(device.index()), priority);
    const std::uint32_t id = stream.impl()->id;
    const std::lock_guard lock(mutex_);
    streams_.emplace(std::pair{device.index(), id}, std::move(stream));
    return c10::Stream(c10::Stream::UNSAFE, device, static_cast<c10::StreamId>(id));
  }
  // The devices' default ones are not kept; id 0 is theirs.
  Stream find(const c10::Stream& stream) {
    const Device device = device_at(stream.device_index());
    if (stream.id() == 0) return Stream::default_of(device);
    const std::lock_guard lock(mutex_);
    const auto found =
        streams_.find({stream.device_index(), static_cast<std::uint32_t>(stream.id())});
    TORCH_CHECK(found != streams_.end(), "backplane:", int{stream.device_index()},
                " has no stream ", stream.id());
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<c10::DeviceIndex, std::uint32_t>, Stream> streams_;
};

Streams& streams() {
  static auto* const kept = new Streams;  // outlives the devices, which end with the process
  return *kept;
}

c10::Stream current_stream(c10::Device device) {
  const Stream stream = Stream::current(device_at(device.index()));
  return c10::Stream(c10::Stream::UNSAFE, device, static_cast<c10::StreamId>(stream.impl()->id));
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return device_type; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    if (device.index() != before.index()) setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {device_type, current_index()}; }
  void setDevice(c10::Device device) const override {
    if (device.index() < 0) return;
    device_at(device.index());
    set_current_index(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    set_current_index(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    try {
      return num_devices();
    } catch (const std::exception& error) {
      TORCH_WARN("backplane: no devices: ", error.what());
      return 0;
    }
  }

  c10::Stream getStream(c10::Device device) const override { return current_stream(device); }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override {
    return streams().add(device, high ? -1 : 0);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return streams().add(device, priority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = current_stream(stream.device());
    const Stream chosen = streams().find(stream);
    // `streams` keeps it, so that no guard has to.
    thread_state().streams[device_at(stream.device_index()).number] = chosen.impl();
    return before;
  }
  bool queryStream(const c10::Stream& stream) const override {
    return streams().find(stream).query();
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    streams().find(stream).synchronize();
  }
  void synchronizeDevice(c10::DeviceIndex index) const override { synchronize(device_at(index)); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    if (data.get_context() == nullptr) return;
    auto* storage = static_cast<Storage*>(data.get_context());
    record_stream(tensor_over_storage(storage, {0}, {1}, u8), streams().find(stream));
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex index,
              c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event(device_at(index < 0 ? stream.device_index() : index));
    static_cast<Event*>(*event)->record(streams().find(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) static_cast<Event*>(event)->wait(streams().find(stream));
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || static_cast<Event*>(event)->query();
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) static_cast<Event*>(event)->synchronize();
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* begin, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK(begin != nullptr && end != nullptr, "backplane: an event was not recorded yet");
    return static_cast<Event*>(begin)->elapsed_ms(*static_cast<Event*>(end));
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace
}  // namespace bp::bridge
