// JSON: null, true, numbers and text are themselves, lists are lists, and all else is an object of one member:
//   {"dict": [key, value, key, value, ...]}   in order
//   {"tensor": name}
//   {"float": "7ff0000000000000"}             the bits of a double that JSON has no number for
//   {"bytes": "00ff"}                         text that is not UTF-8
#include "state_text.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <backplane/files/file_errors.hpp>

#include "dict_budget.hpp"

namespace bp::serialize {
namespace {

using nlohmann::json;

constexpr int deepest = 200;

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.is_same(b) || is_exact_alias(*a.impl(), *b.impl());
}

json json_of_text(const std::string& text) {
  json made(text);
  try {
    made.dump();
    return made;
  } catch (const json::exception&) {
    std::string hex;
    for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return {{"bytes", hex}};
  }
}

json json_of_double(double value) {
  if (std::isfinite(value)) return value;  // its shortest text reads back as the same
  return {{"float", fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value))}};
}

class Writer {
 public:
  explicit Writer(const std::string& file) : file_(file) {}

  json of(const State& state, const std::string& path, int depth) {
    BP_CHECK(depth <= deepest, "{}: the state is nested deeper than {} at {}", file_, deepest,
             files::shown(path));
    if (state.is_bool()) return state.as_bool();
    if (state.is_int()) return state.as_int();
    if (state.is_double()) return json_of_double(state.as_double());
    if (state.is_text()) return json_of_text(state.as_text());
    if (state.is_tensor()) return {{"tensor", name_of(state.as_tensor(), path)}};
    if (state.is_none()) return nullptr;
    json items = json::array();
    if (state.is_list()) {
      for (const State& item : state.as_list())
        items.push_back(of(item, joined(path, std::to_string(items.size())), depth + 1));
      return items;
    }
    dicts_.add(state.size(), file_);
    for (const auto& [key, value] : state.entries()) {
      items.push_back(json_of_text(key));
      items.push_back(of(value, joined(path, key), depth + 1));
    }
    return {{"dict", std::move(items)}};
  }

  std::vector<TreeTensor> tensors;

 private:
  static std::string joined(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  // One tensor in two places is one in the file, under its first name.
  std::string name_of(const Tensor& tensor, const std::string& path) {
    BP_CHECK(tensor.defined(), "{}: the tensor at {} is undefined; leave it out, or put None there",
             file_, files::shown(path));
    BP_CHECK(tensor.device() != meta_device,
             "{}: the tensor at {} is on meta and has no values; move it first", file_,
             files::shown(path));
    const Place place(tensor.impl()->storage, tensor.storage_offset());
    const auto [first, last] = by_place_.equal_range(place);
    for (auto known = first; known != last; ++known)
      if (is_same_view(tensors[known->second].tensor, tensor)) return tensors[known->second].name;
    by_place_.emplace(place, tensors.size());
    tensors.push_back({unused(path), tensor});
    return tensors.back().name;
  }

  // Keys may have dots, so that two paths can read the same.
  std::string unused(const std::string& path) {
    const std::string base = can_be_name(path) ? path : "tensor";
    std::string name = base;
    for (int& next = next_numbers_[base]; !names_.insert(name).second;)
      name = fmt::format("{}#{}", base, next++ + 2);
    return name;
  }

  // The format requires UTF-8, and names of complex128 tensors are listed one a line.
  static bool can_be_name(const std::string& path) {
    return !path.empty() && path != "__metadata__" && path.find('\n') == std::string::npos &&
           json_of_text(path).is_string();
  }

  const std::string& file_;
  DictBudget dicts_;
  std::set<std::string> names_;
  std::map<std::string, int> next_numbers_;
  using Place = std::pair<const Storage*, std::int64_t>;
  std::multimap<Place, std::size_t> by_place_;  // places in `tensors`
};

class Reader {
 public:
  Reader(const std::function<Tensor(const std::string&)>& tensor_called, const std::string& file)
      : tensor_called_(tensor_called), file_(file) {}

