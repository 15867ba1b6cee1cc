// alone: libzip's header has macros of short names
#include "formats/zip_entries.hpp"

#include <memory>

#include <backplane/tensor/check.hpp>

#include "formats/files.hpp"

#ifdef BP_DATA_ZIP
#  include <zip.h>
#endif

namespace bp::data {

#ifdef BP_DATA_ZIP
namespace {

// Deflate can't pack tighter than this, so that an entry which claims more is no array but an attack.
constexpr std::uint64_t most_deflated_ratio = 1032;

// An archive without entries, which libzip would not write: the end of its directory alone.
constexpr std::string_view empty_zip("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

struct CloseZip {
  void operator()(zip_t* zip) const { zip_discard(zip); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::string sentence_of_zip(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  return why;
}

void add_entry(zip_t* zip, const std::string& path, const ZipEntry& entry, bool compressed) {
  const auto piece = [](std::string_view bytes) {
    return zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<char*>(bytes.data())),
                                 bytes.size()};
  };
  const zip_buffer_fragment_t pieces[] = {piece(entry.head), piece(entry.body)};
  zip_source_t* source = zip_source_buffer_fragment(zip, pieces, entry.body.empty() ? 1 : 2, 0);
  const zip_int64_t index =
      source ? zip_file_add(zip, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
  if (source && index < 0) zip_source_free(source);  // else it is the archive's
  BP_CHECK(index >= 0, "{}: can't hold \"{}\": {}", path, entry.name, zip_strerror(zip));
  const auto at = static_cast<zip_uint64_t>(index);
  // The first day of DOS, as NumPy has it: the same arrays make the same file.
  const bool is_set =
      zip_set_file_compression(zip, at, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0 &&
      zip_file_set_dostime(zip, at, 0, 0x21, 0) == 0;
  BP_CHECK(is_set, "{}: can't hold \"{}\": {}", path, entry.name, zip_strerror(zip));
}

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
  BP_CHECK(zip, "{}: can't be read as a zip file: {}", path, sentence_of_zip(code));
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

void write_zip_entries(const std::string& path, const std::vector<ZipEntry>& entries,
                       bool compressed) {
  if (entries.empty()) return write_whole_file(path, empty_zip);
  int code = 0;
  std::unique_ptr<zip_t, CloseZip> zip(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  BP_CHECK(zip, "{}: can't be written: {}", path, sentence_of_zip(code));
  for (const ZipEntry& entry : entries) add_entry(zip.get(), path, entry, compressed);
  BP_CHECK(zip_close(zip.get()) == 0, "{}: can't be written: {}", path, zip_strerror(zip.get()));
  static_cast<void>(zip.release());
}
#else
void for_each_zip_entry(const std::string& path, std::uint64_t,
                        const std::function<void(std::string name, std::string_view bytes)>&) {
  throw_error(
      ErrorClass::unsupported,
      fmt::format("{}: this Backplane was built without libzip (apt install libzip-dev)", path));
}
void write_zip_entries(const std::string& path, const std::vector<ZipEntry>&, bool) {
  for_each_zip_entry(path, 0, {});
}
#endif

}  // namespace bp::data
