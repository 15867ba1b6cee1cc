#include "worker/read_value.hpp"

#include <fmt/format.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/tensor/error.hpp>

namespace bp::conform {
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
  if (kind == "s")
    return pointing_to(BP_STRING, lists.strings.emplace_back(content.get<std::string>()));
  if (kind == "ints")
    return pointing_to(BP_INT_LIST,
                       lists.ints.emplace_back(content.get<std::vector<std::int64_t>>()));
  if (kind == "doubles" || kind == "z") {
    made =
        pointing_to(BP_DOUBLE_LIST, lists.doubles.emplace_back(content.get<std::vector<double>>()));
    if (kind == "z") made.tag = BP_COMPLEX, made.aux = 0;
    return made;
  }
  if (kind == "tensor") {
    made.tag = BP_TENSOR;
    made.u.tensor = tensor_of(content);
    return made;
  }
  if (kind != "tensors")
    throw_error(ErrorClass::bad_argument, fmt::format("script: '{}' is not a kind of value", kind));
  auto& list = lists.tensors.emplace_back();
  for (const Json& each : content) list.push_back(each.is_null() ? nullptr : tensor_of(each));
  return pointing_to(BP_TENSOR_LIST, list);
}

}  // namespace bp::conform
