#include "semaphores.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "device.hpp"

namespace reference {
namespace {

constexpr const char* kinds[] = {BP_SEMAPHORE_HOST, BP_SEMAPHORE_OPAQUE_FD, BP_SEMAPHORE_DMA_BUF_FD,
                                 nullptr};

// Of the system's files; closed with it.
class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  void set(int descriptor) { descriptor_ = descriptor; }

 private:
  int descriptor_;
};

class Semaphore {
 public:
  Semaphore() = default;
  virtual ~Semaphore() = default;
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Can work be given that waits for `value`, or that raises it to that?
  virtual bp::Status check_wait(uint64_t) const { return bp::ok; }
  virtual bp::Status check_signal() const { return bp::ok; }
  virtual void wait(uint64_t value) = 0;
  virtual void raise(uint64_t value) = 0;
  // Of the kind that is asked for; a descriptor is the caller's.
  virtual bp::Status give(bp_native& native) = 0;
};

bp::Status has_no_handle(const char* kind) {
  return bp::unsupported("semaphore: this one has no handle of kind '%s'", kind);
}

bp::Status give_copy(const File& file, bp_native& native) {
  const int copied = file.get() < 0 ? -1 : dup(file.get());
  if (copied < 0) return has_no_handle(native.kind);
  native.value = static_cast<uint64_t>(copied);
  return bp::ok;
}

// A number in memory, which others may map as well.
class Number : public Semaphore {
 public:
  explicit Number(uint64_t* number) : number_(number) {}
  Number(uint64_t* mapped, int file) : number_(mapped), file_(file) {}
  ~Number() override {
    if (file_.get() >= 0) munmap(number_, sizeof *number_);
  }

  // Polls, since nothing tells that the number was raised.
  void wait(uint64_t value) override {
    while (now() < value) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  void raise(uint64_t value) override {
    uint64_t seen = now();
    while (seen < value && !__atomic_compare_exchange_n(number_, &seen, value, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    std::lock_guard lock(mutex_);
    tell_fence();
  }
  bp::Status give(bp_native& native) override {
    if (std::strcmp(native.kind, BP_SEMAPHORE_HOST) == 0) {
      native.value = reinterpret_cast<uintptr_t>(number_);
      return bp::ok;
    }
    if (std::strcmp(native.kind, BP_SEMAPHORE_OPAQUE_FD) == 0) return give_copy(file_, native);
    if (std::strcmp(native.kind, BP_SEMAPHORE_DMA_BUF_FD) != 0) return has_no_handle(native.kind);
    std::lock_guard lock(mutex_);
    if (fence_.get() < 0) fence_.set(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    tell_fence();
    return give_copy(fence_, native);
  }

 private:
  uint64_t now() const { return __atomic_load_n(number_, __ATOMIC_ACQUIRE); }
  // It is readable from 1 on, as a dma-buf is once its fence is reached; nobody reads it. What others raise through the
  // memory it does not see.
  void tell_fence() {
    const uint64_t one = 1;
    if (fence_.get() >= 0 && now() >= 1 && write(fence_.get(), &one, sizeof one) < 0) return;
  }

  uint64_t* number_;
  const File file_;
  std::mutex mutex_;  // of what follows
  File fence_;
};

// A descriptor that is readable once the fence is reached: a dma-buf's, a sync_file's, or what stands for one.
class Fence : public Semaphore {
 public:
  explicit Fence(int file) : file_(file) {}

  bp::Status check_wait(uint64_t value) const override {
    if (value <= 1) return bp::ok;
    return bp::bad_argument("semaphore: a dma-buf's fence is reached once, at 1; not at %llu",
                            static_cast<unsigned long long>(value));
  }
  bp::Status check_signal() const override {
    return bp::unsupported("semaphore: only its maker reaches a dma-buf's fence");
  }
  void wait(uint64_t value) override {
    pollfd polled{file_.get(), POLLIN, 0};
    if (value == 0) return;
    while (poll(&polled, 1, -1) < 0 && errno == EINTR) {
    }
  }
  void raise(uint64_t) override {}
  bp::Status give(bp_native& native) override {
    return std::strcmp(native.kind, BP_SEMAPHORE_DMA_BUF_FD) == 0 ? give_copy(file_, native)
                                                                  : has_no_handle(native.kind);
  }

 private:
  const File file_;
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

bp::Status take_fence(int file, bp_semaphore** out) {
  pollfd polled{file, POLLIN, 0};
  if (file < 0 || poll(&polled, 1, 0) < 0 || (polled.revents & POLLNVAL) != 0)
    return bp::bad_argument("semaphore: descriptor %d cannot be waited for", file);
  *out = give_out(std::make_shared<Fence>(file));
  return bp::ok;
}

bp::Status take(const bp_native& native, bp_semaphore** out) {
  const int file = static_cast<int>(native.value);
  if (std::strcmp(native.kind, BP_SEMAPHORE_HOST) == 0) {
    if (native.value == 0 || native.value % sizeof(uint64_t) != 0)
      return bp::bad_argument("semaphore: %#llx is not an address of 8 bytes",
                              static_cast<unsigned long long>(native.value));
    *out = give_out(std::make_shared<Number>(
        reinterpret_cast<uint64_t*>(static_cast<uintptr_t>(native.value))));
    return bp::ok;
  }
  if (std::strcmp(native.kind, BP_SEMAPHORE_DMA_BUF_FD) == 0) return take_fence(file, out);
  if (std::strcmp(native.kind, BP_SEMAPHORE_OPAQUE_FD) != 0)
    return bp::unsupported("semaphore: there is no kind '%s'", native.kind);
  bp::Result<uint64_t*> mapped = map(file);
  if (!mapped.is_ok()) return mapped.status();
  *out = give_out(std::make_shared<Number>(mapped.value(), file));
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
  *out = give_out(std::make_shared<Number>(mapped.value(), file));
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
    return bp::guarded([=]() -> bp::Status {
      Queue& queue = Device::of(device).queue_of(reinterpret_cast<Queue*>(stream));
      if (bp::Status status = of(semaphore)->check_wait(value); !status.is_ok()) return status;
      return queue.submit([waited = of(semaphore), value] {
        waited->wait(value);
        return Outcome{};
      });
    });
  };
  table.signal = [](bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value) {
    return bp::guarded([=]() -> bp::Status {
      Queue& queue = Device::of(device).queue_of(reinterpret_cast<Queue*>(stream));
      if (bp::Status status = of(semaphore)->check_signal(); !status.is_ok()) return status;
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
    return bp::guarded([=] { return of(semaphore)->give(*native); });
  };
  return table;
}

}  // namespace

const bp_semaphores semaphore_functions = make_table();

}  // namespace reference
