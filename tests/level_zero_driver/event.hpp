// Events and the pools that they are places of.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "signal.hpp"

namespace over_opencl {

class EventPool : public Tagged<EventPool> {
 public:
  EventPool(Device& device, const ze_event_pool_desc_t& description);

  Device& device() const { return device_; }
  bool has_timestamps() const { return has_timestamps_; }
  // Throws Failure if there is no such place, or an event is there already.
  void take(uint32_t index);
  void give_back(uint32_t index) { places_[index].clear(); }

 private:
  Device& device_;
  bool has_timestamps_;
  std::vector<std::atomic_flag> places_;
};

class Event : public Tagged<Event> {
 public:
  Event(EventPool& pool, uint32_t index)
      : signal(pool.device()), has_timestamps(pool.has_timestamps()), pool_(pool), index_(index) {
    pool.take(index);
  }
  ~Event() {
    // Applications are to destroy the pool after its events; most drivers let it pass.
    if (pool_.is_alive()) pool_.give_back(index_);
  }

  Signal signal;
  const bool has_timestamps;

 private:
  EventPool& pool_;
  uint32_t index_;
};

}  // namespace over_opencl
