#include "safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include <backplane/files/file_errors.hpp>

namespace bp::serialize {
namespace {

using nlohmann::json;

struct NamedDtype {
  std::string_view name;
  Dtype dtype;
};
constexpr NamedDtype format_dtypes[] = {
    {"BOOL", boolean}, {"U8", u8},   {"I8", i8},         {"F8_E5M2", f8_e5m2},
    {"U16", u16},      {"I16", i16}, {"F16", f16},       {"F8_E4M3", f8_e4m3fn},
    {"U32", u32},      {"I32", i32}, {"BF16", bf16},     {"F32", f32},
    {"U64", u64},      {"I64", i64}, {"C64", complex64}, {"F64", f64},
};

std::optional<Dtype> dtype_named(std::string_view text) {
  for (const NamedDtype& each : format_dtypes)
    if (each.name == text) return each.dtype;
  return {};
}

// What was said of one tensor so far.
struct Draft {
  std::optional<Dtype> dtype;
  bool has_shape = false;
  std::vector<std::uint64_t> shape, offsets;
};

// Takes the header as events, so that repeated keys are seen and nothing is built of what is not asked for.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  HeaderReader(const std::string& file, std::uint64_t data_bytes)
      : file_(file), data_bytes_(data_bytes) {}
  SafetensorsHeader header;

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool number_integer(number_integer_t value) override { refuse(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(files::shown(text)); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) refuse(fmt::format("{}", value));
    auto& list = field_ == "shape" ? draft_.shape : draft_.offsets;
    const std::size_t most = field_ == "shape" ? max_rank : 2;
    BP_CHECK(list.size() < most, "{}: {} of tensor {} has more than {} numbers", file_, field_,
             files::shown(name_), most);
    list.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (in_metadata_ && depth_ == 2) {
      header.metadata[field_] = value;
      return true;
    }
    if (in_list_ || field_ != "dtype") refuse(files::shown(value));
    draft_.dtype = dtype_named(value);
    BP_CHECK(
        draft_.dtype,
        "{}: tensor {} has dtype {}, which is unknown here; convert the file to one of BOOL, U8 to "
        "U64, I8 to I64, F16, BF16, F32, F64, C64, F8_E4M3 and F8_E5M2",
        file_, files::shown(name_), files::shown(value));
    return true;
  }

  bool key(string_t& key) override {
    if (depth_ == 1) return begin_entry(key);
    BP_CHECK(fields_.insert(key).second, "{}: {} has the key {} twice", file_, whose(),
             files::shown(key));
    BP_CHECK(in_metadata_ || key == "dtype" || key == "shape" || key == "data_offsets",
             "{}: tensor {} has a key {}, where dtype, shape and data_offsets are expected", file_,
             files::shown(name_), files::shown(key));
    field_ = key;
    return true;
  }

  bool start_object(std::size_t) override {
    if (in_list_ || depth_ >= 2 || (depth_ == 1 && name_is_taken_)) refuse("an object");
    if (depth_ == 1) name_is_taken_ = true;
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    if (depth_ == 1 && !in_metadata_) end_tensor();
    in_metadata_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    const bool is_expected = depth_ == 2 && !in_metadata_ && !in_list_ &&
                             (field_ == "shape" || field_ == "data_offsets");
    if (!is_expected) refuse("a list");
    in_list_ = true;
    draft_.has_shape = draft_.has_shape || field_ == "shape";
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    BP_CHECK(false, "{}: the header is not JSON at byte {}; is this a safetensors file?", file_,
             position + length_bytes);
    return false;
  }

 private:
  bool begin_entry(const std::string& name) {
    BP_CHECK(names_.insert(name).second, "{}: the header has {} twice", file_, files::shown(name));
    name_ = name;
    in_metadata_ = name == "__metadata__";
    name_is_taken_ = false;
    draft_ = {};
    field_.clear();
    fields_.clear();
    return true;
  }

  void end_tensor() {
    BP_CHECK(draft_.dtype && draft_.has_shape && draft_.offsets.size() == 2,
             "{}: tensor {} needs a dtype, a shape and two data_offsets, and lacks some of them",
             file_, files::shown(name_));
    HeaderEntry entry{name_, {*draft_.dtype, {}, 0}, draft_.offsets[0], draft_.offsets[1]};
    BP_CHECK(entry.begin <= entry.end && entry.end <= data_bytes_,
             "{}: tensor {} is at bytes {} to {}, and there are only {}; is the file cut off?",
             file_, files::shown(name_), entry.begin, entry.end, data_bytes_);
    entry.info.nbytes = entry.end - entry.begin;
    const std::uint64_t wanted = bytes_of_shape(entry);
    BP_CHECK(wanted == entry.info.nbytes,
             "{}: tensor {} of shape {} and dtype {} needs {} bytes, and has {}", file_,
             files::shown(name_), to_string(entry.info.shape), bp::name(entry.info.dtype), wanted,
             entry.info.nbytes);
    header.entries.push_back(std::move(entry));
  }

