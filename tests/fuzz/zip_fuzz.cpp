// Any bytes are an archive whose members can be read or say why not, or a sentence about it. No member outgrows its limit.
#include <cstdlib>

#include <backplane/files/zip_archive.hpp>
#include <backplane/tensor/error.hpp>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    const bp::files::ZipArchive archive(data, size, "fuzz.pt");
    std::uint64_t all = 0;
    for (const std::string& name : archive.names()) {
      all += archive.bytes_of(name);
      if (all > 100 * size) std::abort();
    }
    for (const std::string& name : archive.names()) {
      std::string bytes(archive.bytes_of(name), '\0');
      archive.read(name, bytes.data());
    }
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.pt: ")) std::abort();
  }
  return 0;
}
