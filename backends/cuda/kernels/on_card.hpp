// Where a kernel of this folder runs: the card and the stream of its call, and its scratch memory.
#pragma once

#include <cuda_runtime_api.h>
#include <map>
#include <memory>
#include <mutex>

#include "device.hpp"

namespace cuda_backend {

// Makes the call's card the current one of this thread while it lives. `name` is the kernel's, for messages, and lives
// as long as the process. Throws bp::Failure.
class OnCard {
 public:
  OnCard(const bp::Stream& call, const char* name)
      : device_(call.device<Device>()), queue_(device_.queue_of(call.native<Queue>())), name_(name),
        current_(device_.context()) {
    if (bp::Status status = device_.check_process(); !status.is_ok()) throw bp::Failure{status};
    queue_.note(name);
  }

  Device& device() const { return device_; }
  cudaStream_t stream() const { return queue_.get(); }

  bp::Status check(cudaError_t error) const { return queue_.check(name_, error); }
  // Of the launches since the last one.
  bp::Status check_launches() const { return check(cudaGetLastError()); }

  // Waits for the stream, and reads a number from the card's memory.
  bp::Result<int64_t> read(const int64_t* from) const {
    int64_t number = 0;
    cudaError_t error =
        cudaMemcpyAsync(&number, from, sizeof number, cudaMemcpyDeviceToHost, stream());
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream());
    if (error != cudaSuccess) return check(error);
    return number;
  }

 private:
  Device& device_;
  Queue& queue_;
  const char* name_;
  Current current_;
};

// What a card has one of, made from the library when first asked for; null where there is no library. As the context
// that it belongs to, it stays until the process ends. Threads: any.
template <class T, class Library> T* kept_for(const OnCard& card, const Library* library) {
  if (library == nullptr) return nullptr;
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<CUcontext, std::unique_ptr<T>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<T>& made = all[card.device().context()];
  if (made == nullptr) made = std::make_unique<T>(*library);
  return made.get();
}

// The scratch memory of a call, in pieces aligned to 256 bytes. Each piece is asked for twice in the same order: before
// allocate(), which so learns the size (and then is null), and after it.
class Scratch {
 public:
  template <class T> T* take(uint64_t count) {
    const uint64_t at = bytes_;
    bytes_ += (count * sizeof(T) + alignment - 1) & ~(alignment - 1);
    return base_ == 0 ? nullptr : reinterpret_cast<T*>(base_ + at);
  }

  bp::Status allocate(const bp::Call& call) {
    // The host may align to less.
    bp::Result<bp::Region> region = call.workspace(bytes_ + alignment - 1, alignment);
    const auto address = reinterpret_cast<uintptr_t>(region.value().address());
    base_ = (address + alignment - 1) & ~static_cast<uintptr_t>(alignment - 1);
    bytes_ = 0;
    return region.status();
  }

  // Calls take_all(), which asks for every piece, before and after.
  template <class F> bp::Status allocate(const bp::Call& call, const F& take_all) {
    take_all();
    if (bp::Status status = allocate(call); !status.is_ok()) return status;
    take_all();
    return bp::ok;
  }

 private:
  static constexpr uint64_t alignment = 256;

  uintptr_t base_ = 0;
  uint64_t bytes_ = 0;
};

// Scratch memory in one piece; null if no bytes are asked for.
inline bp::Status allocate_workspace(const bp::Call& call, uint64_t bytes, void*& workspace) {
  workspace = nullptr;
  if (bytes == 0) return bp::ok;
  Scratch scratch;
  scratch.take<char>(bytes);
  if (bp::Status status = scratch.allocate(call); !status.is_ok()) return status;
  workspace = scratch.take<char>(bytes);
  return bp::ok;
}

}  // namespace cuda_backend
