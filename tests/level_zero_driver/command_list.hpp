// Command lists: an immediate one hands each command to its queue at once, a regular one keeps them to be executed, as
// often as one likes, by any queue.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernel.hpp"
#include "queue.hpp"

namespace over_opencl {

class CommandList : public Tagged<CommandList> {
 public:
  CommandList(Device& device, uint32_t group) : device_(device), group_(group) {}
  CommandList(Device& device, const ze_command_queue_desc_t& description);

  Device& device() const { return device_; }
  uint32_t group() const { return group_; }
  bool is_immediate() const { return queue_ != nullptr; }
  bool is_closed() const { return is_closed_; }
  void close();
  void reset();

  // Each throws Failure. What `enqueue` captures is copied if the list is a regular one.
  template <class Work> void append(const Work& enqueue, Order order) {
    check(!is_closed_, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    if (is_immediate()) {
      std::lock_guard lock(queue_->mutex());
      queue_->submit(enqueue, order);
      queue_->flush();
    } else {
      commands_.push_back({Kind::work, enqueue, std::move(order)});
    }
  }
  template <class Work> void append_host_work(const Work& work, Order order) {
    append([work](cl_command_queue queue, cl_uint count, const cl_event* events,
                  cl_event* own) { return enqueue_host_work(work, queue, count, events, own); },
           std::move(order));
  }
  void append_launch(Kernel& kernel, const ze_group_count_t& groups, Order order);
  void append_barrier(Order order);
  // Takes effect when the list is executed, not only when its turn has come: see README.md.
  void append_event_reset(Event& event);

  void execute(Queue& queue);  // with the queue's mutex held

 private:
  enum class Kind { work, launch, barrier, event_reset };
  struct Command {
    Kind kind;
    Enqueue enqueue;
    Order order;
  };
  template <class Work> void launch(Queue& queue, const Work& enqueue, const Order& order);
  template <class Work> void launch_at_once(const Work& enqueue, const Order& order);

  Device& device_;
  uint32_t group_;
  bool is_closed_ = false;
  std::unique_ptr<Queue> queue_;
  std::vector<Command> commands_;
};

}  // namespace over_opencl
