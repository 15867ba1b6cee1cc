// Reads what compare_files.py wrote, and tells of it: a line of JSON for each file named. Beside each FILE it leaves FILE.again,
// the same tensors as safetensors.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include <backplane/serialize/checkpoint.hpp>
#include <backplane/serialize/pytorch.hpp>
#include <backplane/serialize/safetensors.hpp>
#include <backplane/tensors.hpp>

namespace {

using nlohmann::json;

struct Teller {
  std::map<const bp::Storage*, std::size_t> storages;
  bp::nn::StateDict tensors;

  json of(const bp::Tensor& tensor) {
    tensors.set(std::to_string(tensors.size()), tensor);
    const bp::Tensor dense = bp::contiguous(tensor);
    std::string hex;
    const auto* bytes =
        dense.nbytes() > 0 ? static_cast<const unsigned char*>(dense.data_ptr()) : nullptr;
    for (std::uint64_t i = 0; i < dense.nbytes(); ++i) {
      constexpr char digits[] = "0123456789abcdef";
      hex += {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
    }
    return {{"dtype", std::string(bp::name(tensor.dtype()))},
            {"shape", tensor.shape().to_vector()},
            {"strides", tensor.strides().to_vector()},
            {"bytes", hex},
            {"storage", storages.emplace(tensor.impl()->storage, storages.size()).first->second}};
  }

  json of(const bp::State& state) {
    if (state.is_tensor()) return of(state.as_tensor());
    if (state.is_bool()) return state.as_bool();
    if (state.is_int()) return state.as_int();
    if (state.is_double()) {
      char text[64];
      std::snprintf(text, sizeof text, "%a", state.as_double());
      return {{"float", text}};
    }
    if (state.is_text()) return state.as_text();
    if (state.is_none()) return nullptr;
    json items = json::array();
    if (state.is_list()) {
      for (const bp::State& item : state.as_list()) items.push_back(of(item));
      return items;
    }
    for (const auto& [key, value] : state.entries()) items.push_back({key, of(value)});
    return {{"dict", items}};
  }
};

json told(const std::string& path) {
  try {
    Teller teller;
    const bool is_ours = path.ends_with(".safetensors");
    const bp::State state = is_ours ? bp::serialize::to_state(bp::serialize::load_file(path))
                                    : bp::serialize::load_pytorch(path);
    json made = teller.of(state);
    if (is_ours) teller.tensors = bp::serialize::to_state_dict(state);
    bp::nn::StateDict written;
    for (const auto& [name, tensor] : teller.tensors)
      if (tensor.dtype() != bp::complex128) written.set(name, tensor);
    bp::serialize::save_file(written, path + ".again", {{"format", "pt"}});
    return {{"is", made}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("%s\n", told(argv[i]).dump().c_str());
}
