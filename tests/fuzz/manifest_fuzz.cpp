// Any text is a manifest or a sentence, and no manifest leads out of its folder by "..".
#include <cstdlib>
#include <string_view>

#include <backplane/loading/manifest.hpp>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace bp::loading;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ManifestResult result = parse_manifest(text, "/plugins/fuzz.json");
  if (!result.problem.empty()) {
    if (!result.problem.starts_with("/plugins/fuzz.json: ")) std::abort();
    return 0;
  }
  const Manifest& manifest = result.manifest;
  if (manifest.name.empty() || manifest.abi_min < 1 || manifest.abi_min > manifest.abi_max)
    std::abort();
  if (!manifest.library.is_absolute()) std::abort();
  for (const auto& part : manifest.library)
    if (part == "..") std::abort();
  find_mismatch(manifest, "/plugins/fuzz.json");
  return 0;
}
