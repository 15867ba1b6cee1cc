// Faults of streams, events and late errors. They show only on a device that works in the background.
#pragma once

#include <string_view>

#include <backplane/abi.h>

namespace exam {

bool is_queue_fault(std::string_view fault);
// In place of the queue's functions and the memory's, where that is the fault: changes the tables.
void spoil_queue(bp_queue& queue, bp_memory& memory);
// With which code work fails that is to fail with this one.
bp_code failure_of_work(bp_code code);

}  // namespace exam
