// Memory of the host of two kinds of its own: pinned, which a device copies at full speed, and shared with processes that
// are forked later.
#include <algorithm>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/pinned.hpp>
#include <backplane/runtime/allocator.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

struct Mapping {
  char* begin;
  std::size_t bytes;
};

// Never destroyed: tensors outlive static destructors.
auto& mappings = *new std::vector<Mapping>;
auto& mappings_mutex = *new std::mutex;

void unmap(void* address) {
  const std::lock_guard lock(mappings_mutex);
  const auto found = std::find_if(mappings.begin(), mappings.end(),
                                  [&](const Mapping& each) { return each.begin == address; });
  munmap(found->begin, found->bytes);
  mappings.erase(found);
}

bool is_shared(const Tensor& tensor) {
  if (tensor.device() != host_device()) return false;
  const auto* address = static_cast<const char*>(tensor.data_ptr());
  const std::lock_guard lock(mappings_mutex);
  return std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& each) {
    return each.begin <= address && address < each.begin + each.bytes;
  });
}

// Without values.
Tensor shared_like(const Tensor& tensor) {
  const std::size_t bytes = std::max<std::size_t>(1, tensor.nbytes());
  void* const address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    PyErr_NoMemory();
    throw nb::python_error();
  }
  {
    const std::lock_guard lock(mappings_mutex);
    mappings.push_back({static_cast<char*>(address), bytes});
  }
  try {
    return tensor_from_blob(address, tensor.shape(), contiguous_strides(tensor.shape()),
                            tensor.dtype(), host_device(), &unmap, address);
  } catch (...) {
    unmap(address);
    throw;
  }
}

nb::object share_memory(nb::object self) {
  const Tensor& tensor = self_of(self.ptr());
  if (tensor.device() != host_device())
    throw nb::value_error(
        "share_memory_: the tensor is not on the host, and only the host's memory can be shared "
        "with other processes; call cpu() first");
  if (is_shared(tensor)) return self;
  const Tensor shared = shared_like(tensor);
  without_gil([&] {
    copy_(shared, detach(tensor));
    set_data(tensor, shared);
  });
  return self;
}

}  // namespace

void add_host_memory(TensorClass& type) {
  type.def(
      "record_stream",
      [](const Tensor& self, const Stream& stream) { record_stream(self, stream); },
      nb::arg("stream"),
      "Its memory is not given out again before the stream has done what it has been given so far. "
      "Operators need no such call.");
  type.def(
      "pin_memory",
      [](nb::object self, nb::handle device) {
        const Tensor& tensor = self_of(self.ptr());
        const Device where = device_argument(device);
        Tensor made = without_gil([&] { return pin_memory(tensor, where); });
        return made.is_same(tensor) ? self : nb::steal(wrap(std::move(made)));
      },
      nb::arg("device") = nb::none(),
      "A copy in the host's pinned memory, which `device`, by default the default device, reads "
      "and "
      "writes at full speed. Itself if it is there, or if the device has no such memory.");
  type.def(
      "is_pinned",
      [](const Tensor& self, nb::handle device) {
        return is_pinned(self, device_argument(device));
      },
      nb::arg("device") = nb::none(), "Whether it is in the pinned memory of `device`.");
  type.def(
      "share_memory_", &share_memory,
      "Moves the tensor into memory that processes which are forked later share, and returns it. "
      "Pickled, as for processes that are spawned, it is copied.");
  type.def("is_shared", &is_shared, "Whether share_memory_() has moved its memory.");
}

}  // namespace bp::python
