// Any text is an index whose files lie beside it, or a sentence about it.
#include <cstdlib>

#include <backplane/tensor/error.hpp>

#include "sharded.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    for (const auto& [name, shard] :
         bp::serialize::parse_index({reinterpret_cast<const char*>(data), size}, "fuzz.json"))
      if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos)
        std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.json: ")) std::abort();
  }
  return 0;
}
