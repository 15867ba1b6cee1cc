// alone: libzip's header has macros of short names
#include "formats/zip_entries.hpp"

#include <memory>

#include <backplane/tensor/check.hpp>

#ifdef BP_DATA_ZIP
#  include <zip.h>
#endif

namespace bp::data {

#ifdef BP_DATA_ZIP
namespace {

// Deflate can't pack tighter than this, so that an entry which claims more is no array but an attack.
constexpr std::uint64_t most_deflated_ratio = 1032;

struct CloseZip {
  void operator()(zip_t* zip) const { zip_discard(zip); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::string unpacked(zip_t* zip, zip_uint64_t index, const zip_stat_t& facts,
                     const std::string& place) {
  const std::unique_ptr<zip_file_t, CloseZip> file(zip_fopen_index(zip, index, 0));
  BP_CHECK(file, "{}: can't be unpacked: {}", place, zip_strerror(zip));
  std::string bytes(facts.size, '\0');
  std::uint64_t done = 0;
  while (done < facts.size) {
    const zip_int64_t got = zip_fread(file.get(), bytes.data() + done, facts.size - done);
    BP_CHECK(got >= 0, "{}: is damaged: {}", place, zip_file_strerror(file.get()));
    BP_CHECK(got > 0, "{}: is cut short after {} of {} bytes", place, done, facts.size);
    done += static_cast<std::uint64_t>(got);
  }
  char more;
  BP_CHECK(zip_fread(file.get(), &more, 1) == 0, "{}: is damaged: {}", place,
           zip_file_strerror(file.get()));  // here the checksum is compared
  return bytes;
}

}  // namespace

void for_each_zip_entry(
    const std::string& path, std::uint64_t most_bytes,
    const std::function<void(std::string name, std::string_view bytes)>& visit) {
  int code = 0;
  const std::unique_ptr<zip_t, CloseZip> zip(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: can't be read as a zip file: {}", path, why));
  }
  std::uint64_t total = 0;
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    zip_stat_t facts;
    BP_CHECK(zip_stat_index(zip.get(), i, 0, &facts) == 0, "{}: entry {}: {}", path, i,
             zip_strerror(zip.get()));
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    BP_CHECK((facts.valid & needed) == needed, "{}: entry {} does not say its size", path, i);
    const std::string place = fmt::format("{}: {}", path, facts.name);
    BP_CHECK(facts.size <= most_bytes - total, "{}: unpacks to {} bytes, and {} of {} are left",
             place, facts.size, most_bytes - total, most_bytes);
    BP_CHECK(facts.size / most_deflated_ratio <= facts.comp_size,
             "{}: claims to unpack from {} to {} bytes, which no deflated file does", place,
             facts.comp_size, facts.size);
    total += facts.size;
    visit(facts.name, unpacked(zip.get(), i, facts, place));
  }
}
#else
void for_each_zip_entry(const std::string& path, std::uint64_t,
                        const std::function<void(std::string name, std::string_view bytes)>&) {
  throw_error(
      ErrorClass::unsupported,
      fmt::format("{}: this Backplane was built without libzip (apt install libzip-dev)", path));
}
#endif

}  // namespace bp::data
