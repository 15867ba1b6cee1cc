// Places in streams: Level Zero's events, each signalled once between two resets, so that every place takes a fresh one.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "level_zero.hpp"

namespace level_zero {

class Device;

// An event that is given back when nobody holds it any more.
using Mark = std::shared_ptr<_ze_event_handle_t>;

// Threads: any, for every function but constructor and destructor.
class Marks {
 public:
  explicit Marks(Device& device) : device_(device) {}
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  // Not signalled. Visible to the host and to all devices of the driver, and with the time at which it was signalled.
  bp::Result<Mark> take();

 private:
  // Null: none is free.
  ze_event_handle_t reuse();
  ze_result_t make(ze_event_handle_t& event);
  void give_back(ze_event_handle_t event);

  Device& device_;
  std::mutex mutex_;
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<ze_event_handle_t> events_;  // all
  std::deque<ze_event_handle_t> retired_;  // of nobody; some wait for their signal
};

}  // namespace level_zero
