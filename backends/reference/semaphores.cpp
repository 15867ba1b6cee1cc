#include "semaphores.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "device.hpp"

namespace reference {
namespace {

constexpr const char* kinds[] = {BP_SEMAPHORE_HOST, BP_SEMAPHORE_OPAQUE_FD, nullptr};

// Somebody's number; a mapped one has a descriptor, which is ours.
class Semaphore {
 public:
  explicit Semaphore(uint64_t* number) : number_(number) {}
  Semaphore(uint64_t* mapped, int file) : number_(mapped), file_(file) {}
  ~Semaphore() {
    if (file_ < 0) return;
    munmap(number_, sizeof *number_);
    close(file_);
  }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Polls, since whoever raises the number tells nobody.
  void wait(uint64_t value) const {
    while (__atomic_load_n(number_, __ATOMIC_ACQUIRE) < value)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  void raise(uint64_t value) {
    uint64_t seen = __atomic_load_n(number_, __ATOMIC_ACQUIRE);
    while (seen < value && !__atomic_compare_exchange_n(number_, &seen, value, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
  }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(number_); }
  int file() const { return file_; }

 private:
  uint64_t* number_;
  int file_ = -1;
};

// What the host holds: work that was given with the semaphore may outlive it.
using Handle = std::shared_ptr<Semaphore>;

Handle& of(bp_semaphore* semaphore) {
  return *reinterpret_cast<Handle*>(semaphore);
}
bp_semaphore* give_out(Handle semaphore) {
  return reinterpret_cast<bp_semaphore*>(new Handle(std::move(semaphore)));
}

bp::Result<uint64_t*> map(int file) {
  struct stat facts {};
  if (fstat(file, &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(uint64_t)))
    return bp::bad_argument("semaphore: descriptor %d names no 8 bytes of memory", file);
  void* mapped = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    return bp::bad_argument("semaphore: descriptor %d cannot be mapped", file);
  return static_cast<uint64_t*>(mapped);
}

bp::Status take(const bp_native& native, bp_semaphore** out) {
  if (std::strcmp(native.kind, BP_SEMAPHORE_HOST) == 0) {
    if (native.value == 0 || native.value % sizeof(uint64_t) != 0)
      return bp::bad_argument("semaphore: %#llx is no address of 8 bytes",
                              static_cast<unsigned long long>(native.value));
    *out = give_out(std::make_shared<Semaphore>(
        reinterpret_cast<uint64_t*>(static_cast<uintptr_t>(native.value))));
    return bp::ok;
  }
  if (std::strcmp(native.kind, BP_SEMAPHORE_OPAQUE_FD) != 0)
    return bp::unsupported("semaphore: there is no kind '%s'", native.kind);
  const int file = static_cast<int>(native.value);
  bp::Result<uint64_t*> mapped = map(file);
  if (!mapped.is_ok()) return mapped.status();
  *out = give_out(std::make_shared<Semaphore>(mapped.value(), file));
  return bp::ok;
}

bp::Status create(bp_semaphore** out) {
  const int file = memfd_create("reference semaphore", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) {
    if (file >= 0) close(file);
    return bp::out_of_memory("semaphore: the system has no memory to share");
  }
  bp::Result<uint64_t*> mapped = map(file);
  if (!mapped.is_ok()) {
    close(file);
    return mapped.status();
  }
  *out = give_out(std::make_shared<Semaphore>(mapped.value(), file));
  return bp::ok;
}

bp::Status give(const Semaphore& semaphore, bp_native& native) {
  if (std::strcmp(native.kind, BP_SEMAPHORE_HOST) == 0) {
    native.value = semaphore.address();
    return bp::ok;
  }
  const int copied = semaphore.file() < 0 ? -1 : dup(semaphore.file());
  if (std::strcmp(native.kind, BP_SEMAPHORE_OPAQUE_FD) != 0 || copied < 0)
    return bp::unsupported("semaphore: this one has no handle of kind '%s'", native.kind);
  native.value = static_cast<uint64_t>(copied);
  return bp::ok;
}

constexpr bp_semaphores make_table() {
  bp_semaphores table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.kinds = kinds;
  table.take = [](bp_device*, const bp_native* native, bp_semaphore** out) {
    return bp::guarded([=] { return take(*native, out); });
  };
  table.release = [](bp_device*, bp_semaphore* semaphore) { delete &of(semaphore); };
  table.wait = [](bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value) {
    return bp::guarded([=] {
      Queue& queue = Device::of(device).queue_of(reinterpret_cast<Queue*>(stream));
      return queue.submit([waited = of(semaphore), value] {
        waited->wait(value);
        return Outcome{};
      });
    });
  };
  table.signal = [](bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value) {
    return bp::guarded([=] {
      Queue& queue = Device::of(device).queue_of(reinterpret_cast<Queue*>(stream));
      return queue.submit_for_certain([raised = of(semaphore), value] {
        raised->raise(value);
        return Outcome{};
      });
    });
  };
  table.create = [](bp_device*, bp_semaphore** out) {
    return bp::guarded([=] { return create(out); });
  };
  table.give = [](bp_device*, bp_semaphore* semaphore, bp_native* native) {
    return bp::guarded([=] { return give(*of(semaphore), *native); });
  };
  return table;
}

}  // namespace

const bp_semaphores semaphore_functions = make_table();

}  // namespace reference
