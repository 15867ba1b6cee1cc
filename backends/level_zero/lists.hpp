// Command lists: one whose commands run one after the other, and those through which a stream's work goes.
#pragma once

#include <memory>
#include <vector>

#include "level_zero.hpp"

namespace level_zero {

class Device;

// Level Zero runs the commands of a list in any order; drivers of API 1.7 can be asked for theirs, others get barriers
// in between. Threads: one at a time.
class OrderedList {
 public:
  // Takes an open list. `follows`: after work of its queue.
  OrderedList(ze_command_list_handle_t list, bool keeps_order, bool follows)
      : list_(list), keeps_order_(keeps_order), is_dirty_(follows) {}

  // `command(list)` appends one command and returns Level Zero's result.
  template <class Command> ze_result_t append(Command command) {
    if (is_dirty_ && !keeps_order_) {
      const ze_result_t result = loader.zeCommandListAppendBarrier(list_, nullptr, 0, nullptr);
      if (result != ZE_RESULT_SUCCESS) return result;
    }
    is_dirty_ = true;
    return command(list_);
  }
  // Signals `event` when all before is done; a barrier itself.
  ze_result_t mark(ze_event_handle_t event) {
    is_dirty_ = false;
    return loader.zeCommandListAppendBarrier(list_, event, 0, nullptr);
  }
  // What comes later waits for `event`.
  ze_result_t wait(ze_event_handle_t event) {
    return append([&](ze_command_list_handle_t list) {
      return loader.zeCommandListAppendWaitOnEvents(list, 1, &event);
    });
  }
  ze_result_t reset(ze_event_handle_t event) {
    return append([&](ze_command_list_handle_t list) {
      return loader.zeCommandListAppendEventReset(list, event);
    });
  }

  ze_command_list_handle_t get() const { return list_; }

 private:
  ze_command_list_handle_t list_;
  bool keeps_order_;
  bool is_dirty_;
};

// Through an immediate list, where the driver has them, else through regular lists, one for each piece of work.
// BACKPLANE_LEVEL_ZERO_LISTS=regular or immediate overrides the choice. Threads: one at a time.
class Lists {
 public:
  // Throws bp::Failure.
  Lists(Device& device, int32_t priority);
  ~Lists();
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;

  // `append(OrderedList&)` gives the work and returns Level Zero's result.
  template <class Append> ze_result_t give(Append append) {
    if (immediate_) [[likely]]
      return append(*immediate_);
    Regular* regular = nullptr;
    ze_result_t result = open(regular);
    if (result != ZE_RESULT_SUCCESS) return result;
    OrderedList list(regular->list, false, true);
    result = append(list);
    return close(*regular, result);
  }
  // Runs a closed list after what was given.
  ze_result_t run(ze_command_list_handle_t closed, ze_event_handle_t start, ze_event_handle_t done);

  // Of the two, the one that there is; else null.
  ze_command_list_handle_t immediate() const { return immediate_ ? immediate_->get() : nullptr; }
  ze_command_queue_handle_t queue() const { return queue_; }

 private:
  // A list, and whether its last run is over.
  struct Regular {
    ze_command_list_handle_t list = nullptr;
    ze_fence_handle_t over = nullptr;
    bool is_running = false;
  };

  bool make_immediate();
  ze_result_t make_queue();
  ze_result_t open(Regular*& regular);
  ze_result_t add(Regular*& regular);
  ze_result_t close(Regular& regular, ze_result_t appended);

  Device& device_;
  ze_command_queue_desc_t description_;
  std::unique_ptr<OrderedList> immediate_;
  ze_command_queue_handle_t queue_ =
      nullptr;  // with an immediate list: for closed lists, made when first needed
  std::vector<std::unique_ptr<Regular>> regular_;
  size_t next_ = 0;
};

// An open list, in order as far as the driver can. `keeps_order` says whether it can.
ze_result_t make_list(Device& device, ze_command_list_handle_t& list, bool& keeps_order);

}  // namespace level_zero
