// Which streams use a storage besides its own, from the first use on.
#pragma once

#include <atomic>

#include <backplane/abi.h>

namespace bp {

struct StreamState;

// A stream that uses the storage, and the point of it that is waited for once the last handle is gone.
struct StreamUse {
  StreamState* stream = nullptr;
  bp_event* event = nullptr;
  StreamUse* next = nullptr;
};

// Threads: any may add, without a lock, while it holds the storage; the rest is for the thread that dropped it last.
class StreamUses {
 public:
  StreamUses() = default;
  ~StreamUses() { clear(); }
  StreamUses(const StreamUses&) = delete;
  StreamUses& operator=(const StreamUses&) = delete;

  // Once for each stream. Throws std::bad_alloc.
  void add(StreamState& stream);
  bool empty() const { return !first_.load(std::memory_order_relaxed); }
  StreamUse* first() const { return first_.load(std::memory_order_relaxed); }
  // Removes the first, whose event the caller has given back.
  void pop() noexcept;
  void clear() noexcept {
    while (!empty()) pop();
  }

 private:
  std::atomic<StreamUse*> first_{nullptr};
};

}  // namespace bp
