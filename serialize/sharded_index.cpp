// Which file of a model each tensor is in: known here to no more than the parser, so that it can be fuzzed alone.
#include <nlohmann/json.hpp>

#include <backplane/files/file_errors.hpp>

#include "sharded.hpp"

namespace bp::serialize {
namespace {

using nlohmann::json;

// The members of weight_map, as events: a key that is there twice would be lost in a tree.
class IndexReader : public nlohmann::json_sax<json> {
 public:
  explicit IndexReader(const std::string& file) : file_(file) {}
  std::map<std::string, std::string> shards;
  bool has_map = false;

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool string(string_t& value) override {
    if (!in_map_ || depth_ != 2) return other();
    const bool is_beside = !value.empty() && value != "." && value != ".." &&
                           value.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    BP_CHECK(is_beside,
             "{}: {} is said to be in {}, which is not the name of a file beside the index", file_,
             files::shown(key_), files::shown(value));
    BP_CHECK(shards.emplace(key_, value).second, "{}: has {} twice", file_, files::shown(key_));
    return true;
  }
  bool key(string_t& key) override {
    if (depth_ == 1) in_map_ = key == "weight_map";
    BP_CHECK(depth_ != 1 || !in_map_ || !has_map, "{}: has weight_map twice", file_);
    if (in_map_ || depth_ == 1) key_ = key;
    return true;
  }
  bool start_object(std::size_t) override { return enter(true); }
  bool start_array(std::size_t) override { return enter(false); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    BP_CHECK(false, "{}: is not JSON at byte {}", file_, position);
    return false;
  }

 private:
  bool enter(bool is_object) {
    if (depth_ == 0) BP_CHECK(is_object, "{}: is not a JSON object with a weight_map", file_);
    if (depth_ >= 2 || (depth_ == 1 && !is_object)) other();
    if (depth_ == 1 && in_map_) has_map = true;
    BP_CHECK(++depth_ <= 100, "{}: is nested deeper than 100", file_);
    return true;
  }
  bool other() const {
    BP_CHECK(depth_ > 0, "{}: is not a JSON object with a weight_map", file_);
    BP_CHECK(!in_map_, "{}: weight_map's {} is not the name of a file", file_, files::shown(key_));
    return true;
  }

  const std::string& file_;
  std::string key_;
  int depth_ = 0;
  bool in_map_ = false;
};

}  // namespace

std::map<std::string, std::string> parse_index(std::string_view text, const std::string& file) {
  IndexReader reader(file);
  json::sax_parse(text.begin(), text.end(), &reader);
  BP_CHECK(reader.has_map, "{}: has no weight_map; is this a *.safetensors.index.json?", file);
  return std::move(reader.shards);
}

}  // namespace bp::serialize
