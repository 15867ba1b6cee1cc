// The file of a trace. It opens in chrome://tracing and Perfetto at any time: Chrome's format lets the end of the list be
// missing, and each line reaches the system as it is written.
#pragma once

#include <string>
#include <string_view>

namespace bp::tracing {

// A new file; where another process traces into one of this name, one with this process's number behind it. False, after
// a warning, if it cannot be written.
bool open_trace(const std::string& file);

// False before that, after the end, in a forked child, and after a line that could not be written.
bool trace_is_open();

// A whole line. Threads: any.
void write_trace(std::string_view line);

// Ends the list; later lines go nowhere.
void close_trace();

// In the child of a fork. Takes no lock.
void leave_trace_to_parent();

}  // namespace bp::tracing
