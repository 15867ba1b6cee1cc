// What is given to a stream between bp_capture.begin and end: a regular command list, open until it is finished.
#pragma once

#include <memory>

#include "level_zero.hpp"
#include "lists.hpp"
#include "marks.hpp"

namespace level_zero {

class Device;

// A list that can run again and again: it waits for `start`, resets it, and signals `done`.
struct ReusableList {
  ReusableList(Device& on, ze_command_list_handle_t from) : device(on), list(from) {}
  // It is not running.
  ~ReusableList();
  ReusableList(const ReusableList&) = delete;
  ReusableList& operator=(const ReusableList&) = delete;

  Device& device;
  ze_command_list_handle_t list;
  Mark start, done;
  uint64_t num_commands = 0;
};

// Threads: one at a time; its queue sees to that.
class Recording {
 public:
  // Throws bp::Failure.
  explicit Recording(Device& device);

  // `append` as in Queue::submit.
  template <class Append> ze_result_t add(Append append) {
    const ze_result_t result = append(*list_);
    if (result == ZE_RESULT_SUCCESS) ++into_->num_commands;
    return result;
  }
  // Nothing is added afterwards.
  bp::Result<std::unique_ptr<ReusableList>> finish();

 private:
  Device& device_;
  std::unique_ptr<ReusableList> into_;
  std::unique_ptr<OrderedList> list_;
};

}  // namespace level_zero
