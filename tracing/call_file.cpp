#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include <backplane/tensor/check.hpp>
#include <backplane/tracing/saved_call.hpp>

namespace bp::tracing {
namespace {

using nlohmann::json;

constexpr const char* key =
    "backplane_call";  // the file's first word, and its value the format's number
constexpr int format = 1;

constexpr const char* tag_names[] = {"none",    "tensor", "int",      "float",  "bool",
                                     "complex", "string", "ints",     "floats", "tensors",
                                     "dtype",   "device", "generator"};

// As bits, since JSON has neither NaN nor infinity.
json to_json(const std::vector<double>& reals) {
  json list = json::array();
  for (double real : reals) list.push_back(std::bit_cast<std::uint64_t>(real));
  return list;
}

json to_json(const SavedTensor& tensor) {
  return {{"dtype", name(tensor.dtype)},
          {"shape", tensor.shape},
          {"strides", tensor.strides},
          {"storage", tensor.storage},
          {"byte_offset", tensor.byte_offset}};
}

json to_json(const SavedArgument& argument) {
  json out{{"is", tag_names[argument.tag]}};
  if (argument.integer != 0) out["value"] = argument.integer;
  if (!argument.reals.empty()) out["bits"] = to_json(argument.reals);
  if (!argument.list.empty()) out["list"] = argument.list;
  if (!argument.text.empty()) out["text"] = argument.text;
  for (const auto& tensor : argument.tensors)
    out["tensors"].push_back(tensor ? to_json(*tensor) : json());
  return out;
}

json header_of(const SavedCall& saved) {
  json header{{key, format},
              {"op", saved.op},
              {"device", saved.device},
              {"plugin", saved.plugin},
              {"remark", saved.remark},
              {"arguments", json::array()},
              {"results", json::array()},
              {"storages", json::array()}};
  for (const SavedArgument& argument : saved.args) header["arguments"].push_back(to_json(argument));
  for (const auto& result : saved.results)
    header["results"].push_back(result ? to_json(*result) : json());
  for (const auto& bytes : saved.storages) header["storages"].push_back(bytes.size());
  return header;
}

SavedTensor tensor_from(const json& in) {
  SavedTensor tensor;
  tensor.dtype = dtype_from_name(in.at("dtype").get<std::string>());
  tensor.shape = in.at("shape").get<std::vector<std::int64_t>>();
  tensor.strides = in.at("strides").get<std::vector<std::int64_t>>();
  BP_CHECK(tensor.shape.size() == tensor.strides.size(), "a tensor has {} sizes and {} strides",
           tensor.shape.size(), tensor.strides.size());
  tensor.storage = in.at("storage").get<std::uint32_t>();
  tensor.byte_offset = in.at("byte_offset").get<std::uint64_t>();
  return tensor;
}

SavedArgument argument_from(const json& in) {
  const auto is = in.at("is").get<std::string>();
  SavedArgument argument;
  for (argument.tag = 0; argument.tag < std::size(tag_names); ++argument.tag)
    if (is == tag_names[argument.tag]) break;
  BP_CHECK(argument.tag < std::size(tag_names), "an argument is '{}', which is not a type", is);
  argument.integer = in.value("value", std::int64_t{0});
  BP_CHECK(argument.tag != BP_DTYPE || (argument.integer >= 0 && argument.integer < num_dtypes),
           "there is no dtype {}", argument.integer);
  for (const json& bits : in.value("bits", json::array()))
    argument.reals.push_back(std::bit_cast<double>(bits.get<std::uint64_t>()));
  argument.list = in.value("list", std::vector<std::int64_t>());
  argument.text = in.value("text", "");
  if (argument.tag != BP_TENSOR && argument.tag != BP_TENSOR_LIST) return argument;
  for (const json& tensor : in.value("tensors", json::array()))
    argument.tensors.push_back(tensor.is_null() ? std::optional<SavedTensor>()
                                                : tensor_from(tensor));
  return argument;
}

SavedCall call_from(const json& header, std::istream& bytes, std::uint64_t num_bytes) {
  BP_CHECK(header.is_object() && header.value(key, 0) == format, "it is not a call of format {}",
           format);
  SavedCall saved;
  saved.op = header.at("op").get<std::string>();
  saved.device = header.at("device").get<std::string>();
  saved.plugin = header.value("plugin", "");
  saved.remark = header.value("remark", "");
  for (const json& argument : header.at("arguments")) saved.args.push_back(argument_from(argument));
  for (const json& result : header.at("results")) {
    auto& tensor = saved.results.emplace_back();
    if (!result.is_null()) tensor = tensor_from(result);
  }
  for (const json& size : header.at("storages")) {
    const auto wanted = size.get<std::uint64_t>();
    BP_CHECK(wanted <= num_bytes, "it ends {} bytes too early", wanted - num_bytes);
    num_bytes -= wanted;
    auto& storage = saved.storages.emplace_back(wanted);
    bytes.read(reinterpret_cast<char*>(storage.data()), static_cast<std::streamsize>(wanted));
  }
  return saved;
}

}  // namespace

void write_call(const SavedCall& saved, const std::string& file) {
  std::ofstream stream(file, std::ios::binary);
  const auto replace = json::error_handler_t::replace;
  if (stream) stream << header_of(saved).dump(-1, ' ', false, replace) << '\n';
  for (const auto& bytes : saved.storages)
    if (stream)
      stream.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
  stream.flush();
  BP_CHECK(stream.good(), "{}: cannot be written: {}", file, std::strerror(errno));
}

SavedCall read_call(const std::string& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  BP_CHECK(stream.good(), "{}: cannot be read: {}", file, std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(stream.tellg());
  stream.seekg(0);
  std::string line;
  std::getline(stream, line);
  try {
    return call_from(json::parse(line), stream,
                     size - std::min(size, line.size() + std::uint64_t{1}));
  } catch (const std::exception& error) {
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: not a call that BACKPLANE_SHADOW saved: {}", file, error.what()));
  }
}

}  // namespace bp::tracing
