// alone: tests/runtime/fake_plugin.hpp and tests/dispatcher/calls.hpp mean different things by the same names
// Copies between two devices of one backend that copies between them by itself.
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/extensions/peer.h>

#include "runtime/fake_plugin.hpp"

namespace bp::test {
namespace {

struct Peers {
  static bp_code copy(bp_device* target, const bp_region* to, bp_stream* target_stream, bp_device*,
                      const bp_region* from, bp_stream* source_stream) {
    // What FakePlugin cannot order on both is ordered by the test, which lets both go.
    const bp_code code = FakePlugin::copy(target, to, from, BP_COPY_WITHIN, source_stream);
    return code == BP_OK ? FakePlugin::copy(target, to, from, BP_COPY_WITHIN, target_stream) : code;
  }
  static const bp_header* extension(void*, const char* name, std::uint32_t) {
    static const bp_peer table = [] {
      bp_peer made{};
      made.h = {sizeof made, BP_TYPE_EXTENSION, nullptr};
      made.copy = copy;
      return made;
    }();
    return std::string_view(name) == BP_PEER ? &table.h : nullptr;
  }
};

TEST(PeerCopy, keeps_the_memory_that_it_reads_on_another_stream) {
  FakePlugin fake("peers");
  fake.make_asynchronous();
  fake.num_devices = 2;
  fake.plugin.extension = Peers::extension;
  Backend& backend = register_backend(fake.plugin, fake.host, "peers.so");
  {
    const Device from = backend.devices[0]->device, target = backend.devices[1]->device;
    const Stream side(from), far_side(target);
    Tensor sent = empty_tensor({5000}, u8, from);
    const Storage* storage = sent.impl()->storage;
    Tensor received;
    {
      const StreamGuard guard(side), other_guard(far_side);
      received = to_device(sent, target);
    }
    sent = {};
    EXPECT_NE(empty_tensor({5000}, u8, from).impl()->storage, storage);
    fake.finish(side);
    const Tensor flushed = empty_tensor({5000}, u8, from);
    const Tensor again = empty_tensor({5000}, u8, from);
    EXPECT_TRUE(flushed.impl()->storage == storage || again.impl()->storage == storage);
    synchronize(from);
    synchronize(target);
  }
  unregister_backend(backend);
}

}  // namespace
}  // namespace bp::test
