#include "memory.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace reference {
namespace {

// Of tables, counted from 1; so that one's handle is not taken for another's.
std::atomic<uint32_t> num_tables{0};

unsigned long long number(uint64_t value) {
  return value;
}

}  // namespace

Memory::Memory(uint64_t limit)
    : table_(num_tables.fetch_add(1, std::memory_order_relaxed) % 255 + 1), limit_(limit) {}

bp::Result<bp::Handle> Memory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_ || used_ > limit_ - bytes) {
    return bp::out_of_memory("%llu bytes asked for, %llu of %llu in use", number(bytes),
                             number(used_), number(limit_));
  }
  std::unique_ptr<uint8_t[]> storage(new (std::nothrow) uint8_t[bytes]);
  if (!storage) return bp::out_of_memory("the host has no %llu bytes", number(bytes));
  used_ += bytes;
  return put_locked({std::move(storage), bytes});
}

void Memory::release(bp::Handle handle) {
  std::lock_guard lock(mutex_);
  used_ -= take_locked(handle).size;
}

Memory::Bytes Memory::take(bp::Handle handle) {
  std::lock_guard lock(mutex_);
  return take_locked(handle);
}

bp::Handle Memory::put(Bytes bytes) {
  std::lock_guard lock(mutex_);
  return put_locked(std::move(bytes));
}

void Memory::drop(Bytes bytes) {
  std::lock_guard lock(mutex_);
  used_ -= bytes.size;
}

Memory::Bytes Memory::take_locked(bp::Handle handle) {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) {
    bp::log(bp::LogLevel::error, "%s: release of handle %#llx, which does not live", REFERENCE_NAME,
            number(handle));
    return {};
  }
  slot->generation = (slot->generation + 1) & 0xffffff;
  free_slots_.push_back(static_cast<uint32_t>(handle));
  return std::exchange(slot->bytes, {});
}

bp::Handle Memory::put_locked(Bytes bytes) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  slots_[index].bytes = std::move(bytes);
  return handle_at(index);
}

bp::Result<uint8_t*> Memory::find(const bp::Region& region, const char* what) {
  std::lock_guard lock(mutex_);
  Slot* slot = slot_of(region.handle);
  if (slot == nullptr) {
    return bp::bad_argument("%s: handle %#llx names no living allocation", what,
                            number(region.handle));
  }
  if (region.offset > slot->bytes.size || region.bytes > slot->bytes.size - region.offset) {
    return bp::bad_argument(
        "%s: %llu bytes at offset %llu do not lie within an allocation of %llu bytes", what,
        number(region.bytes), number(region.offset), number(slot->bytes.size));
  }
  return slot->bytes.at.get() + region.offset;
}

void Memory::set_limit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void Memory::usage(uint64_t* allocations, uint64_t* bytes) {
  std::lock_guard lock(mutex_);
  *allocations = slots_.size() - free_slots_.size();
  *bytes = used_;
}

void Memory::describe(bp::SpaceInfo& info) {
  std::lock_guard lock(mutex_);
  info.set_name("masked");
  info.total_bytes = limit_;
  info.free_bytes = limit_ - std::min(used_, limit_);  // a test may have lowered the limit
}

Memory::Slot* Memory::slot_of(bp::Handle handle) {
  const auto index = static_cast<uint32_t>(handle);
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.bytes.at && handle_at(index) == handle ? &slot : nullptr;
}

bp::Handle Memory::handle_at(uint32_t index) const {
  return uint64_t{table_} << 56 | uint64_t{slots_[index].generation} << 32 | index;
}

void fill_masked(uint8_t* to, uint64_t bytes, const uint8_t* pattern, uint32_t pattern_bytes) {
  for (uint64_t i = 0; i < bytes; ++i) to[i] = pattern[i % pattern_bytes] ^ REFERENCE_MASK;
}

}  // namespace reference
