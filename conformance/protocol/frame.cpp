// Messages on a pipe.
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <backplane/tensor/error.hpp>

#include "protocol/script.hpp"

namespace bp::conform {
namespace {

// No script is near it: a longer frame is garbage, from a worker that wrote into the pipe by itself.
constexpr std::uint64_t longest_frame = std::uint64_t{1} << 32;

bool write_all(int file, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t count = write(file, from, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    from += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

// How many were read: fewer only at the end of the stream.
std::size_t read_all(int file, void* data, std::size_t bytes) {
  auto* to = static_cast<char*>(data);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = read(file, to + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

bool send(int file, const Json& message) {
  std::vector<std::uint8_t> frame(sizeof(std::uint64_t));
  Json::to_cbor(message, frame);
  const std::uint64_t bytes = frame.size() - sizeof bytes;
  std::memcpy(frame.data(), &bytes, sizeof bytes);
  return write_all(file, frame.data(), frame.size());
}

bool receive(int file, Json& out) {
  std::uint64_t bytes = 0;
  const std::size_t head = read_all(file, &bytes, sizeof bytes);
  if (head == 0) return false;
  if (head < sizeof bytes || bytes > longest_frame)
    throw_error(ErrorClass::internal,
                "a message on the pipe is broken; did something else write into it?");
  std::vector<std::uint8_t> frame(bytes);
  if (read_all(file, frame.data(), frame.size()) < frame.size())
    throw_error(ErrorClass::internal, "a message on the pipe ends early; its sender is gone");
  out = Json::from_cbor(frame, true, false);
  if (out.is_discarded()) throw_error(ErrorClass::internal, "a message on the pipe is no CBOR");
  return true;
}

}  // namespace bp::conform
