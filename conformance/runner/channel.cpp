#include "runner/channel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <vector>

namespace bp::conform {
namespace {

// So that most answers fit into the pipe while the parent still computes what to expect.
constexpr int pipe_bytes = 1 << 20;
constexpr std::uint64_t longest_message = std::uint64_t{1} << 33;
// How soon an interrupt is noticed.
constexpr int longest_poll_ms = 100;

void prepare_pipe(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  fcntl(file, F_SETPIPE_SZ, pipe_bytes);  // refused to a user who has many pipes: slower, not wrong
}

}  // namespace

Channel::Channel(int to_worker, int from_worker, const std::atomic<bool>* stop)
    : to_(to_worker), from_(from_worker), stop_(stop) {
  prepare_pipe(to_);
  prepare_pipe(from_);
}

Channel::~Channel() {
  finish();
  close(from_);
}

void Channel::finish() {
  if (to_ >= 0) close(to_);
  to_ = -1;
}

void Channel::post(const Json& message) {
  std::vector<std::uint8_t> body;
  append_message(message, body);
  const std::uint64_t bytes = body.size();
  outgoing_.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  outgoing_.append(reinterpret_cast<const char*>(body.data()), body.size());
  flush();
}

void Channel::flush() {
  while (to_ >= 0 && sent_ < outgoing_.size()) {
    const ssize_t count = write(to_, outgoing_.data() + sent_, outgoing_.size() - sent_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return finish();  // the worker is gone; the end of its stream tells
    sent_ += static_cast<std::size_t>(count);
  }
  outgoing_.clear();
  sent_ = 0;
}

bool Channel::fill() {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = read(from_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    incoming_.append(buffer, static_cast<std::size_t>(count));
    if (static_cast<std::size_t>(count) < sizeof buffer) return true;
  }
}

bool Channel::take(Json& out, bool& broken) {
  std::uint64_t bytes = 0;
  if (incoming_.size() < sizeof bytes) return false;
  std::memcpy(&bytes, incoming_.data(), sizeof bytes);
  broken = bytes > longest_message;
  if (broken || incoming_.size() - sizeof bytes < bytes) return false;
  const auto* body = reinterpret_cast<const std::uint8_t*>(incoming_.data()) + sizeof bytes;
  broken = !read_message(body, bytes, out);
  incoming_.erase(0, sizeof bytes + bytes);
  return !broken;
}

Channel::Got Channel::next(Json& out, Clock::time_point deadline) {
  for (bool open = true, first = true;; first = false) {
    bool broken = false;
    if (take(out, broken)) return Got::message;
    if (broken) return Got::broken;
    if (!open) return Got::closed;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return Got::interrupted;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 && !first) return Got::late;
    const bool writes = to_ >= 0 && sent_ < outgoing_.size();
    pollfd files[2] = {{from_, POLLIN, 0}, {to_, POLLOUT, 0}};
    poll(files, writes ? 2 : 1, static_cast<int>(std::clamp<long>(left, 0, longest_poll_ms)));
    if (writes && files[1].revents != 0) flush();
    if (files[0].revents != 0) open = fill();
  }
}

}  // namespace bp::conform
