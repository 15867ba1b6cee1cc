// needs: reference
// The software device opened within a context of the application's, directly through the ABI: the core opens a device once
// in a process.
#include <gtest/gtest.h>

#include <backplane/extensions/interop.h>
#include <backplane/extensions/reference.h>

#include "sdk/fake_host.hpp"

namespace {

TEST(ReferenceContext, of_an_application_holds_the_devices_memory) {
  fake::Host host;
  const fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_reference.so"};
  const auto& native = *reinterpret_cast<const bp_reference_native*>(
      plugin->extension(plugin->self, BP_REFERENCE_NATIVE, 1));
  const auto& interop = *reinterpret_cast<const bp_interop*>(
      plugin->extension(plugin->self, BP_INTEROP, BP_INTEROP_VERSION));
  std::uint64_t context = 0, block = 0, seen = 0;
  ASSERT_EQ(native.create_context(1, &context), BP_OK);
  ASSERT_EQ(native.create_block(context, 100, &block), BP_OK);
  const bp_native adopted{BP_REFERENCE_CONTEXT, context};
  bp_device* device = nullptr;
  EXPECT_EQ(interop.open(plugin->self, 0, &adopted, 1, &device), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "interop: the context is of reference:1, not of reference:0");
  const bp_native wrong{BP_REFERENCE_CONTEXT, context + 1};
  EXPECT_EQ(interop.open(plugin->self, 1, &wrong, 1, &device), BP_BAD_ARGUMENT);
  ASSERT_EQ(interop.open(plugin->self, 1, &adopted, 1, &device), BP_OK);
  EXPECT_EQ(interop.device_handle(device, BP_REFERENCE_CONTEXT, &seen), BP_OK);
  EXPECT_EQ(seen, context);
  bp_handle handle = 0, ours = 0;
  const bp_native memory{BP_REFERENCE_BLOCK, block};
  EXPECT_EQ(interop.adopt_memory(device, &memory, 101, &handle), BP_BAD_ARGUMENT);
  ASSERT_EQ(interop.adopt_memory(device, &memory, 100, &handle), BP_OK);
  ASSERT_EQ(plugin->memory->allocate(device, 100, 64, &ours), BP_OK);
  std::uint8_t* at = nullptr;
  EXPECT_EQ(native.address_of_block(context, ours, &at), BP_OK) << "it is in the context too";
  plugin->memory->release(device, ours);
  interop.forget_memory(device, handle);
  plugin->close(device);
  EXPECT_EQ(native.address_of_block(context, block, &at), BP_OK)
      << "the block ended with the device";
  EXPECT_EQ(native.destroy_context(context), BP_OK);
  EXPECT_EQ(native.destroy_context(context), BP_BAD_ARGUMENT);
  EXPECT_TRUE(host.log_lines().empty());
}

}  // namespace
