// Any bytes are a pickle whose parts exist and whose tensors stay in their storages, or a sentence about it.
#include <cstdlib>

#include <backplane/tensor/error.hpp>

#include "pickle.hpp"

namespace {

using namespace bp::serialize;

void check_tensor(const Pickle& pickle, const PickledTensor& tensor) {
  const PickledStorage& storage = pickle.storages.at(tensor.storage);
  const std::uint64_t numel =
      storage.has_dtype ? storage.numel : storage.numel / bp::itemsize(tensor.dtype);
  __int128 last = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] < 0 || tensor.strides.at(i) < 0) std::abort();
    if (tensor.sizes[i] == 0) return;
    last += static_cast<__int128>(tensor.sizes[i] - 1) * tensor.strides[i];
  }
  if (last >= static_cast<__int128>(numel)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  try {
    const Pickle pickle = run_pickle({reinterpret_cast<const char*>(data), size}, "fuzz.pt");
    if (pickle.root >= pickle.values.size()) std::abort();
    for (const PickledValue& value : pickle.values)
      for (const std::uint32_t item : value.items)
        if (item >= pickle.values.size()) std::abort();
    for (const PickledTensor& tensor : pickle.tensors) check_tensor(pickle, tensor);
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.pt: ")) std::abort();
  }
  return 0;
}
