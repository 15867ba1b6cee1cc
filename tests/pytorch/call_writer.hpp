// What goes to Python: FILE.json has a line for each call, FILE.bin the elements of the tensors in it.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <backplane/backplane.hpp>

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
  void line(const nlohmann::ordered_json& call) { lines_ << call.dump() << '\n'; }
  // Whoever reads finds all up to here, even if the next call ends the process.
  bool flush() { return lines_.flush().good() && elements_.flush().good(); }

 private:
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
