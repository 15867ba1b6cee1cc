// What comes from Python: tensors as call_files.py writes them.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test {

inline std::vector<char> bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Numbers that JSON has no word for are text.
inline double real_of(const nlohmann::ordered_json& said) {
  return said.is_string() ? std::stod(said.get<std::string>()) : said.get<double>();
}

class TensorReader {
 public:
  // Borrows the elements.
  TensorReader(const std::vector<char>& elements, Device device)
      : elements_(elements), device_(device) {}

  // {"shape", "strides", "dtype", "offset", "count"}: the memory is `count` elements, of which the tensor shows some.
  // null: an undefined tensor.
  Tensor tensor(const nlohmann::ordered_json& entry) {
    if (entry.is_null()) return {};
    const std::vector<std::int64_t> shape = entry["shape"], strides = entry["strides"];
    const auto count = entry["count"].get<std::int64_t>();
    const NoGrad constant;
    Tensor memory =
        empty({count}, dtype_from_name(entry["dtype"].get<std::string>()), device("cpu"));
    if (count > 0)
      std::memcpy(memory.data_ptr(), elements_.data() + entry["offset"].get<std::size_t>(),
                  memory.nbytes());
    memory = to(memory, device_);
    Tensor shown = as_strided(memory, shape, strides, 0);
    if (!entry.value("leaf", false)) return shown;
    shown = detach(shown);
    leaves_.push_back(set_requires_grad(shown));
    return shown;
  }
  // Those that were read with "leaf".
  const std::vector<Tensor>& leaves() const { return leaves_; }

 private:
  const std::vector<char>& elements_;
  Device device_;
  std::vector<Tensor> leaves_;
};

}  // namespace bp::test
