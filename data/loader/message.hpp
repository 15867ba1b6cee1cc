// What goes between the parent and a worker process: tasks one way, batches the other, each a frame of bytes with its length
// before it. A small batch is in its frame, the tree before the tensors' bytes; a large one is in a piece of shared memory,
// whose descriptor comes along with the frame. So frames with batches are short, however large these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loader/fetch.hpp"

namespace bp::data {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset();
  void release() { fd_ = -1; }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

inline constexpr std::size_t frame_header_bytes = 8;
// A frame with a batch that has more is not one of ours.
inline constexpr std::uint64_t most_frame_bytes = 1024 * 1024;

// A frame, header included, and the descriptor that goes with it.
struct Frame {
  std::string bytes;
  Descriptor memory;
};

std::string framed_task(const Task& task);
Task task_of(std::string_view body);

// Throws bad_argument for a tensor that is not the host's, out_of_memory when there is no shared memory for its bytes.
Frame framed_result(const Fetched& result);
// Which piece of shared memory the batch of frame `body` is in; nothing: in the frame itself.
std::optional<std::uint64_t> memory_of(std::string_view body);
// A number that no other piece of shared memory has.
std::uint64_t number_of(const Descriptor& memory);
// The tensors of a large batch lie in the shared memory, which is unmapped with the last of them. A batch whose memory is not
// there, or can't be mapped, has failed. Throws internal for bytes that are not a frame's.
Fetched result_of(std::string_view body, const Descriptor& memory);

}  // namespace bp::data
