#include <algorithm>
#include <exception>
#include <memory>

#include <backplane/files/file_errors.hpp>
#include <backplane/files/output_file.hpp>
#include <backplane/files/whole_file.hpp>
#include <backplane/files/zip_writer.hpp>

#ifdef BP_WITH_LIBZIP
#  include <zip.h>
#endif

namespace bp::files {

#ifdef BP_WITH_LIBZIP
namespace {

// An archive without members, which libzip would not write: the end of its directory alone.
constexpr std::string_view empty_zip("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

struct DiscardZip {
  void operator()(zip_t* zip) const { zip_discard(zip); }
};
using Zip = std::unique_ptr<zip_t, DiscardZip>;

// Where libzip writes. Its own files would be replaced without a look at modes, links and the disk.
class ZipTarget {
 public:
  explicit ZipTarget(const std::filesystem::path& path) : out_(path) { zip_error_init(&error_); }
  ~ZipTarget() { zip_error_fini(&error_); }
  ZipTarget(const ZipTarget&) = delete;
  ZipTarget& operator=(const ZipTarget&) = delete;

  static zip_int64_t obey(void* self, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    return static_cast<ZipTarget*>(self)->run(data, bytes, command);
  }
  void commit() { out_.commit(); }
  // Throws what out_ threw beneath libzip, which is C.
  void rethrow() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  zip_int64_t run(void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE,
            ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_WRITE,
            ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, ZIP_SOURCE_SUPPORTS,
            -1);
      case ZIP_SOURCE_STAT:
        zip_stat_init(static_cast<zip_stat_t*>(data));
        return sizeof(zip_stat_t);
      case ZIP_SOURCE_ERROR: return zip_error_to_data(&error_, data, bytes);
      case ZIP_SOURCE_TELL_WRITE: return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_SEEK_WRITE:
      case ZIP_SOURCE_WRITE: return caught(data, bytes, command);
      case ZIP_SOURCE_OPEN:
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_REMOVE:
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE: return 0;
      default: zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
  }

  zip_int64_t caught(void* data, zip_uint64_t bytes, zip_source_cmd_t command) try {
    if (command == ZIP_SOURCE_WRITE) {
      out_.write(data, bytes);
      at_ += bytes;
      end_ = std::max(end_, at_);
      return static_cast<zip_int64_t>(bytes);
    }
    const zip_int64_t to = zip_source_seek_compute_offset(at_, end_, data, bytes, &error_);
    if (to < 0) return -1;
    at_ = static_cast<std::uint64_t>(to);
    out_.seek(at_);
    return 0;
  } catch (...) {
    problem_ = std::current_exception();
    zip_error_set(&error_, ZIP_ER_WRITE, EIO);
    return -1;
  }

  OutputFile out_;
  std::uint64_t at_ = 0, end_ = 0;
  zip_error_t error_;
  std::exception_ptr problem_;
};

Zip opened_zip(ZipTarget& target, const std::string& file) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(&ZipTarget::obey, &target, &error);
  Zip zip(source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error) : nullptr);
  const std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (!zip && source) zip_source_free(source);
  BP_CHECK(zip, "{}: can't be written as a zip archive ({})", file, why);
  return zip;
}

void add_member(zip_t* zip, const std::string& file, const ZipMember& member, bool compressed) {
  const auto piece = [](std::string_view bytes) {
    return zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<char*>(bytes.data())),
                                 bytes.size()};
  };
  const zip_buffer_fragment_t pieces[] = {piece(member.head), piece(member.body)};
  zip_source_t* source = zip_source_buffer_fragment(zip, pieces, member.body.empty() ? 1 : 2, 0);
  const zip_int64_t index =
      source ? zip_file_add(zip, member.name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
  if (source && index < 0) zip_source_free(source);  // else it is the archive's
  BP_CHECK(index >= 0, "{}: can't hold {}: {}", file, shown(member.name), zip_strerror(zip));
  const auto at = static_cast<zip_uint64_t>(index);
  // The first day of DOS, as NumPy has it: the same arrays make the same file.
  const bool is_set =
      zip_set_file_compression(zip, at, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0 &&
      zip_file_set_dostime(zip, at, 0, 0x21, 0) == 0;
  BP_CHECK(is_set, "{}: can't hold {}: {}", file, shown(member.name), zip_strerror(zip));
}

}  // namespace

void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members,
               bool compressed) {
  if (members.empty()) return write_whole_file(path, empty_zip);
  ZipTarget target(path);
  Zip zip = opened_zip(target, path.string());
  for (const ZipMember& member : members) add_member(zip.get(), path.string(), member, compressed);
  const bool is_written = zip_close(zip.get()) == 0;
  if (is_written) static_cast<void>(zip.release());  // closing freed it
  target.rethrow();
  BP_CHECK(is_written, "{}: can't be written: {}", path.string(), zip_strerror(zip.get()));
  target.commit();
}

#else
void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>&, bool) {
  throw_no_libzip(path.string());
}
#endif

}  // namespace bp::files
