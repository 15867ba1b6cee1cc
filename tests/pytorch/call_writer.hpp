// What goes to Python: FILE.json has a line for each call, FILE.bin the elements of the tensors in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test {

class CallWriter {
 public:
  explicit CallWriter(const std::string& file)
      : lines_(file + ".json"), elements_(file + ".bin", std::ios::binary) {}

  // {"shape": [...], "dtype": "float32", "offset": bytes}, and the elements row-major in the other file.
  nlohmann::ordered_json tensor(const Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    const NoGrad constant;
    const Tensor dense = to(contiguous(detach(tensor)), device("cpu"));
    const nlohmann::ordered_json entry{
        {"shape", std::vector(dense.shape().begin(), dense.shape().end())},
        {"dtype", name(dense.dtype())},
        {"offset", offset_}};
    append(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
    return entry;
  }
  // {"tensor": ...}, {"number": 1} and so on; null for none.
  nlohmann::ordered_json argument(const bp_value& value) {
    const auto* integers = static_cast<const std::int64_t*>(value.u.ptr);
    switch (value.tag) {
      case BP_TENSOR: return {{"tensor", tensor(Tensor::share(TensorImpl::of(value.u.tensor)))}};
      case BP_TENSOR_LIST: return {{"tensors", tensors(value)}};
      case BP_INT: return {{"number", value.u.i}};
      case BP_DOUBLE: return number(value.u.f);
      case BP_BOOLEAN: return {{"number", value.u.i != 0}};
      case BP_STRING:
        return {{"text", std::string(static_cast<const char*>(value.u.ptr), value.aux)}};
      case BP_INT_LIST: return {{"integers", std::vector(integers, integers + value.aux)}};
      case BP_DTYPE: return {{"dtype", name(static_cast<Dtype>(value.u.i))}};
      case BP_DEVICE: return {{"device", "cpu"}};
      default: return nullptr;
    }
  }
  void line(const nlohmann::ordered_json& call) { lines_ << call.dump() << '\n'; }
  // Whoever reads finds all up to here, even if the next call ends the process.
  bool flush() { return lines_.flush().good() && elements_.flush().good(); }

 private:
  // Numbers that JSON has no word for are text.
  static nlohmann::ordered_json number(double value) {
    if (std::isfinite(value)) return {{"number", value}};
    return {{"text_number", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
  }
  nlohmann::ordered_json tensors(const bp_value& value) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t i = 0; i < value.aux; ++i) {
      const auto first = std::find(elements, elements + i, elements[i]) - elements;
      if (first != i)
        list.push_back(list[static_cast<std::size_t>(first)]);  // one tensor, there twice
      else
        list.push_back(elements[i] ? tensor(Tensor::share(TensorImpl::of(elements[i])))
                                   : nlohmann::ordered_json());
    }
    return list;
  }
  // Whoever maps the file finds every tensor aligned.
  void append(const char* bytes, std::size_t count) {
    constexpr char nothing[alignment] = {};
    elements_.write(bytes, static_cast<std::streamsize>(count));
    const std::size_t rest = -count % alignment;
    elements_.write(nothing, static_cast<std::streamsize>(rest));
    offset_ += count + rest;
  }

  static constexpr std::size_t alignment = 64;
  std::ofstream lines_, elements_;
  std::size_t offset_ = 0;
};

}  // namespace bp::test
