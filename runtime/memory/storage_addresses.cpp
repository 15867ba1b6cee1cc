// Which storage has been given which range of addresses.
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>

#include <backplane/runtime/storage_addresses.hpp>
#include <backplane/runtime/storage_tensor.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/core_mutex.hpp"

namespace bp {
namespace {

struct Range {
  Tensor bytes;
  std::uint64_t size;  // at least 1, so that each range has an address of its own
  bool is_reserved;
  int times_given = 0;
};

class Ranges {
 public:
  void* give(const Tensor& memory) {
    Storage* const storage = memory.impl() ? memory.impl()->storage : nullptr;
    BP_CHECK(storage, "give_address: the tensor has no memory; pass one that has");
    const auto size = static_cast<std::int64_t>(storage->bytes);
    Tensor bytes = tensor_over_storage(storage, {size}, {1}, u8);
    const bool is_reserved = !storage->host_readable || size == 0;
    void* const address = is_reserved ? reserve(storage->bytes) : bytes.data_ptr();
    const std::lock_guard lock(mutex_);
    Range& range = ranges_[number(address)];
    BP_CHECK(range.times_given == 0 || range.bytes.shares_storage(bytes),
             "give_address: the memory at {} is that of another storage, of {} bytes; take its "
             "address back first",
             address, range.size);
    if (range.times_given++ == 0)
      range = {std::move(bytes), std::max<std::uint64_t>(storage->bytes, 1), is_reserved, 1};
    return address;
  }

  bool take_back(void* address) {
    Tensor bytes;  // goes after the lock
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(number(address));
    if (found == ranges_.end()) return false;
    if (--found->second.times_given > 0) return true;
    if (found->second.is_reserved) munmap(address, found->second.size);
    bytes = std::move(found->second.bytes);
    ranges_.erase(found);
    return true;
  }

  StorageAt find(const void* address) {
    const std::lock_guard lock(mutex_);
    auto found = ranges_.upper_bound(number(address));
    if (found == ranges_.begin()) return {};
    --found;
    const std::uintptr_t offset = number(address) - found->first;
    if (offset >= found->second.size) return {};
    return {found->second.bytes, static_cast<std::int64_t>(offset)};
  }

 private:
  static std::uintptr_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  static void* reserve(std::uint64_t bytes) {
    void* const address = mmap(nullptr, std::max<std::uint64_t>(bytes, 1), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
      throw Error(ErrorClass::out_of_memory,
                  "give_address: no range of " + std::to_string(bytes) + " addresses is left (" +
                      std::strerror(errno) +
                      "); take some back, or raise the limit of 'ulimit -v'");
    return address;
  }

  CoreMutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;
};

Ranges& ranges() {
  static auto* const kept = new Ranges;  // outlives the devices, which end with the process
  return *kept;
}

}  // namespace

void* give_address(const Tensor& memory) {
  return ranges().give(memory);
}

bool take_back_address(void* address) {
  return ranges().take_back(address);
}

StorageAt storage_at(const void* address) {
  return ranges().find(address);
}

}  // namespace bp
