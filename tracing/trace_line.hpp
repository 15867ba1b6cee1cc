// One call as one line of the trace: an event of Chrome's trace format.
#pragma once

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator.hpp>

namespace bp::tracing {

class TraceLine {
 public:
  // Notes the arguments, since a call may rewrite them, and then the time. `call` outlives this.
  explicit TraceLine(const Call& call);
  ~TraceLine();
  TraceLine(const TraceLine&) = delete;
  TraceLine& operator=(const TraceLine&) = delete;

  // Exactly one of these, when the call is over: writes the line.
  void succeeded(const Call& call, std::optional<Rung> rung);
  void failed(std::string_view why);

 private:
  void write(std::chrono::steady_clock::duration duration, std::string_view rung,
             std::string_view more);

  const Operator& op_;
  fmt::memory_buffer arguments_;
  std::string device_;  // of the first tensor, then of the first result
  std::chrono::steady_clock::time_point start_;
};

}  // namespace bp::tracing
