#include "loader/pinned.hpp"

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/pinned.hpp>

namespace bp::data {

State pinned(const State& value, Device device) {
  if (value.is_tensor()) {
    const Tensor& tensor = value.as_tensor();
    const bool on_host = tensor.defined() && tensor.device() == host_device();
    return on_host ? pin_memory(tensor, device) : tensor;
  }
  if (value.is_list()) {
    State::List list;
    for (const State& each : value.as_list()) list.push_back(pinned(each, device));
    return list;
  }
  if (value.is_dict()) {
    State dict = State::dict();
    for (const auto& [key, each] : value.entries()) dict.set(key, pinned(each, device));
    return dict;
  }
  return value;
}

void pin_fetched(Fetched& result, const DataLoaderOptions& options) {
  if (!options.pin_memory || result.failure || result.at_end) return;
  try {
    result.value = pinned(result.value, *options.pin_memory);
  } catch (const Error& error) {
    result.failure = Failure{error.error_class(), -1, false, "bp::Error", error.what()};
  } catch (const std::exception& error) {
    result.failure = Failure{ErrorClass::internal, -1, false, "std::exception", error.what()};
  }
}

}  // namespace bp::data
