// What a backend offers besides bp_plugin, as the core keeps it.
#include <backplane/runtime/extensions.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct Offering : FakePlugin {
  std::string asked;
  const char* offered = "";
  const bp_header* table = nullptr;

  Offering() {
    plugin.extension = [](void* self, const char* name, std::uint32_t version) -> const bp_header* {
      auto& me = static_cast<Offering&>(of(self));
      EXPECT_EQ(version, 1u);
      me.asked += std::string(name) + " ";
      return std::strcmp(name, me.offered) == 0 ? me.table : nullptr;
    };
  }
  template <class Table> void offer(const char* name, Table& made) {
    if (made.h.size == 0) made.h = {sizeof made, BP_TYPE_EXTENSION, nullptr};
    offered = name;
    table = &made.h;
  }
  std::string refusal() {
    return text_of([&] { register_backend(plugin, host, "acme.so"); });
  }
};

TEST(Extensions, are_asked_for_once_when_the_backend_is_registered) {
  Offering fake;
  const Registered acme(fake);
  EXPECT_EQ(fake.asked,
            "bp.capture bp.compiler bp.host_calls bp.host_memory bp.interop bp.peer bp.program "
            "bp.semaphores bp.stream_memory ");
  fake.asked.clear();
  const Tensor made = empty_tensor({4}, f32, acme.device());
  const Stream stream(acme.device());
  EXPECT_EQ(fake.asked, "");
}

TEST(Extensions, lack_everything_that_the_backend_does_not_offer) {
  FakePlugin fake;
  const Registered acme(fake);
  const Extensions& all = extensions_of(*acme.backend);
  EXPECT_FALSE(all.peer.copy || all.capture.begin || all.interop.open ||
               all.stream_memory.allocate);
  EXPECT_EQ(&extensions_of(acme.record()), &all);
  EXPECT_FALSE(extensions_of(device_record(Device{0})).peer.copy) << "of meta";
}

TEST(Extensions, are_completed_where_a_plugin_knows_less) {
  Offering fake;
  bp_peer old{};
  old.h = {offsetof(bp_peer, link), BP_TYPE_EXTENSION, nullptr};
  old.copy = [](bp_device*, const bp_region*, bp_stream*, bp_device*, const bp_region*,
                bp_stream*) { return bp_code{BP_UNSUPPORTED}; };
  old.link = [](bp_device*, bp_device*, bp_link*) { return bp_code{BP_INTERNAL}; };
  fake.offer(BP_PEER, old);
  const Registered acme(fake);
  const bp_peer& known = extensions_of(*acme.backend).peer;
  EXPECT_EQ(known.copy, old.copy);
  EXPECT_EQ(known.h.size, sizeof(bp_peer));
  EXPECT_EQ(known.link, nullptr) << "it lies behind the end of the struct";
  EXPECT_EQ(known.wait_event, nullptr);
}

TEST(Extensions, take_a_longer_table_of_a_newer_plugin) {
  Offering fake;
  struct Longer {
    bp_host_calls table{};
    void* more = nullptr;
  } longer;
  longer.table.h = {sizeof longer, BP_TYPE_EXTENSION, nullptr};
  longer.table.call = [](bp_device*, bp_stream*, void (*)(void*), void*) { return bp_code{BP_OK}; };
  fake.offer(BP_HOST_CALLS, longer.table);
  const Registered acme(fake);
  EXPECT_EQ(extensions_of(*acme.backend).host_calls.call, longer.table.call);
}

TEST(Extensions, that_are_none_are_refused_when_the_backend_is_registered) {
  Offering fake;
  bp_peer table{};
  table.h = {sizeof table, BP_TYPE_KERNEL, nullptr};
  fake.offer(BP_PEER, table);
  EXPECT_EQ(fake.refusal(),
            "register_backend: the extension 'bp.peer' has type 6 and 40 bytes; 10 and at least 16 "
            "are expected (plugin acme)");
  table.h = {8, BP_TYPE_EXTENSION, nullptr};
  EXPECT_EQ(fake.refusal(),
            "register_backend: the extension 'bp.peer' has type 10 and 8 bytes; 10 and at least "
            "16 are expected (plugin acme)");
}

TEST(Extensions, need_their_required_functions) {
  Offering fake;
  bp_host_memory table{};
  fake.offer(BP_HOST_MEMORY, table);
  table.allocate = [](bp_device*, std::uint64_t, std::uint64_t, void**) { return bp_code{BP_OK}; };
  EXPECT_EQ(fake.refusal(),
            "register_backend: the extension 'bp.host_memory' needs allocate and release (plugin "
            "acme)");
  table.release = [](bp_device*, void*) {};
  table.forget = table.release;
  EXPECT_EQ(fake.refusal(),
            "register_backend: the extension 'bp.host_memory' has one of adopt and forget; give "
            "both or neither (plugin acme)");
}

}  // namespace
}  // namespace bp::test
