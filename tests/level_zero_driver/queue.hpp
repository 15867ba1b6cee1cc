// Command queues, also those inside immediate command lists: each is a command queue of OpenCL.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "event.hpp"
#include "faults.hpp"

namespace over_opencl {

// Groups of queues: one takes everything, one copies and fills only, as on a card with copy engines.
constexpr uint32_t num_queue_groups = 2, compute_group = 0, queues_per_group = 4;
constexpr size_t largest_pattern = 128;

// What a command waits for and sets.
struct Order {
  Event* signal = nullptr;
  std::vector<Event*> waits;
};

// Puts one command into an OpenCL queue: (queue, number of events to wait for, these, where its own goes or null). It
// must not wait.
using Enqueue = std::function<cl_int(cl_command_queue, cl_uint, const cl_event*, cl_event*)>;

class Queue : public Tagged<Queue> {
 public:
  Queue(Device& device, const ze_command_queue_desc_t& description);
  ~Queue();

  Device& device() const { return device_; }
  uint32_t group() const { return group_; }
  // Commands that nothing orders are held until a barrier and then run backwards: a forgotten barrier that a card
  // would need shows each time.
  bool is_loose() const { return is_loose_; }
  // Commands of one list or call are not to be mixed with those of another.
  std::mutex& mutex() { return mutex_; }

  // The following with mutex() held. They throw Failure.
  template <class Work> void submit(const Work& enqueue, const Order& order) {
    device_.check_not_lost();
    const bool is_free = order.signal == nullptr && order.waits.empty();
    if (is_free && is_loose_) {
      held_.emplace_back(enqueue);
    } else if (is_free) {
      require(enqueue(queue_.get(), cl_uint{0}, nullptr, nullptr));
    } else {
      submit_in_order(order, [&](cl_uint count, const cl_event* events, cl_event* own) {
        return enqueue(queue_.get(), count, events, own);
      });
    }
    ++given_;
  }
  // What follows waits for what came before and for the order's events.
  void submit_barrier(const Order& order);
  // It is set when all that was submitted has ended.
  void submit_end(Signal& signal);
  // Hands over what was submitted; waits for it in a synchronous queue.
  void flush();

  // Without the mutex.
  ze_result_t synchronize(uint64_t timeout_ns);

 private:
  template <class Work> void submit_in_order(const Order& order, const Work& enqueue) {
    std::vector<OwnedEvent> owned;
    std::vector<cl_event> events;
    collect(order.waits, owned, events);
    cl_event own = nullptr;
    require(enqueue(static_cast<cl_uint>(events.size()), events.empty() ? nullptr : events.data(),
                    order.signal != nullptr ? &own : nullptr));
    if (order.signal != nullptr) promise(order.signal->signal, OwnedEvent(own));
  }
  static void collect(const std::vector<Event*>& waits, std::vector<OwnedEvent>& owned,
                      std::vector<cl_event>& events);
  void promise(Signal& signal, OwnedEvent own);
  // Behind all that was given, whose number goes to `given`; null if that has ended.
  OwnedEvent marker(uint64_t& given);
  void release_held();

  Device& device_;
  uint32_t group_;
  bool is_synchronous_, is_loose_;
  OwnedQueue queue_;
  std::mutex mutex_;
  uint64_t given_ = 0, marked_ = 0, ended_ = 0;
  OwnedEvent marker_;  // behind the first `marked_` commands
  std::vector<Enqueue> held_;
};

// Runs `work`, which must be trivially copyable, on the device's own thread, in the queue's order.
template <class Work>
cl_int enqueue_host_work(const Work& work, cl_command_queue queue, cl_uint count,
                         const cl_event* events, cl_event* own) {
  static_assert(std::is_trivially_copyable_v<Work>);
  Work copy = work;
  return clEnqueueNativeKernel(
      queue, [](void* given) { (*static_cast<Work*>(given))(); }, &copy, sizeof copy, 0, nullptr,
      nullptr, count, events, own);
}

struct Fence : Tagged<Fence> {
  explicit Fence(Device& device) : signal(device) {}
  Signal signal;
};

}  // namespace over_opencl
