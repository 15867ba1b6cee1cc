// Identity, free memory, and what lies between devices.
#include <backplane/runtime/device_facts.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

void give_uuid(FakePlugin& fake, std::uint8_t first) {
  fake.edit_info = [first](bp_device_info& info, std::uint32_t index) {
    for (std::size_t i = 0; i < sizeof info.uuid; ++i)
      info.uuid[i] = static_cast<std::uint8_t>(first + index + 17 * i);
  };
}

// The link that a fake tells, and what it was asked.
struct FakeLink {
  bp_link answer{};
  bp_code code = BP_OK;
  int num_asked = 0;
};
FakeLink the_link;

bp_code never_copy(bp_device*, const bp_region*, bp_stream*, bp_device*, const bp_region*,
                   bp_stream*) {
  return BP_UNSUPPORTED;
}
bp_code tell_link(bp_device*, bp_device*, bp_link* out) {
  ++the_link.num_asked;
  if (the_link.code != BP_OK) return say(the_link.code, "the switch is off");
  out->kind = the_link.answer.kind;
  out->bytes_per_second = the_link.answer.bytes_per_second;
  return BP_OK;
}
bp_peer the_peer{{sizeof(bp_peer), BP_TYPE_EXTENSION, nullptr}, never_copy, tell_link, nullptr};
const bp_header* offer_peer(void*, const char* name, std::uint32_t) {
  return std::string_view(name) == BP_PEER ? &the_peer.h : nullptr;
}

TEST(DeviceFacts, a_uuid_is_written_as_its_makers_tools_write_it) {
  FakePlugin fake;
  give_uuid(fake, 1);
  const Registered acme(fake);
  EXPECT_EQ(uuid_of(acme.backend->devices[0]->info), "01122334-4556-6778-899a-abbccddeef00");
}

TEST(DeviceFacts, zeros_are_no_uuid) {
  FakePlugin a("acme"), b("bolt");
  const Registered acme(a), bolt(b);
  EXPECT_EQ(uuid_of(acme.backend->devices[0]->info), "");
  EXPECT_TRUE(other_devices_of_unit(*acme.backend->devices[0]).empty());
  EXPECT_EQ(link_between(acme.device(), bolt.device()).kind, LinkKind::host);
}

TEST(DeviceFacts, one_unit_is_known_under_both_its_names) {
  FakePlugin a("acme"), b("bolt");
  b.num_devices = 2;
  give_uuid(a, 8);
  give_uuid(b, 7);
  const Registered acme(a), bolt(b);
  const DeviceRecord *one = acme.backend->devices[0], *other = bolt.backend->devices[1];
  EXPECT_EQ(other_devices_of_unit(*one), std::vector<const DeviceRecord*>{other});
  EXPECT_EQ(other_devices_of_unit(*other), std::vector<const DeviceRecord*>{one});
  EXPECT_TRUE(other_devices_of_unit(*bolt.backend->devices[0]).empty());
  EXPECT_EQ(link_between(one->device, other->device).kind, LinkKind::same_unit);
  EXPECT_EQ(a.num_opened + b.num_opened, 0);
}

TEST(DeviceFacts, free_memory_is_the_plugins_answer) {
  FakePlugin fake;
  fake.memory.describe_space = [](bp_device* device, std::uint32_t space, bp_space_info* out) {
    EXPECT_EQ(space, 0u);
    EXPECT_EQ(out->h.type, BP_TYPE_SPACE_INFO);
    out->total_bytes = 10 * mib;
    out->free_bytes = out->total_bytes - FakePlugin::of(device).held_bytes;
    return bp_code{BP_OK};
  };
  const Registered acme(fake);
  EXPECT_EQ(free_memory(acme.device()), 10 * mib);
  const Held held(acme.record(), 4 * mib);
  EXPECT_EQ(free_memory(acme.device()), 10 * mib - fake.held_bytes);
}

TEST(DeviceFacts, free_memory_may_be_unknown) {
  FakePlugin fake;
  {
    const Registered acme(fake);
    EXPECT_FALSE(free_memory(acme.device()).has_value());
    EXPECT_FALSE(free_memory(meta_device).has_value());
  }
  fake.memory.describe_space = [](bp_device*, std::uint32_t, bp_space_info*) {
    return bp_code{BP_OK};  // nothing written: 0 of 0
  };
  const Registered acme(fake);
  EXPECT_FALSE(free_memory(acme.device()).has_value());
}

TEST(DeviceFacts, free_memory_says_why_it_fails) {
  FakePlugin fake;
  fake.memory.describe_space = [](bp_device*, std::uint32_t, bp_space_info*) {
    return say(BP_INTERNAL, "the counter is stuck");
  };
  const Registered acme(fake);
  EXPECT_EQ(text_of([&] { free_memory(acme.device()); }),
            "free_memory: the counter is stuck (plugin acme, device acme:0)");
}

TEST(DeviceFacts, what_lies_between_two_devices_of_a_backend_is_the_plugins_answer) {
  FakePlugin fake;
  fake.num_devices = 2;
  fake.plugin.extension = offer_peer;
  the_link = {};
  const Registered acme(fake);
  const auto ask = [&] { return link_between(acme.device(0), acme.device(1)); };
  the_link.answer.kind = BP_LINK_FABRIC;
  the_link.answer.bytes_per_second = 450'000'000'000;
  EXPECT_EQ(ask().kind, LinkKind::fabric);
  EXPECT_EQ(ask().bytes_per_second, the_link.answer.bytes_per_second);
  the_link.answer.kind = BP_LINK_HOST + 1;  // of a later header
  EXPECT_EQ(ask().kind, LinkKind::unknown);
  the_link.code = BP_UNSUPPORTED;
  EXPECT_EQ(ask().kind, LinkKind::host);
  the_link.code = BP_INTERNAL;
  EXPECT_EQ(text_of(ask), "link_between: the switch is off (plugin acme, device acme:0)");
  EXPECT_EQ(the_link.num_asked, 5);
  EXPECT_EQ(link_between(acme.device(0), acme.device(0)).kind, LinkKind::same_unit);
  EXPECT_EQ(the_link.num_asked, 5);
}

TEST(DeviceFacts, without_peers_bytes_go_through_the_host) {
  FakePlugin fake;
  fake.num_devices = 2;
  const Registered acme(fake);
  EXPECT_EQ(link_between(acme.device(0), acme.device(1)).kind, LinkKind::host);
  EXPECT_EQ(link_between(acme.device(0), meta_device).kind, LinkKind::host);
}

TEST(DeviceFacts, memory_that_is_allocated_in_is_described) {
  FakePlugin fake;
  fake.memory.allocate_in = [](bp_device*, std::uint32_t, std::uint64_t, std::uint64_t,
                               bp_handle*) { return bp_code{BP_OUT_OF_MEMORY}; };
  EXPECT_EQ(
      text_of([&] { register_backend(fake.plugin, fake.host, "fake.so"); }),
      "register_backend: bp_memory has allocate_in, which needs describe_space (plugin acme)");
}

}  // namespace
}  // namespace bp::test
