#include <map>
#include <memory>
#include <mutex>

#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/pinned.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/extensions.hpp>
#include <backplane/runtime/quiet.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

// What is pinned, by device and first byte.
struct Ranges {
  struct Range {
    std::uint64_t bytes;
    bool is_registered;
  };
  std::mutex mutex;
  std::map<std::pair<std::uint32_t, std::uintptr_t>, Range> all;

  // Under the lock; null if no range has all of the bytes.
  Range* around(Device device, std::uintptr_t begin, std::uint64_t bytes) {
    auto found = all.upper_bound({device.number, begin});
    if (found == all.begin()) return nullptr;
    --found;
    const std::uintptr_t start = found->first.second;
    const bool has = found->first.first == device.number && begin - start <= found->second.bytes &&
                     bytes <= found->second.bytes - (begin - start);
    return has ? &found->second : nullptr;
  }
};
Ranges& ranges() {
  static auto* all = new Ranges;
  return *all;
}

void add_range(Device device, void* memory, std::uint64_t bytes, bool is_registered) {
  Ranges& known = ranges();
  const std::lock_guard lock(known.mutex);
  known.all[{device.number, reinterpret_cast<std::uintptr_t>(memory)}] = {bytes, is_registered};
}

// Null: to this device all host memory is alike.
const bp_host_memory* host_memory_of(const DeviceRecord& record) {
  const bp_host_memory& table = extensions_of(record).host_memory;
  return table.allocate ? &table : nullptr;
}

// A device that fork() left behind hears of nothing any more.
bool may_call(const DeviceRecord& record) {
  return record.opened.load(std::memory_order_acquire) ||
         record.lost.load(std::memory_order_acquire);
}

struct Pinned {
  DeviceRecord& record;
  const bp_host_memory* table;
  void* memory;
};

void release_pinned(void* context) {
  const std::unique_ptr<Pinned> pinned(static_cast<Pinned*>(context));
  {
    Ranges& known = ranges();
    const std::lock_guard lock(known.mutex);
    known.all.erase(
        {pinned->record.device.number, reinterpret_cast<std::uintptr_t>(pinned->memory)});
  }
  if (may_call(pinned->record)) {
    wait_until_quiet(pinned->record, MayWait::the_rest);
    pinned->table->release(pinned->record.handle, pinned->memory);
  }
  pinned->record.live_blobs.fetch_sub(1, std::memory_order_relaxed);
}

void* allocate_pinned(DeviceRecord& record, const bp_host_memory& table, std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 64;
  void* memory = nullptr;
  clear_plugin_error();
  const bp_code code = table.allocate(record.handle, bytes, alignment, &memory);
  if (code != BP_OK) throw_plugin_error(record, code, "pin_memory");
  if (!memory || reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
    if (memory) table.release(record.handle, memory);
    throw_error(
        ErrorClass::internal,
        fmt::format("pin_memory: address {} is null, or not aligned to {} (plugin {}, device {})",
                    memory, alignment, record.backend->name, record.name));
  }
  return memory;
}

}  // namespace

void fork_pinned(ForkStep step) {
  take_through_fork(ranges().mutex, step);
}

Tensor empty_pinned_tensor(IntList shape, Dtype dtype, Device device) {
  check_is_dtype("pin_memory", dtype);
  DeviceRecord& record = device_record(device);
  const bp_host_memory* table = host_memory_of(record);
  std::int64_t bytes = 0;
  BP_CHECK(!__builtin_mul_overflow(checked_numel("pin_memory", shape), itemsize(dtype), &bytes),
           "pin_memory: shape {} of {} has more than 2^63 - 1 bytes", to_string(shape),
           name(dtype));
  if (!table || bytes == 0) return empty_tensor(shape, dtype, host_device());
  std::unique_ptr<Pinned> pinned(new Pinned{record, table, nullptr});
  pinned->memory = allocate_pinned(record, *table, static_cast<std::uint64_t>(bytes));
  record.live_blobs.fetch_add(1, std::memory_order_relaxed);
  Pinned* const context = pinned.release();
  try {
    add_range(device, context->memory, static_cast<std::uint64_t>(bytes), false);
    return tensor_from_blob(context->memory, shape, contiguous_strides(shape), dtype, host_device(),
                            release_pinned, context);
  } catch (...) {
    release_pinned(context);
    throw;
  }
}

Tensor pin_memory(const Tensor& tensor, Device device) {
  BP_CHECK(tensor.defined(), "pin_memory: the tensor is undefined; give it a value first");
  BP_CHECK(tensor.device() == host_device(),
           "pin_memory: the tensor is on {}; only memory of {} can be pinned, so copy it there "
           "with to()",
           device_name(tensor.device()), device_name(host_device()));
  if (is_pinned(tensor, device) || !host_memory_of(device_record(device))) return tensor;
  const Tensor pinned = empty_pinned_tensor(tensor.shape(), tensor.dtype(), device);
  copy_into(pinned, tensor);
  return pinned;
}

bool is_pinned(const Tensor& tensor, Device device) {
  BP_CHECK(tensor.defined(), "is_pinned: the tensor is undefined");
  const TensorImpl& impl = *tensor.impl();
  if (!impl.storage || !impl.storage->host_readable) return false;
  const ByteSpan span = touched_bytes(impl);
  Ranges& known = ranges();
  const std::lock_guard lock(known.mutex);
  return span.end != span.begin &&
         known.around(device, impl.storage->handle + span.begin, span.end - span.begin);
}

bool register_host_memory(void* memory, std::uint64_t bytes, Device device) {
  BP_CHECK(memory && bytes != 0,
           "register_host_memory: {} bytes at {}; pass an address and a size above 0", bytes,
           memory);
  DeviceRecord& record = device_record(device);
  const bp_host_memory* table = host_memory_of(record);
  if (!table || !table->adopt) return false;
  clear_plugin_error();
  const bp_code code = table->adopt(record.handle, memory, bytes);
  if (code == BP_UNSUPPORTED) return false;
  if (code != BP_OK) throw_plugin_error(record, code, "register_host_memory");
  record.live_blobs.fetch_add(1, std::memory_order_relaxed);
  add_range(device, memory, bytes, true);
  return true;
}

void unregister_host_memory(void* memory, Device device) {
  DeviceRecord& record = device_record(device);
  {
    Ranges& known = ranges();
    const std::lock_guard lock(known.mutex);
    const auto found = known.all.find({device.number, reinterpret_cast<std::uintptr_t>(memory)});
    BP_CHECK(found != known.all.end() && found->second.is_registered,
             "unregister_host_memory: {} is not registered with {}; give the address that was",
             memory, record.name);
    known.all.erase(found);
  }
  wait_until_quiet(record, MayWait::the_rest);
  host_memory_of(record)->forget(record.handle, memory);
  record.live_blobs.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace bp
