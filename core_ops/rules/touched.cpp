#include "touched.hpp"

#include <algorithm>

namespace bp::rules {

const std::vector<Touched>& touched_by(const Call& call, std::uint64_t places) {
  static thread_local std::vector<Touched> all;
  all.clear();
  for (std::uint32_t place = 0; place < call.num_args; ++place) {
    const bp_value& list = call.args[place];
    if (!(places >> place & 1u) || list.tag != BP_TENSOR_LIST) continue;
    auto* elements = static_cast<const bp_tensor* const*>(list.u.ptr);
    for (std::uint32_t i = 0; i < list.aux; ++i) {
      const TensorImpl& each = *TensorImpl::of(elements[i]);
      if (!each.storage || each.abi.numel == 0) continue;
      all.push_back({each.storage->handle, touched_bytes(each), &each, place, i});
    }
  }
  std::sort(all.begin(), all.end(), [](const Touched& a, const Touched& b) {
    return a.handle != b.handle ? a.handle < b.handle : a.bytes.begin < b.bytes.begin;
  });
  return all;
}

}  // namespace bp::rules
