// A problem's arguments as scripts say them.
#include <complex>

#include "inputs/inferred.hpp"
#include "inputs/layouts.hpp"
#include "protocol/script.hpp"

namespace bp::conform {
namespace {

// "f32": the short names, which dtype_from_name knows as well.
constexpr const char* short_names[num_dtypes] = {
    "bool", "u8",   "i8",  "i16", "i32",       "i64",        "u16",       "u32",    "u64",
    "f16",  "bf16", "f32", "f64", "complex64", "complex128", "f8_e4m3fn", "f8_e5m2"};

Json plain_value(const bp_value& value) {
  switch (value.tag) {
    case BP_INT: return {{"i", value.u.i}};
    case BP_DOUBLE: return {{"f", value.u.f}};
    case BP_BOOLEAN: return {{"b", value.u.i != 0}};
    case BP_COMPLEX: {
      const auto* parts = static_cast<const double*>(value.u.ptr);
      return {{"z", {parts[0], parts[1]}}};
    }
    case BP_STRING: return {{"s", std::string(static_cast<const char*>(value.u.ptr), value.aux)}};
    case BP_INT_LIST: {
      const auto* list = static_cast<const std::int64_t*>(value.u.ptr);
      return {{"ints", std::vector<std::int64_t>(list, list + value.aux)}};
    }
    case BP_DOUBLE_LIST: {
      const auto* list = static_cast<const double*>(value.u.ptr);
      return {{"doubles", std::vector<double>(list, list + value.aux)}};
    }
    case BP_DTYPE: return {{"dtype", short_names[value.u.i]}};
    case BP_DEVICE: return {{"device", 1}};
    default: return {{"none", 1}};
  }
}

Json direct_tensor(const Laid& laid, int object) {
  return {{"object", object},
          {"offset", laid.offset * itemsize(laid.dtype)},
          {"dtype", dtype_word(laid.dtype)},
          {"shape", laid.shape},
          {"strides", laid.strides}};
}

// Each element of a sparse tensor: its offset in the memory, and its bytes.
std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> sparse_pieces(const Laid& laid) {
  std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> pieces;
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
      for_each_listed(argument,
                      [&](int each) { tensors.push_back(each < 0 ? Json() : tensor_json(each)); });
      list.push_back({{"tensors", std::move(tensors)}});
    } else {
      list.push_back(plain_value(argument.value));
    }
  }
  return list;
}

}  // namespace

const char* dtype_word(Dtype dtype) {
  return short_names[index(dtype)];
}

Json core_arguments(const Problem& problem, int first) {
  return arguments_json(problem, [&](int tensor) { return Json(first + tensor); });
}

Json direct_arguments(const Problem& problem, int first) {
  return arguments_json(problem, [&](int tensor) {
    return direct_tensor(problem.tensors.at(static_cast<std::size_t>(tensor)), first + tensor);
  });
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
      {"do", "tensor"},        {"object", object},        {"dtype", dtype_word(laid.dtype)},
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

Json write_step(int object, std::uint64_t offset, std::vector<std::uint8_t> bytes) {
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
  Json step = {{"do", "call"},
               {"op", problem.op->name()},
               {"args", direct_arguments(problem, first_tensor)},
               {"outputs", Json::array()}};
  for (std::size_t i = 0; i < outputs.size(); ++i)
    step["outputs"].push_back(direct_tensor(outputs[i], objects.at(i)));
  return step;
}

}  // namespace bp::conform
