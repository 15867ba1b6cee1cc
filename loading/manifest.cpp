#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include <backplane/loading/elf_lint.hpp>
#include <backplane/loading/manifest.hpp>
#include <backplane/loading/plugin_check.hpp>

namespace bp::loading {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Collects the members of the outermost object as events, so that depth and repeated keys are refused
// while reading and no tree is ever built. A member that is neither text nor a count is of `other` kind.
class Reader : public nlohmann::json_sax<json> {
 public:
  std::map<std::string, std::string> texts;
  std::map<std::string, uint64_t> counts;
  std::map<std::string, std::string> others;  // what they are, for messages
  std::string problem;

  bool null() override { return note_other("null"); }
  bool boolean(bool) override { return note_other("a boolean"); }
  bool number_integer(number_integer_t) override { return note_other("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return note_other("a fraction"); }
  bool binary(binary_t&) override { return note_other("binary"); }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 1) counts[key_] = value;
    return in_object();
  }
  bool string(string_t& value) override {
    if (depth_ == 1) texts[key_] = value;
    return in_object();
  }
  bool key(string_t& name) override {
    if (depth_ > 1) return true;
    key_ = name;
    if (texts.count(name) + counts.count(name) + others.count(name) == 0) return true;
    return fail("key \"" + name + "\" is there twice");
  }
  bool start_object(size_t) override { return enter("an object"); }
  bool start_array(size_t) override { return depth_ == 0 ? in_object() : enter("a list"); }
  bool end_object() override { return depth_--, true; }
  bool end_array() override { return depth_--, true; }
  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    return fail("is not JSON at byte " + std::to_string(position));
  }

 private:
  bool enter(const char* what) {
    if (depth_ == 1) others[key_] = what;
    if (++depth_ <= max_manifest_depth) return true;
    return fail("is nested deeper than " + std::to_string(max_manifest_depth) + " levels");
  }
  bool note_other(const char* what) {
    if (depth_ == 1) others[key_] = what;
    return in_object();
  }
  bool in_object() {
    return depth_ > 0 || fail("is not a JSON object: write {\"name\": ..., \"library\": ...}");
  }
  bool fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }

  std::string key_;
  size_t depth_ = 0;
};

// Takes members out of a Reader, keeping the first problem.
struct Fields {
  const Reader& reader;
  std::string problem;

  std::string text(const char* key, bool required, size_t max_bytes) {
    const auto found = reader.texts.find(key);
    if (found == reader.texts.end()) {
      if (const std::string is = describe_other(key); !is.empty())
        note(key, "must be a string, not " + is);
      else if (required)
        note(key, "is missing");
      return {};
    }
    if (required && found->second.empty()) note(key, "is empty");
    if (found->second.size() > max_bytes)
      note(key, "is longer than " + std::to_string(max_bytes) + " bytes");
    for (const char c : found->second)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return note(key, "holds control characters"), "";
    return found->second.substr(0, max_bytes);
  }

  uint32_t level(const char* key) {
    const auto found = reader.counts.find(key);
    if (found != reader.counts.end() && found->second >= 1 && found->second <= UINT32_MAX)
      return static_cast<uint32_t>(found->second);
    const std::string is = describe_other(key);
    if (found != reader.counts.end())
      note(key, "is " + std::to_string(found->second) + ", which is not an ABI level");
    else
      note(key, is.empty() ? "is missing" : "must be a whole number, not " + is);
    return 0;
  }

  void note(const char* key, const std::string& what) {
    if (problem.empty()) problem = std::string("\"") + key + "\" " + what;
  }

 private:
  std::string describe_other(const char* key) const {
    if (reader.texts.count(key) != 0) return "a string";
    if (reader.counts.count(key) != 0) return "a number";
    const auto found = reader.others.find(key);
    return found != reader.others.end() ? found->second : std::string();
  }
};

bool is_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (const char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.') return false;
  return !name.empty() && is_letter(name[0]);
}

bool is_sha256(std::string& text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
  }
  return text.size() == 64;
}

// "bp.collective acme.x", by spaces.
std::vector<std::string> split_names(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

fs::path resolve_library(const fs::path& library, const fs::path& manifest, Fields& fields) {
  if (library.is_absolute()) return library.lexically_normal();
  for (const fs::path& part : library)
    if (part == "..")
      return fields.note("library",
                         "leaves the manifest's folder by \"..\"; give an absolute path"),
             "";
  return (manifest.parent_path() / library).lexically_normal();
}

std::string normalised(std::string architecture) {
  if (architecture == "AMD64" || architecture == "amd64") return "x86_64";
  if (architecture == "arm64") return "aarch64";
  return architecture;
}

}  // namespace

ManifestResult parse_manifest(std::string_view text, const fs::path& path) {
  const auto fail = [&path](const std::string& what) { return path.string() + ": " + what; };
  if (text.size() > max_manifest_bytes)
    return {{}, fail("is larger than " + std::to_string(max_manifest_bytes) + " bytes")};
  Reader reader;
  json::sax_parse(text.begin(), text.end(), &reader);
  if (!reader.problem.empty()) return {{}, fail(reader.problem)};

  ManifestResult result;
  Manifest& manifest = result.manifest;
  Fields fields{reader, {}};
  manifest.name = fields.text("name", true, 64);
  if (!manifest.name.empty() && !is_name(manifest.name))
    fields.note("name", "must begin with a letter and have letters, digits, '_', '-' and '.' only");
  manifest.vendor = fields.text("vendor", false, 256);
  manifest.description = fields.text("description", false, 4096);
  const std::string library = fields.text("library", true, 4096);
  if (!library.empty()) manifest.library = resolve_library(library, path, fields);
  manifest.abi_min = fields.level("abi_min");
  manifest.abi_max = fields.level("abi_max");
  if (manifest.abi_min > manifest.abi_max)
    fields.note("abi_min", "is " + std::to_string(manifest.abi_min) + ", above abi_max, " +
                               std::to_string(manifest.abi_max));
  manifest.architecture = normalised(fields.text("architecture", true, 64));
  manifest.sha256 = fields.text("sha256", false, 64);
  if (!manifest.sha256.empty() && !is_sha256(manifest.sha256))
    fields.note("sha256", "is not 64 hexadecimal digits");
  manifest.offers = split_names(fields.text("offers", false, 4096));
  if (!fields.problem.empty()) result.problem = fail(fields.problem);
  return result;
}

ManifestResult read_manifest(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {{}, path.string() + ": is not a regular file"};
  std::ifstream stream(path, std::ios::binary);
  std::string text(max_manifest_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !(stream || stream.eof())) return {{}, path.string() + ": cannot be read"};
  text.resize(static_cast<size_t>(stream.gcount()));
  return parse_manifest(text, path);
}

std::string find_mismatch(const Manifest& manifest, const fs::path& path) {
  if (manifest.architecture != process_architecture())
    return path.string() + ": " + manifest.name + " is built for " + manifest.architecture +
           ", this process is " + std::string(process_architecture());
  if (manifest.abi_min > host_abi_max || manifest.abi_max < host_abi_min)
    return path.string() + ": " + manifest.name + " speaks ABI levels " +
           std::to_string(manifest.abi_min) + " to " + std::to_string(manifest.abi_max) +
           ", this Backplane " + std::to_string(host_abi_min) + " to " +
           std::to_string(host_abi_max) +
           (manifest.abi_min > host_abi_max ? "; install a newer Backplane"
                                            : "; install a newer plugin");
  return {};
}

}  // namespace bp::loading