  State of(const json& value, int depth) {
    if (depth > deepest) refuse(fmt::format("is nested deeper than {}", deepest));
    switch (value.type()) {
      case json::value_t::null: return {};
      case json::value_t::boolean: return State(value.get<bool>());
      case json::value_t::number_integer: return State(value.get<std::int64_t>());
      case json::value_t::number_unsigned: return State(whole(value));
      case json::value_t::number_float: return State(value.get<double>());
      case json::value_t::string: return State(value.get<std::string>());
      case json::value_t::array: return list(value, depth);
      default: break;
    }
    if (!value.is_object() || value.size() != 1) refuse("has an object that is not of one member");
    const std::string kind = value.begin().key();
    const json& held = value.begin().value();
    if (kind == "dict" && held.is_array()) return dict(held, depth);
    if (!held.is_string()) refuse(fmt::format("has a {} that is not text", files::shown(kind)));
    const auto& text = held.get_ref<const std::string&>();
    if (kind == "tensor") return State(tensor_called_(text));
    if (kind == "float") return State(std::bit_cast<double>(bits_of(text)));
    if (kind == "bytes") return State(bytes_of(text));
    refuse(fmt::format("has an object of {}", files::shown(kind)));
  }

 private:
  std::int64_t whole(const json& value) const {
    if (value.get<std::uint64_t>() > INT64_MAX)
      refuse(fmt::format("has a number {}", value.get<std::uint64_t>()));
    return static_cast<std::int64_t>(value.get<std::uint64_t>());
  }

  State list(const json& value, int depth) {
    State::List items;
    for (const json& item : value) items.push_back(of(item, depth + 1));
    return State(std::move(items));
  }

  State dict(const json& value, int depth) {
    if (value.size() % 2 != 0) refuse("has a dict whose last key has no value");
    dicts_.add(value.size() / 2, file_);
    State made = State::dict();
    for (std::size_t i = 0; i < value.size(); i += 2) {
      const State key = of(value[i], depth + 1);
      if (!key.is_text()) refuse(fmt::format("has {} as a key", key.kind()));
      const std::size_t before = made.size();
      made.set(key.as_text(), of(value[i + 1], depth + 1));
      if (made.size() == before)
        refuse(fmt::format("has the key {} twice", files::shown(key.as_text())));
    }
    return made;
  }

  std::uint64_t bits_of(const std::string& hex) const {
    std::uint64_t bits = 0;
    const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
    if (problem != std::errc() || end != hex.data() + hex.size() || hex.size() != 16)
      refuse(fmt::format("has the bits {} for a float", files::shown(hex)));
    return bits;
  }

  std::string bytes_of(const std::string& hex) const {
    std::string bytes;
    if (hex.size() % 2 != 0) refuse("has half a byte");
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      unsigned char byte = 0;
      const auto [end, problem] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
      if (problem != std::errc() || end != hex.data() + i + 2)
        refuse(fmt::format("has the byte {}", files::shown(hex.substr(i, 2))));
      bytes += static_cast<char>(byte);
    }
    return bytes;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: its state {}; was it written by serialize::save?", file_, what));
  }

  const std::function<Tensor(const std::string&)>& tensor_called_;
  const std::string& file_;
  DictBudget dicts_;
};

}  // namespace

StateText text_of(const State& state, const std::string& file) {
  Writer writer(file);
  std::string text = writer.of(state, "", 0).dump();
  return {std::move(text), std::move(writer.tensors)};
}

State state_from(std::string_view text,
                 const std::function<Tensor(const std::string&)>& tensor_called,
                 const std::string& file) {
  const json tree = json::parse(text.begin(), text.end(), nullptr, false);
  BP_CHECK(!tree.is_discarded(), "{}: its state is not JSON; was it written by serialize::save?",
           file);
  return Reader(tensor_called, file).of(tree, 0);
}

}  // namespace bp::serialize
