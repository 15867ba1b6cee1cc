// The parent's end of a worker's pipes: frames (protocol/script.hpp) with a limit of time, and never a deadlock when
// both sides have much to say.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "protocol/script.hpp"

namespace bp::conform {

class Channel {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Got : std::uint8_t {
    message,
    closed,       // the worker is gone
    late,         // nothing came until the deadline
    broken,       // what came is not a message
    interrupted,  // `stop` was set
  };

  // Takes both descriptors. `stop`, if given, ends every waiting.
  Channel(int to_worker, int from_worker, const std::atomic<bool>* stop);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Sends what the pipe takes now and keeps the rest for `next`.
  void post(const Json& message);
  // Throws nothing. What has arrived already is taken even after the deadline.
  Got next(Json& out, Clock::time_point deadline);
  // No more scripts: the worker ends by itself.
  void finish();

 private:
  void flush();
  bool fill();  // false: the end of the stream
  bool take(Json& out, bool& broken);

  int to_, from_;
  const std::atomic<bool>* stop_;
  std::string outgoing_, incoming_;
  std::size_t sent_ = 0;
};

}  // namespace bp::conform
