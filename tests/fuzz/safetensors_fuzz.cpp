// Any bytes are a safetensors file whose tensors fill it without a gap, or a sentence about it.
#include <cstdlib>

#include <backplane/tensor/error.hpp>

#include "safetensors_header.hpp"

namespace {

void check(std::string_view bytes, const std::string& file) {
  using namespace bp::serialize;
  const auto* first = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::uint64_t length = parse_length(first, bytes.size(), file);
  const std::uint64_t data_bytes = bytes.size() - length_bytes - length;
  SafetensorsHeader header = parse_header(bytes.substr(length_bytes, length), data_bytes, file);
  std::uint64_t place = 0;
  for (const HeaderEntry& entry : header.entries) {
    if (entry.begin != place || entry.end < place) std::abort();
    place = entry.end;
  }
  if (place != data_bytes) std::abort();
  // What was read can be written, and is then read as the same.
  const std::string again = compose_header(header.entries, header.metadata, file);
  const SafetensorsHeader second =
      parse_header(std::string_view(again).substr(length_bytes), data_bytes, file);
  if (second.metadata != header.metadata || second.entries.size() != header.entries.size())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    check({reinterpret_cast<const char*>(data), size}, "fuzz.safetensors");
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.safetensors: ")) std::abort();
  }
  return 0;
}
