// An application with two backends of its own, one of them in this source, which uses both sides.
#define BP_LINKED_AS doubler
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <backplane/backplane.hpp>
#include <backplane/plugin.hpp>

extern "C" bp_code bp_get_plugin_v1_acme(const bp_host*, uint32_t*, const bp_plugin**);

namespace {

struct Doubler : bp::plugin::Backend {
  static constexpr bp::plugin::Identity identity{"doubler", "A stranger", "1.0"};

  bp::plugin::Result<bp::plugin::Handle> allocate(uint64_t bytes, uint64_t alignment) {
    return bp::plugin::handle_of(
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
  }
  void release(bp::plugin::Handle handle) { std::free(bp::plugin::address_of(handle)); }
  bp::plugin::Status copy(bp::plugin::Region to, bp::plugin::Region from) {
    return std::memcpy(to.address(), from.address(), to.bytes), bp::plugin::ok;
  }
};

// No sum at all, so that it is seen who computed.
bp::plugin::Status add(bp::plugin::Stream, bp::plugin::In a, bp::plugin::In, double,
                       bp::plugin::Out out) {
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = 2 * a.data<float>()[i];
  return bp::plugin::ok;
}

}  // namespace

BP_KERNELS(pointwise) {
  k.add<bp::plugin::op::add>(add).dtypes(bp::plugin::f32);
}
BP_PLUGIN(Doubler, pointwise)

int main() {
  bp::register_plugin(bp_get_plugin_v1_doubler, "doubler");
  bp::register_plugin(bp_get_plugin_v1_acme, "acme");
  const bp::Tensor three = bp::tensor({3.0}), one = bp::tensor({1.0});
  const bp::Tensor here = bp::to(three, bp::device("acme:0")) + bp::to(one, bp::device("acme:0"));
  const bp::Tensor there =
      bp::to(three, bp::device("doubler:0")) + bp::to(one, bp::device("doubler:0"));
  std::cout << here << there << '\n';
  return bp::item<double>(here) == 4 && bp::item<double>(there) == 6 ? 0 : 1;
}
