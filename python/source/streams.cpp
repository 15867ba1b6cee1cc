// Streams, events, recordings of work, and the memory of devices.
#include <deque>
#include <optional>

#include <backplane/capture/capture.hpp>
#include <backplane/runtime/allocator.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

// The streams that `with` has entered on this thread.
std::deque<StreamGuard>& entered() {
  thread_local std::deque<StreamGuard> guards;
  return guards;
}

void add_stream_class(nb::module_& module) {
  nb::class_<Stream>(module, "Stream",
                     "A queue of a device; work of one runs in order. In a with statement it is "
                     "the one to which this thread's work on the device goes.")
      .def(
          "__init__",
          [](Stream* self, nb::handle device, int priority) {
            new (self) Stream(device_argument(device), priority);
          },
          nb::arg("device") = nb::none(), nb::arg("priority") = 0)
      .def(
          "synchronize", [](const Stream& self) { without_gil([&] { self.synchronize(); }); },
          "Waits for all its work.")
      .def("query", &Stream::query, "Is all its work done?")
      .def(
          "wait_event", [](const Stream& self, const Event& event) { event.wait(self); },
          nb::arg("event"), "Its later work waits for the event.")
      .def(
          "wait_stream",
          [](const Stream& self, const Stream& other) {
            Event event(other.device());
            event.record(other);
            event.wait(self);
          },
          nb::arg("stream"), "Its later work waits for what the other has been given so far.")
      .def_prop_ro("device", [](const Stream& self) { return device_object(self.device()); })
      .def(
          "__eq__",
          [](const Stream& self, nb::handle other) {
            return nb::isinstance<Stream>(other) &&
                   nb::cast<const Stream&>(other).impl() == self.impl();
          },
          nb::arg().none())
      .def("__hash__",
           [](const Stream& self) { return reinterpret_cast<std::intptr_t>(self.impl()) >> 4; })
      .def("__enter__",
           [](nb::object self) {
             entered().emplace_back(nb::cast<const Stream&>(self));
             return self;
           })
      .def("__exit__", [](Stream&, nb::args) {
        if (!entered().empty()) entered().pop_back();
      });
  module.def(
      "current_stream", [](nb::handle device) { return Stream::current(device_argument(device)); },
      nb::arg("device") = nb::none(), "The one to which this thread's work on the device goes.");
  module.def(
      "default_stream",
      [](nb::handle device) { return Stream::default_of(device_argument(device)); },
      nb::arg("device") = nb::none());
  module.def(
      "stream",
      [](nb::object stream) {
        if (!nb::isinstance<Stream>(stream)) throw nb::type_error("stream: give a Stream");
        return stream;
      },
      nb::arg("stream"), "For a with statement, in which this thread's work goes to the stream.");
}

void add_event_class(nb::module_& module) {
  nb::class_<Event>(module, "Event", "A point in the work of a stream.")
      .def(
          "__init__",
          [](Event* self, nb::handle device, bool) { new (self) Event(device_argument(device)); },
          nb::arg("device") = nb::none(), nb::arg("enable_timing") = true)
      .def("record", &Event::record, nb::arg("stream"), "Here is the point.")
      .def("wait", &Event::wait, nb::arg("stream"), "Later work of the stream waits for the point.")
      .def("query", &Event::query, "Is it reached?")
      .def("synchronize", [](const Event& self) { without_gil([&] { self.synchronize(); }); })
      .def("elapsed_time", &Event::elapsed_ms, nb::arg("end"),
           "Milliseconds from this event to another.");
}

void add_capture(nb::module_& module) {
  nb::class_<Recording>(module, "Recording",
                        "Work that was recorded once, and is replayed as one piece. It keeps all "
                        "tensors that it reads and writes.")
      .def(
          "replay", [](Recording& self) { without_gil([&] { self.replay(); }); },
          "Gives the work to this thread's current stream of the device. New inputs are written "
          "into the old tensors by copy_ before, and results are where the first call put them.")
      .def_prop_ro("device", [](const Recording& self) { return device_object(self.device()); })
      .def_prop_ro("num_calls", &Recording::num_calls, "Kernels, copies and fills.")
      .def_prop_ro("is_of_device", &Recording::is_of_device,
                   "Whether the device itself holds the work, rather than the host call by call.");
  module.def(
      "capture",
      [](nb::callable work, nb::handle device) {
        return capture(device_argument(device), [&] { work(); });
      },
      nb::arg("work"), nb::arg("device") = nb::none(),
      "Calls `work`, whose operators are recorded and do not run. Returns a Recording.\n\n"
      "Raises ValueError for what cannot be recorded: reading values, and work of other devices.");
}

nb::dict statistics_of(const MemoryStatistics& found) {
  nb::dict row;
  row["allocated_bytes"] = found.allocated_bytes;
  row["peak_allocated_bytes"] = found.peak_allocated_bytes;
  row["reserved_bytes"] = found.reserved_bytes;
  row["peak_reserved_bytes"] = found.peak_reserved_bytes;
  row["num_allocations"] = found.num_allocations;
  row["num_releases"] = found.num_releases;
  row["num_backend_allocations"] = found.num_backend_allocations;
  row["num_backend_releases"] = found.num_backend_releases;
  row["num_retries"] = found.num_retries;
  row["num_out_of_memory"] = found.num_out_of_memory;
  row["limit_bytes"] = found.limit_bytes;
  return row;
}

void add_memory(nb::module_& module) {
  module.def(
      "memory_stats",
      [](nb::handle device) { return statistics_of(memory_statistics(device_argument(device))); },
      nb::arg("device") = nb::none(),
      "Bytes that tensors hold (allocated) and that were taken from the device (reserved), their "
      "peaks, and numbers of calls.");
  const auto number = [&](const char* name, std::uint64_t MemoryStatistics::*field,
                          const char* doc) {
    module.def(
        name,
        [field](nb::handle device) { return memory_statistics(device_argument(device)).*field; },
        nb::arg("device") = nb::none(), doc);
  };
  number("memory_allocated", &MemoryStatistics::allocated_bytes, "Bytes that tensors hold.");
  number("max_memory_allocated", &MemoryStatistics::peak_allocated_bytes, "Their peak.");
  number("memory_reserved", &MemoryStatistics::reserved_bytes,
         "Bytes that were taken from the device, held by tensors or free.");
  number("max_memory_reserved", &MemoryStatistics::peak_reserved_bytes, "Their peak.");
  module.def(
      "reset_peak_memory_stats",
      [](nb::handle device) { reset_peak_memory_statistics(device_argument(device)); },
      nb::arg("device") = nb::none());
  module.def(
      "memory_summary", [](nb::handle device) { return memory_summary(device_argument(device)); },
      nb::arg("device") = nb::none(), "The memory in use, by size, as text.");
  module.def(
      "empty_cache",
      [](nb::handle device) {
        const Device found = device_argument(device);
        without_gil([&] { empty_cache(found); });
      },
      nb::arg("device") = nb::none(), "Returns unused memory to the device.");
  module.def(
      "set_memory_limit",
      [](std::uint64_t bytes, nb::handle device) {
        set_memory_limit(device_argument(device), bytes);
      },
      nb::arg("bytes"), nb::arg("device") = nb::none(),
      "The most bytes to take from the device; 0: no limit.");
}

}  // namespace

void add_streams(nb::module_& module) {
  add_stream_class(module);
  add_event_class(module);
  add_capture(module);
  add_memory(module);
}

}  // namespace bp::python
