// What the driver does wrong when the environment asks for it: README.md has the list.
#pragma once

#include <atomic>
#include <cstdint>

namespace over_opencl {

struct Faults {
  uint64_t memory_bytes = 0;        // allocations beyond these together fail; 0: never
  uint64_t failing_allocation = 0;  // which one fails, counted from 1; 0: none
  uint64_t launches = 0;            // the device is lost at the launch after these...
  bool loses_device = false;        // ... if this says so
  uint64_t event_delay_ms = 0;      // between the end of work and its event
  bool loose_order = false;         // commands keep no order but what barriers and events demand
};

// As read last: by zeInit, or by read_faults(), which the driver also gives as an extension function of the name
// "zeOverOpenclReadFaults" (`void (*)()`), for tests that change the environment of their own process. Reading begins
// to count again, and brings lost devices back. Queues made before keep their order.
const Faults& faults();
void read_faults();

// True for the allocation that is to fail; counts it.
bool is_failing_allocation();
// True for the launch that loses the device; counts it.
bool is_losing_launch();
// Grows with each read_faults(), so that what was lost before counts no more.
uint64_t fault_generation();

}  // namespace over_opencl
