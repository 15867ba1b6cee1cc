// The text of a State from a stranger's file: a state that is written and read again as the same text, or a sentence.
#include <cstdlib>

#include <backplane/tensor/device.hpp>
#include <backplane/tensor/error.hpp>

#include "state_text.hpp"

// Runtime names devices, which has no part in this; tensors without memory are all that is made here.
std::string bp::to_string(Device device) {
  return "device " + std::to_string(device.number);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const auto no_tensor = [](const std::string&) { return bp::Tensor(); };
  const std::string file = "f";
  std::string text;
  try {
    const std::string_view given(reinterpret_cast<const char*>(data), size);
    text = bp::serialize::text_of(bp::serialize::state_from(given, no_tensor, file), file).text;
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("f: ")) std::abort();
    return 0;
  }
  const bp::State again = bp::serialize::state_from(text, no_tensor, file);
  if (bp::serialize::text_of(again, file).text != text) std::abort();
  return 0;
}
