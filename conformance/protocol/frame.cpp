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

// The message without what its binary values hold, which is told in `taken`.
Json lightened(const Json& message, std::vector<const Json::binary_t*>& taken) {
  if (message.is_binary()) {
    taken.push_back(&message.get_binary());
    return Json::binary({});
  }
  if (!message.is_structured()) return message;
  Json light(message.type());
  if (message.is_array())
    for (const Json& each : message) light.push_back(lightened(each, taken));
  else
    for (const auto& [key, each] : message.items()) light.emplace(key, lightened(each, taken));
  return light;
}

// Builds the value that is read, unless it nests deeper than any message: a plugin's bytes may not use up the stack.
class ShallowBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit ShallowBuilder(Json& out) : json_sax_dom_parser(out, false) {}
  bool start_object(std::size_t size) {
    return ++depth_ <= deepest && json_sax_dom_parser::start_object(size);
  }
  bool end_object() { return --depth_, json_sax_dom_parser::end_object(); }
  bool start_array(std::size_t size) {
    return ++depth_ <= deepest && json_sax_dom_parser::start_array(size);
  }
  bool end_array() { return --depth_, json_sax_dom_parser::end_array(); }

 private:
  static constexpr int deepest = 64;
  int depth_ = 0;
};

bool read_cbor(const std::uint8_t* begin, std::size_t size, Json& out) {
  try {
    ShallowBuilder builder(out);
    return Json::sax_parse(begin, begin + size, &builder, Json::input_format_t::cbor);
  } catch (const Json::exception&) {  // a size that no container has
    return false;
  }
}

// The binary values of a light message, in the order in which lightened met them.
void find_binaries(Json& light, std::vector<Json::binary_t*>& found) {
  if (light.is_binary()) found.push_back(&light.get_binary());
  if (light.is_structured())
    for (Json& each : light) find_binaries(each, found);
}

}  // namespace

void append_message(const Json& message, std::vector<std::uint8_t>& frame) {
  std::vector<const Json::binary_t*> taken;
  const Json light = lightened(message, taken);
  std::vector<std::size_t> sizes;
  for (const Json::binary_t* bytes : taken) sizes.push_back(bytes->size());
  const std::size_t head = frame.size();
  frame.resize(head + sizeof(std::uint64_t));
  Json::to_cbor(Json{{"message", light}, {"sizes", sizes}}, frame);
  const std::uint64_t count = frame.size() - head - sizeof count;
  std::memcpy(frame.data() + head, &count, sizeof count);
  for (const Json::binary_t* bytes : taken) frame.insert(frame.end(), bytes->begin(), bytes->end());
}

bool read_message(const std::uint8_t* begin, std::size_t size, Json& out) {
  std::uint64_t count = 0;
  if (size < sizeof count) return false;
  std::memcpy(&count, begin, sizeof count);
  begin += sizeof count, size -= sizeof count;
  if (count > size) return false;
  Json all;
  if (!read_cbor(begin, count, all)) return false;
  begin += count, size -= count;
  if (!all.is_object() || !all.contains("message") || !all.contains("sizes")) return false;
  out = std::move(all["message"]);
  std::vector<Json::binary_t*> binaries;
  find_binaries(out, binaries);
  const Json& sizes = all["sizes"];
  if (!sizes.is_array() || sizes.size() != binaries.size()) return false;
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    if (!sizes[i].is_number_unsigned()) return false;
    const auto bytes = sizes[i].get<std::size_t>();
    if (bytes > size) return false;
    static_cast<std::vector<std::uint8_t>&>(*binaries[i]).assign(begin, begin + bytes);
    begin += bytes, size -= bytes;
  }
  return size == 0;
}

bool send(int file, const Json& message) {
  std::vector<std::uint8_t> frame(sizeof(std::uint64_t));
  append_message(message, frame);
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
  if (!read_message(frame.data(), frame.size(), out))
    throw_error(ErrorClass::internal, "a message on the pipe is garbage");
  return true;
}

}  // namespace bp::conform
