// Any bytes are a zip file whose entries stay within the limit, or a sentence that begins with its name.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include <backplane/files/input_file.hpp>
#include <backplane/files/zip_archive.hpp>
#include <backplane/tensor/error.hpp>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  constexpr std::uint64_t most_bytes = 1 << 20;
  static const int file = memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return 0;
  try {
    std::uint64_t total = 0;
    const bp::files::InputFile input(path);
    const bp::files::ZipArchive archive(
        input, {.most_growth = bp::files::densest_deflate, .most_bytes = most_bytes});
    for (const std::string& name : archive.names()) {
      std::string bytes(archive.bytes_of(name), '\0');
      archive.read(name, bytes.data());
      total += bytes.size();
    }
    if (total > most_bytes) std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with(path)) std::abort();
  }
  return 0;
}
