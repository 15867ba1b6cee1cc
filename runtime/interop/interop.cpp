// The maker's handles of what is Backplane's.
#include <backplane/runtime/interop.hpp>
#include <backplane/tensor/check.hpp>

#include "interop/interop_table.hpp"

namespace bp {
namespace {

template <class Ask>
NativeHandle ask(DeviceRecord& record, const char* what, const char* const* kinds,
                 std::string_view asked, Ask ask_plugin) {
  if (state_of(record).is_left_behind()) throw_left_behind(record);
  const char* kind = listed_kind("native_handle", record, what, kinds, asked);
  NativeHandle handle{kind, 0};
  clear_plugin_error();
  const bp_code code = ask_plugin(kind, &handle.value);
  if (code != BP_OK) throw_plugin_error(record, code, "native_handle");
  return handle;
}

// A list of kinds without the function is an empty list.
template <class Function> const char* const* kinds_if(const char* const* kinds, Function function) {
  return function ? kinds : nullptr;
}

}  // namespace

NativeHandle native_handle(Device device, std::string_view kind) {
  DeviceRecord& record = device_record(device);
  const bp_interop& interop = extensions_of(record).interop;
  return ask(record, "a device", kinds_if(interop.device_kinds, interop.device_handle), kind,
             [&](const char* name, std::uint64_t* out) {
               return interop.device_handle(record.handle, name, out);
             });
}

NativeHandle native_handle(const Stream& stream, std::string_view kind) {
  DeviceRecord& record = *stream.impl()->record;
  const bp_interop& interop = extensions_of(record).interop;
  return ask(record, "a stream", kinds_if(interop.stream_kinds, interop.stream_handle), kind,
             [&](const char* name, std::uint64_t* out) {
               return interop.stream_handle(record.handle, stream.impl()->raw, name, out);
             });
}

NativeHandle native_handle(const Event& event, std::string_view kind) {
  DeviceRecord& record = *event.record_;
  const bp_interop& interop = extensions_of(record).interop;
  const char* const* kinds = event.raw_ && interop.event_handle ? interop.event_kinds : nullptr;
  return ask(record, "an event", kinds, kind, [&](const char* name, std::uint64_t* out) {
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): without it there is no kind to ask for
    return interop.event_handle(record.handle, event.raw_, name, out);
  });
}

NativeMemory native_memory(const Tensor& tensor, std::string_view kind) {
  BP_CHECK(tensor.defined(), "native_memory: the tensor is undefined; make one first");
  const bp_dl_tensor& dl = tensor.impl()->abi.dl;
  const Storage* storage = tensor.impl()->storage;
  BP_CHECK(storage, "native_memory: a tensor of shape {} on the meta device has no memory",
           to_string(tensor.shape()));
  DeviceRecord& record = device_record(tensor.device());
  if (has_addresses(record) && (kind.empty() || kind == BP_NATIVE_ADDRESS))
    return {{BP_NATIVE_ADDRESS, storage->handle + dl.byte_offset}, 0};
  const bp_interop& interop = extensions_of(record).interop;
  const auto ask_plugin = [&](const char* name, std::uint64_t* out) {
    if (storage->handle == 0) return *out = 0, bp_code{BP_OK};  // no bytes, no memory
    return interop.memory_handle(record.handle, storage->handle, name, out);
  };
  return {ask(record, "memory", kinds_if(interop.memory_kinds, interop.memory_handle), kind,
              ask_plugin),
          dl.byte_offset};
}

}  // namespace bp
