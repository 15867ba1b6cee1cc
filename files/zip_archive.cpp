#include <backplane/files/file_errors.hpp>
#include <backplane/files/zip_archive.hpp>

#ifdef BP_WITH_LIBZIP
#  include <algorithm>
#  include <unistd.h>
#  include <unordered_map>
#  include <zip.h>
#endif

namespace bp::files {

#ifdef BP_WITH_LIBZIP

namespace {

constexpr zip_int64_t most_members = 1'000'000;

std::string text_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

}  // namespace

struct ZipArchive::Opened {
  struct Member {
    zip_uint64_t index = 0, bytes = 0;
  };

  ~Opened() { zip_discard(archive); }

  void list(std::uint64_t archive_bytes, const ZipLimits& limits);
  const Member& at(const std::string& member) const {
    const auto found = members.find(member);
    BP_CHECK(found != members.end(), "{}: has no member {}; is it damaged?", name, shown(member));
    return found->second;
  }

  std::string name;
  zip_t* archive = nullptr;
  std::unordered_map<std::string, Member> members;
  std::vector<std::string> names;
};

// Members that lie over one another, the denser kind of bomb, have more packed bytes than the archive.
void ZipArchive::Opened::list(std::uint64_t archive_bytes, const ZipLimits& limits) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  BP_CHECK(count <= most_members, "{}: has {} members, and at most {} are read", name, count,
           most_members);
  std::uint64_t packed = 0, unpacked = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t facts;
    zip_stat_init(&facts);
    constexpr zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                    ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    const bool is_known = zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &facts) == 0 &&
                          (facts.valid & wanted) == wanted;
    BP_CHECK(is_known, "{}: member {} of {} is damaged", name, i, count);
    const std::string member = facts.name;
    BP_CHECK(facts.encryption_method == ZIP_EM_NONE,
             "{}: member {} is encrypted; save it without encryption", name, shown(member));
    BP_CHECK(
        facts.comp_method == ZIP_CM_STORE || facts.comp_method == ZIP_CM_DEFLATE,
        "{}: member {} is packed by method {}, and only stored (0) and deflated (8) ones are read",
        name, shown(member), facts.comp_method);
    BP_CHECK(facts.comp_size <= archive_bytes - packed,
             "{}: its members take more than its {} bytes up to {}; is it damaged, or malicious?",
             name, archive_bytes, shown(member));
    packed += facts.comp_size;
    const bool is_stored = facts.comp_method == ZIP_CM_STORE;
    const bool is_true =
        is_stored ? facts.size == facts.comp_size : facts.size / densest_deflate <= facts.comp_size;
    BP_CHECK(is_true && facts.size <= limits.most_growth * archive_bytes - unpacked,
             "{}: member {} takes {} bytes and claims to be {} unpacked, and all together may be "
             "{} times the "
             "archive's {}; repack it without compression",
             name, shown(member), facts.comp_size, facts.size, limits.most_growth, archive_bytes);
    BP_CHECK(
        facts.size <= limits.most_bytes - unpacked,
        "{}: member {} unpacks to {} bytes, and {} of {} are left; raise most_bytes to read it",
        name, shown(member), facts.size, limits.most_bytes - unpacked, limits.most_bytes);
    unpacked += facts.size;
    BP_CHECK(members.emplace(member, Member{static_cast<zip_uint64_t>(i), facts.size}).second,
             "{}: has member {} twice", name, shown(member));
    names.push_back(member);
  }
}

ZipArchive::ZipArchive(const InputFile& file, const ZipLimits& limits)
    : opened_(std::make_unique<Opened>()) {
  opened_->name = file.name();
  const int descriptor = ::dup(file.descriptor());
  if (descriptor < 0) throw_file_error(file.name(), "can't be opened", errno);
  int code = 0;
  opened_->archive = zip_fdopen(descriptor, ZIP_CHECKCONS, &code);
  if (!opened_->archive) {
    ::close(descriptor);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    BP_CHECK(false, "{}: is not a whole zip archive ({}); {}", file.name(), text_of(error),
             limits.hint);
  }
  opened_->list(file.bytes(), limits);
}

ZipArchive::ZipArchive(const void* data, std::uint64_t bytes, std::string name,
                       const ZipLimits& limits)
    : opened_(std::make_unique<Opened>()) {
  opened_->name = std::move(name);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(data, bytes, 0, &error);
  if (source) opened_->archive = zip_open_from_source(source, ZIP_CHECKCONS | ZIP_RDONLY, &error);
  if (!opened_->archive) {
    if (source) zip_source_free(source);
    BP_CHECK(false, "{}: is not a whole zip archive ({})", opened_->name, text_of(error));
  }
  opened_->list(bytes, limits);
}

ZipArchive::~ZipArchive() = default;

std::vector<std::string> ZipArchive::names() const {
  return opened_->names;
}

bool ZipArchive::contains(const std::string& name) const {
  return opened_->members.count(name) > 0;
}

std::uint64_t ZipArchive::bytes_of(const std::string& name) const {
  return opened_->at(name).bytes;
}

void ZipArchive::read(const std::string& name, void* target) const {
  const Opened::Member& member = opened_->at(name);
  zip_file_t* file = zip_fopen_index(opened_->archive, member.index, 0);
  BP_CHECK(file, "{}: member {} can't be read ({})", opened_->name, shown(name),
           zip_strerror(opened_->archive));
  auto* to = static_cast<char*>(target);
  std::uint64_t got = 0;
  zip_int64_t step = 1;
  while (got < member.bytes && step > 0) {
    constexpr std::uint64_t most = 64 << 20;
    step = zip_fread(file, to + got, std::min(most, member.bytes - got));
    if (step > 0) got += static_cast<std::uint64_t>(step);
  }
  char more = 0;  // the end is where the checksum is compared
  const bool is_whole = got == member.bytes && zip_fread(file, &more, 1) == 0;
  const std::string problem = zip_file_strerror(file);
  zip_fclose(file);
  BP_CHECK(is_whole, "{}: member {} has {} bytes and gave {} ({}); is it damaged?", opened_->name,
           shown(name), member.bytes, got, problem);
}

#else

struct ZipArchive::Opened {};

ZipArchive::ZipArchive(const InputFile& file, const ZipLimits&) {
  throw_no_libzip(file.name());
}
ZipArchive::ZipArchive(const void*, std::uint64_t, std::string name, const ZipLimits&) {
  throw_no_libzip(name);
}
ZipArchive::~ZipArchive() = default;
std::vector<std::string> ZipArchive::names() const {
  return {};
}
bool ZipArchive::contains(const std::string&) const {
  return false;
}
std::uint64_t ZipArchive::bytes_of(const std::string&) const {
  return 0;
}
void ZipArchive::read(const std::string&, void*) const {}

#endif

}  // namespace bp::files
