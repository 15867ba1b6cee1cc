#include "protocol/script.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/tensor/error.hpp>

#include "inputs/values.hpp"
#include "judge/calls.hpp"
#include "refuse.hpp"

namespace bp::conform {
namespace {

template <class T> std::vector<T> list_of(const bp_value& value) {
  const auto* list = static_cast<const T*>(value.u.ptr);
  return {list, list + value.aux};
}

Json plain_value(const bp_value& value) {
  switch (value.tag) {
    case BP_INT: return {{"i", value.u.i}};
    case BP_DOUBLE: return {{"f", value.u.f}};
    case BP_BOOLEAN: return {{"b", value.u.i != 0}};
    case BP_COMPLEX: return {{"z", *static_cast<const std::array<double, 2>*>(value.u.ptr)}};
    case BP_STRING: return {{"s", std::string(static_cast<const char*>(value.u.ptr), value.aux)}};
    case BP_INT_LIST: return {{"ints", list_of<std::int64_t>(value)}};
    case BP_DOUBLE_LIST: return {{"doubles", list_of<double>(value)}};
    case BP_DTYPE: return {{"dtype", short_name(static_cast<Dtype>(value.u.i))}};
    case BP_DEVICE: return {{"device", 1}};
    default: return {{"none", 1}};
  }
}

Json direct_tensor(const Laid& laid, int object) {
  return {{"object", object},
          {"offset", laid.offset * itemsize(laid.dtype)},
          {"dtype", short_name(laid.dtype)},
          {"shape", laid.shape},
          {"strides", laid.strides}};
}

// Each element of a sparse tensor: its offset in the memory, and its bytes.
std::vector<std::pair<std::uint64_t, Bytes>> sparse_pieces(const Laid& laid) {
  std::vector<std::pair<std::uint64_t, Bytes>> pieces;
  auto from = laid.storage.begin();
  for (const std::uint64_t offset : sparse_offsets(laid)) {
    const auto end = from + itemsize(laid.dtype);
    pieces.push_back({offset, {from, end}});
    from = end;
  }
  return pieces;
}

template <class F> Json arguments_json(const Problem& problem, F&& tensor_json) {
  Json list = Json::array();
  for (const Argument& argument : problem.arguments) {
    if (argument.value.tag == BP_TENSOR) {
      list.push_back({{"tensor", tensor_json(argument.tensors.at(0))}});
    } else if (argument.value.tag == BP_TENSOR_LIST) {
      Json tensors = Json::array();
      for (const int each : listed(argument))
        tensors.push_back(each < 0 ? Json() : tensor_json(each));
      list.push_back({{"tensors", std::move(tensors)}});
    } else {
      list.push_back(plain_value(argument.value));
    }
  }
  return list;
}

}  // namespace

Json core_arguments(const Problem& problem, int first) {
  return arguments_json(problem, [&](int tensor) { return Json(first + tensor); });
}

Json row_step(const Problem& problem, int first_result) {
  Json results = Json::array();
  const std::size_t num_results = count_results(problem);
  for (std::size_t i = 0; i < num_results; ++i)
    results.push_back(first_result + static_cast<int>(i));
  return {{"do", "row"},
          {"op", problem.op->name()},
          {"args", core_arguments(problem, 0)},
          {"results", std::move(results)}};
}

Json tensor_step(const Laid& laid, int object, bool wants_gradient) {
  Json step = {
      {"do", "tensor"},        {"object", object},        {"dtype", short_name(laid.dtype)},
      {"shape", laid.shape},   {"strides", laid.strides}, {"offset", laid.offset},
      {"grad", wants_gradient}};
  if (laid.sparse_bytes == 0) {
    step["storage"] = Json::binary(laid.storage);
    return step;
  }
  step["sparse"] = laid.sparse_bytes;
  step["pieces"] = Json::array();
  for (auto& [offset, bytes] : sparse_pieces(laid))
    step["pieces"].push_back({offset, Json::binary(std::move(bytes))});
  return step;
}

Json allocate_step(int object, std::uint64_t bytes, std::uint64_t alignment) {
  return {{"do", "allocate"}, {"object", object}, {"bytes", bytes}, {"alignment", alignment}};
}

Json write_step(int object, std::uint64_t offset, Bytes bytes) {
  return {{"do", "write"},
          {"object", object},
          {"offset", offset},
          {"bytes", Json::binary(std::move(bytes))}};
}

Json read_step(int object, std::uint64_t offset, std::uint64_t count) {
  return {{"do", "read"}, {"object", object}, {"offset", offset}, {"count", count}};
}

void add_memory(Json& steps, const Laid& laid, int object, bool writes) {
  const bool is_sparse = laid.sparse_bytes != 0;
  steps.push_back(allocate_step(object, is_sparse ? laid.sparse_bytes : laid.storage.size(), 64));
  if (is_sparse) steps.back()["sparse"] = true;
  if (!writes || laid.storage.empty()) return;
  if (!is_sparse) return steps.push_back(write_step(object, 0, laid.storage));
  for (auto& [offset, bytes] : sparse_pieces(laid))
    steps.push_back(write_step(object, offset, std::move(bytes)));
}

Json call_step(const Problem& problem, const std::vector<Laid>& outputs,
               const std::vector<int>& objects, int first_tensor) {
  const auto tensor_json = [&](int tensor) {
    return direct_tensor(problem.tensors.at(static_cast<std::size_t>(tensor)),
                         first_tensor + tensor);
  };
  Json step = {{"do", "call"},
               {"op", problem.op->name()},
               {"args", arguments_json(problem, tensor_json)},
               {"outputs", Json::array()}};
  for (std::size_t i = 0; i < outputs.size(); ++i)
    step["outputs"].push_back(direct_tensor(outputs[i], objects.at(i)));
  return step;
}

namespace {

template <class List> bp_value pointing_to(std::uint32_t tag, const List& list) {
  bp_value made{};
  made.tag = tag;
  made.aux = static_cast<std::uint32_t>(list.size());
  made.u.ptr = list.data();
  return made;
}

}  // namespace

bp_value read_value(const Json& json, ArgumentLists& lists, const bp_value& device,
                    const std::function<const bp_tensor*(const Json&)>& tensor_of) {
  const auto only = json.begin();
  const std::string& kind = only.key();
  const Json& content = only.value();
  bp_value made{};
  if (kind == "none") return made;
  if (kind == "i") return value_of(content.get<std::int64_t>());
  if (kind == "f") return value_of(content.get<double>());
  if (kind == "b") return value_of(content.get<bool>());
  if (kind == "dtype") return value_of(dtype_from_name(content.get_ref<const std::string&>()));
  if (kind == "device") return device;
  const auto kept = [&](std::uint32_t tag, auto& lists_of_type) {
    content.get_to(lists_of_type.emplace_back());
    return pointing_to(tag, lists_of_type.back());
  };
  if (kind == "s") return kept(BP_STRING, lists.strings);
  if (kind == "ints") return kept(BP_INT_LIST, lists.ints);
  if (kind == "doubles") return kept(BP_DOUBLE_LIST, lists.doubles);
  if (kind == "z") {
    made = kept(BP_COMPLEX, lists.doubles);
    made.aux = 0;
  } else if (kind == "tensor") {
    made.tag = BP_TENSOR;
    made.u.tensor = tensor_of(content);
  } else if (kind == "tensors") {
    auto& list = lists.tensors.emplace_back();
    for (const Json& each : content) list.push_back(each.is_null() ? nullptr : tensor_of(each));
    made = pointing_to(BP_TENSOR_LIST, list);
  } else {
    refuse("script: '{}' is not a kind of value", kind);
  }
  return made;
}

namespace {

// No script is near it: a longer frame is garbage, from a worker that wrote into the pipe by itself.
constexpr std::uint64_t longest_frame = std::uint64_t{1} << 32;

// How many bytes `go`, which is read or write, has passed on: fewer only at the end of the stream.
template <class Data>
std::size_t pass(ssize_t (*go)(int, Data*, std::size_t), int file, void* data, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = go(file, static_cast<std::uint8_t*>(data) + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

// The message without what its binary values hold, which is told in `taken`.
Json lightened(const Json& message, std::vector<const Json::binary_t*>& taken) {
  if (message.is_binary()) {
    taken.push_back(&message.get_binary());
    return Json::binary({});
  }
  if (!message.is_structured()) return message;
  Json light(message.type());
  if (message.is_array())
    for (const Json& each : message) light.push_back(lightened(each, taken));
  else
    for (const auto& [key, each] : message.items()) light.emplace(key, lightened(each, taken));
  return light;
}

// Builds the value that is read, unless it nests deeper than any message: a plugin's bytes may not use up the stack.
class ShallowBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit ShallowBuilder(Json& out) : json_sax_dom_parser(out, false) {}
  bool start_object(std::size_t size) {
    return ++depth_ <= deepest && json_sax_dom_parser::start_object(size);
  }
  bool end_object() { return --depth_, json_sax_dom_parser::end_object(); }
  bool start_array(std::size_t size) {
    return ++depth_ <= deepest && json_sax_dom_parser::start_array(size);
  }
  bool end_array() { return --depth_, json_sax_dom_parser::end_array(); }

 private:
  static constexpr int deepest = 64;
  int depth_ = 0;
};

// The binary values of a light message, in the order in which lightened met them.
void find_binaries(Json& light, std::vector<Json::binary_t*>& found) {
  if (light.is_binary()) found.push_back(&light.get_binary());
  if (light.is_structured())
    for (Json& each : light) find_binaries(each, found);
}

}  // namespace

void append_message(const Json& message, Bytes& frame) {
  std::vector<const Json::binary_t*> taken;
  const Json light = lightened(message, taken);
  std::vector<std::size_t> sizes;
  for (const Json::binary_t* bytes : taken) sizes.push_back(bytes->size());
  const std::size_t head = frame.size();
  frame.resize(head + sizeof(std::uint64_t));
  Json::to_cbor(Json{{"message", light}, {"sizes", sizes}}, frame);
  const std::uint64_t count = frame.size() - head - sizeof count;
  std::memcpy(frame.data() + head, &count, sizeof count);
  for (const Json::binary_t* bytes : taken) frame.insert(frame.end(), bytes->begin(), bytes->end());
}

bool read_message(const std::uint8_t* begin, std::size_t size, Json& out) {
  std::uint64_t count = 0;
  const auto advance = [&](std::size_t bytes) { begin += bytes, size -= bytes; };
  if (size < sizeof count) return false;
  std::memcpy(&count, begin, sizeof count);
  advance(sizeof count);
  if (count > size) return false;
  try {
    Json all;
    ShallowBuilder builder(all);
    if (!Json::sax_parse(begin, begin + count, &builder, Json::input_format_t::cbor)) return false;
    advance(count);
    out = std::move(all.at("message"));
    std::vector<Json::binary_t*> binaries;
    find_binaries(out, binaries);
    const auto sizes = all.at("sizes").get<std::vector<std::size_t>>();
    if (sizes.size() != binaries.size()) return false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > size) return false;
      static_cast<Bytes&>(*binaries[i]).assign(begin, begin + sizes[i]);
      advance(sizes[i]);
    }
  } catch (const Json::exception&) {  // a size that no container has, or no message
    return false;
  }
  return size == 0;
}

bool send(int file, const Json& message) {
  Bytes frame(sizeof(std::uint64_t));
  append_message(message, frame);
  const std::uint64_t bytes = frame.size() - sizeof bytes;
  std::memcpy(frame.data(), &bytes, sizeof bytes);
  return pass(::write, file, frame.data(), frame.size()) == frame.size();
}

bool receive(int file, Json& out) {
  std::uint64_t bytes = 0;
  const std::size_t head = pass(::read, file, &bytes, sizeof bytes);
  if (head == 0) return false;
  if (head < sizeof bytes || bytes > longest_frame)
    throw_error(ErrorClass::internal,
                "a message on the pipe is broken; did something else write into it?");
  Bytes frame(bytes);
  if (pass(::read, file, frame.data(), frame.size()) < frame.size())
    throw_error(ErrorClass::internal, "a message on the pipe ends early; its sender is gone");
  if (!read_message(frame.data(), frame.size(), out))
    throw_error(ErrorClass::internal, "a message on the pipe is garbage");
  return true;
}

}  // namespace bp::conform