  std::uint64_t bytes_of_shape(HeaderEntry& entry) const {
    constexpr std::uint64_t most = INT64_MAX;
    std::uint64_t bytes = itemsize(*draft_.dtype);
    bool fits = true;
    for (const std::uint64_t size : draft_.shape) {
      fits = fits && size <= most && !(size != 0 && bytes > most / size);
      bytes *= fits ? size : 1;
      entry.info.shape.push_back(static_cast<std::int64_t>(size));
    }
    BP_CHECK(fits, "{}: tensor {} of shape [{}] has more bytes than can be counted", file_,
             files::shown(name_), fmt::join(draft_.shape, ", "));
    return bytes;
  }

  std::string whose() const {
    return in_metadata_ ? std::string("__metadata__") : "tensor " + files::shown(name_);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    const std::string place = depth_ == 0      ? "the header"
                              : field_.empty() ? files::shown(name_)
                                               : whose() + "'s " + files::shown(field_);
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: {} is or holds {}, which the format does not allow there", file_,
                            place, what));
  }

  const std::string& file_;
  std::uint64_t data_bytes_;
  int depth_ = 0;
  bool in_metadata_ = false, in_list_ = false, name_is_taken_ = false;
  std::string name_, field_;
  Draft draft_;
  std::unordered_set<std::string> names_, fields_;
};

// Sorted by place; each begins where the one before ends, and the last ends with the file.
void check_places(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes,
                  const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t expected = 0;
  const std::string* before = nullptr;
  for (const HeaderEntry& entry : entries) {
    BP_CHECK(entry.begin >= expected, "{}: tensor {} begins at byte {}, before {} ends at byte {}",
             file, files::shown(entry.name), entry.begin,
             before ? files::shown(*before) : "the header", expected);
    BP_CHECK(entry.begin == expected,
             "{}: tensor {} begins at byte {}, and the bytes from {} on belong to no tensor", file,
             files::shown(entry.name), entry.begin, expected);
    expected = entry.end;
    before = &entry.name;
  }
  BP_CHECK(expected == data_bytes,
           "{}: the tensors end at byte {}, and the file has {} bytes of values", file, expected,
           data_bytes);
}

std::string json_text(std::string_view text, const char* what, const std::string& file) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    BP_CHECK(false, "{}: {} {} is not UTF-8, which the format asks for; use another", file, what,
             files::shown(text));
    return {};
  }
}

}  // namespace

std::uint64_t parse_length(const unsigned char* first_bytes, std::uint64_t file_bytes,
                           const std::string& file) {
  BP_CHECK(file_bytes >= length_bytes,
           "{}: has {} bytes, and a safetensors file at least {}; is it cut off?", file, file_bytes,
           length_bytes);
  std::uint64_t length = 0;
  for (unsigned i = 0; i < length_bytes; ++i) length |= std::uint64_t{first_bytes[i]} << (8 * i);
  BP_CHECK(length <= most_header_bytes,
           "{}: the header claims {} bytes, and the format allows {}; is this a "
           "safetensors file?",
           file, length, most_header_bytes);
  BP_CHECK(length <= file_bytes - length_bytes,
           "{}: the header claims {} bytes, and {} follow; is the file cut off?", file, length,
           file_bytes - length_bytes);
  return length;
}

SafetensorsHeader parse_header(std::string_view text, std::uint64_t data_bytes,
                               const std::string& file) {
  BP_CHECK(text.starts_with('{'),
           "{}: the header does not begin with '{{'; is this a safetensors file?", file);
  HeaderReader reader(file, data_bytes);
  json::sax_parse(text.begin(), text.end(), &reader);
  check_places(reader.header.entries, data_bytes, file);
  return std::move(reader.header);
}

std::string_view format_name(Dtype dtype, std::string_view tensor, const std::string& file) {
  for (const NamedDtype& each : format_dtypes)
    if (each.dtype == dtype) return each.name;
  throw_error(
      ErrorClass::bad_argument,
      fmt::format("{}: tensor {} is {}, which safetensors has no name for; save view_as_real of it",
                  file, files::shown(tensor), name(dtype)));
}

std::string compose_header(std::vector<HeaderEntry>& entries, const Metadata& metadata,
                           const std::string& file) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      text += fmt::format("{}{}:{}", text.back() == '{' ? "" : ",",
                          json_text(key, "the metadata's key", file),
                          json_text(value, "the metadata's value", file));
    text += '}';
  }
  std::uint64_t place = 0;
  for (HeaderEntry& entry : entries) {
    BP_CHECK(entry.name != "__metadata__",
             "{}: a tensor can't be called __metadata__, which the format reserves; rename it",
             file);
    entry.begin = place;
    entry.end = place += entry.info.nbytes;
    text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                        text.size() == 1 ? "" : ",", json_text(entry.name, "the name", file),
                        format_name(entry.info.dtype, entry.name, file),
                        fmt::join(entry.info.shape, ","), entry.begin, entry.end);
  }
  text += '}';
  constexpr std::uint64_t alignment = 64;  // of the values; the format asks for 8
  text.append((alignment - (text.size() + length_bytes) % alignment) % alignment, ' ');
  BP_CHECK(text.size() <= most_header_bytes,
           "{}: names and metadata take {} bytes, and the format allows {}; save "
           "less text",
           file, text.size(), most_header_bytes);
  std::string length;
  for (unsigned i = 0; i < length_bytes; ++i)
    length += static_cast<char>(std::uint64_t{text.size()} >> (8 * i) & 0xff);
  return length + text;
}

}  // namespace bp::serialize
