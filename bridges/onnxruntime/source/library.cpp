// What ONNX Runtime calls first: from this library to devices, and from a device to a provider.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <backplane/backplane.hpp>
#include <backplane/runtime/device_registry.hpp>

#include "device_memory.hpp"
#include "graph.hpp"
#include "provider.hpp"
#include "streams.hpp"

namespace bp::onnx {
namespace {

constexpr const char* device_key = "backplane_device";
constexpr const char* memory_key = "backplane_memory";
constexpr std::size_t alignment = 256;

struct Pairs {
  OrtKeyValuePairs* handle = nullptr;
  Pairs() { ort::create_pairs(&handle); }
  ~Pairs() { ort::release_pairs(handle); }
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;
};

// ONNX Runtime takes eight devices: BACKPLANE_ONNXRUNTIME_FIRST names one that is to be among them.
std::vector<const DeviceRecord*> devices_in_order() {
  const char* first = std::getenv("BACKPLANE_ONNXRUNTIME_FIRST");
  std::vector<const DeviceRecord*> records;
  for (const DeviceRecord* record : registered_devices())
    if (record->backend) records.push_back(record);  // not meta
  std::stable_partition(records.begin(), records.end(), [&](const DeviceRecord* record) {
    return first != nullptr && record->name == first;
  });
  return records;
}

struct ReleaseMemoryInfo {
  void operator()(OrtMemoryInfo* info) const { ort::release_memory_info(info); }
};
struct Factory : OrtEpFactory {
  // ONNX Runtime refers to them.
  std::vector<std::unique_ptr<OrtMemoryInfo, ReleaseMemoryInfo>> memories;
};

void add_memory(Factory& factory, OrtEpDevice* device, const DeviceRecord& record) {
  OrtMemoryInfo* info = nullptr;
  check(ort::create_memory_info(record.name.c_str(), gpu_memory, memory_vendor,
                                static_cast<int>(record.device.number), default_memory, alignment,
                                device_allocator, &info));
  factory.memories.emplace_back(info);
  check(ort::add_memory(device, info));
}

// All devices of all plugins, over the hardware that ONNX Runtime names: it has no say in what we find.
void list_devices(OrtEpFactory* factory, const OrtHardwareDevice* const* hardware,
                  std::size_t num_hardware, OrtEpDevice** devices, std::size_t max,
                  std::size_t* num) {
  *num = 0;
  const OrtHardwareDevice* processor = nullptr;
  for (std::size_t i = 0; i < num_hardware; ++i)
    if (ort::hardware_type(hardware[i]) == cpu_type) processor = hardware[i];
  if (!processor)
    throw RuntimeFailure("backplane: ONNX Runtime names no processor of this machine");
  load_all_plugins();
  for (const DeviceRecord* record : devices_in_order()) {
    if (*num == max) break;
    const Pairs facts;
    ort::add_pair(facts.handle, device_key, record->name.c_str());
    if (!record->host_readable)
      ort::add_pair(facts.handle, memory_key, std::to_string(record->device.number).c_str());
    check(ort::create_device(factory, processor, facts.handle, nullptr, &devices[*num]));
    OrtEpDevice* const made = devices[*num];
    ++*num;
    if (!record->host_readable) add_memory(*static_cast<Factory*>(factory), made, *record);
  }
}

void create(const OrtKeyValuePairs* const* facts, std::size_t count, OrtEp** out) {
  if (count != 1)
    throw RuntimeFailure("backplane: a session takes one device, got " + std::to_string(count));
  const char* name = ort::value_of_key(facts[0], device_key);
  if (!name)
    throw RuntimeFailure(
        "backplane: the device has no entry backplane_device; take one of "
        "onnxruntime.get_ep_devices()");
  *out = make_provider(device(name));
}

std::unique_ptr<Factory> make_factory() {
  auto factory = std::make_unique<Factory>();
  factory->name = [](const OrtEpFactory*) { return provider_name; };
  factory->vendor = [](const OrtEpFactory*) { return "Backplane"; };
  factory->supported_devices = [](OrtEpFactory* self, const OrtHardwareDevice* const* hardware,
                                  std::size_t num_hardware, OrtEpDevice** devices, std::size_t max,
                                  std::size_t* num) {
    return guarded([&] { list_devices(self, hardware, num_hardware, devices, max, num); });
  };
  factory->create = [](OrtEpFactory*, const OrtHardwareDevice* const*,
                       const OrtKeyValuePairs* const* facts, std::size_t count,
                       const OrtSessionOptions*, const OrtLogger*,
                       OrtEp** out) { return guarded([&] { create(facts, count, out); }); };
  factory->release = [](OrtEpFactory*, OrtEp* provider) { release_provider(provider); };
  factory->vendor_id = [](const OrtEpFactory*) { return memory_vendor; };
  factory->provider_version = [](const OrtEpFactory*) { return BP_ONNX_VERSION; };
  factory->create_allocator = [](OrtEpFactory*, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                                 OrtAllocator** out) {
    return guarded([&] { *out = info ? make_allocator(info) : nullptr; });
  };
  factory->release_allocator = [](OrtEpFactory*, OrtAllocator* allocator) {
    release_allocator(allocator);
  };
  factory->create_data_transfer = [](OrtEpFactory*, OrtDataTransferImpl** out) {
    return guarded([&] { *out = make_data_transfer(); });
  };
  factory->is_stream_aware = [](const OrtEpFactory*) { return true; };
  factory->create_stream = [](OrtEpFactory*, const OrtMemoryDevice* memory, const OrtKeyValuePairs*,
                              OrtSyncStreamImpl** out) {
    return guarded([&] {
      const std::optional<Device> device = device_of_memory(memory);
      *out = device ? make_stream(*device) : nullptr;
    });
  };
  return factory;
}

}  // namespace
}  // namespace bp::onnx

#define BP_ONNX_EXPORT extern "C" __attribute__((visibility("default")))

BP_ONNX_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                            OrtEpFactory** factories, std::size_t max,
                                            std::size_t* num) noexcept {
  using namespace bp::onnx;
  *num = 0;
  tables.main = base->get_api(interface_version);
  if (!tables.main) {
    tables.main = base->get_api(1);  // which has what makes a status
    return guarded([&] {
      throw RuntimeFailure(
          std::string("backplane: needs ONNX Runtime 1.23 or newer, and this is ") +
          base->version_string());
    });
  }
  tables.provider = ort::provider_table();
  return guarded([&] {
    if (max < 1) throw RuntimeFailure("backplane: ONNX Runtime has no room for a factory");
    factories[0] = make_factory().release();
    *num = 1;
  });
}

BP_ONNX_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) noexcept {
  delete static_cast<bp::onnx::Factory*>(factory);
  return nullptr;
}

// For the package's Python: a text that lives until this thread asks again.
BP_ONNX_EXPORT const char* backplane_onnxruntime_take_unserved() noexcept {
  static thread_local std::string text;
  try {
    text = bp::onnx::take_unserved();
  } catch (...) {
    return "";
  }
  return text.c_str();
}

// The same with the rows that Backplane's host computed for devices since this was asked last: "sort unique".
BP_ONNX_EXPORT const char* backplane_onnxruntime_take_host_calls() noexcept {
  static thread_local std::string text;
  try {
    text.clear();
    for (const bp::CallCount& row : bp::call_counts())
      if (row.calls[static_cast<unsigned>(bp::Rung::host)] != 0) text += row.op + " ";
    bp::reset_call_counts();
  } catch (...) {
    return "";
  }
  return text.c_str();
}
