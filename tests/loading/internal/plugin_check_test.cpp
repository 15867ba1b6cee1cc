#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/loading/plugin_check.hpp>

namespace bp::loading {
namespace {

using testing::HasSubstr;

// A plugin that is right in everything, to be spoilt by each test.
class PluginCheck : public testing::Test {
 protected:
  PluginCheck() {
    memory_.h = {sizeof(bp_memory), BP_TYPE_MEMORY, nullptr};
    memory_.allocate = [](bp_device*, uint64_t, uint64_t, bp_handle*) { return BP_OUT_OF_MEMORY; };
    memory_.release = [](bp_device*, bp_handle) {};
    memory_.copy = [](bp_device*, const bp_region*, const bp_region*, uint32_t, bp_stream*) {
      return BP_OK;
    };
    queue_.h = {sizeof(bp_queue), BP_TYPE_QUEUE, nullptr};
    queue_.synchronize = [](bp_device*, bp_stream*) { return BP_OK; };
    plugin_.h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, nullptr};
    plugin_.abi = 1;
    plugin_.name = "acme";
    plugin_.vendor = "";
    plugin_.version = "1.0";
    plugin_.devices = [](void*, uint32_t*, bp_device_info*) { return BP_OK; };
    plugin_.open = [](void*, uint32_t, bp_device**) { return BP_OK; };
    plugin_.close = [](bp_device*) {};
    plugin_.memory = &memory_;
    plugin_.queue = &queue_;
  }

  std::string fault() const { return find_fault(&plugin_, 1, "liba.so"); }

  bp_memory memory_{};
  bp_queue queue_{};
  bp_plugin plugin_{};
};

TEST_F(PluginCheck, finds_no_fault_in_a_right_plugin) {
  EXPECT_EQ(fault(), "");
}

TEST_F(PluginCheck, takes_structs_of_the_future) {
  plugin_.h.size += 64;
  memory_.h.size += 8;
  EXPECT_EQ(fault(), "");
}

TEST_F(PluginCheck, checks_every_header) {
  memory_.h.size = 8;
  EXPECT_THAT(fault(), HasSubstr("bp_memory.h.size is 8, but"));
  memory_.h.size = sizeof(bp_memory);
  queue_.h.type = BP_TYPE_MEMORY;
  EXPECT_THAT(fault(), HasSubstr("bp_queue.h.type is 4 instead of 5"));
  plugin_.h.size = UINT32_MAX;
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.h.size is 4294967295"));
}

TEST_F(PluginCheck, checks_pointers) {
  EXPECT_EQ(find_fault(nullptr, 1, "liba.so"),
            "liba.so: the plugin that bp_get_plugin_v1 returned is NULL");
  plugin_.memory = nullptr;
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.memory is NULL"));
  plugin_.memory = reinterpret_cast<const bp_memory*>(reinterpret_cast<const char*>(&memory_) + 1);
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.memory is not aligned"));
}

TEST_F(PluginCheck, names_each_missing_function) {
  const auto expect_named = [this](auto& function, const std::string& name) {
    const auto kept = function;
    function = nullptr;
    EXPECT_THAT(fault(), HasSubstr(name + " is NULL; the eight required functions are"));
    function = kept;
  };
  expect_named(plugin_.devices, "bp_plugin.devices");
  expect_named(plugin_.open, "bp_plugin.open");
  expect_named(plugin_.close, "bp_plugin.close");
  expect_named(memory_.allocate, "bp_plugin.memory->allocate");
  expect_named(memory_.release, "bp_plugin.memory->release");
  expect_named(memory_.copy, "bp_plugin.memory->copy");
  expect_named(queue_.synchronize, "bp_plugin.queue->synchronize");
}

TEST_F(PluginCheck, takes_a_plugin_without_devices_that_offers_something) {
  plugin_.devices = nullptr;
  plugin_.open = nullptr;
  plugin_.close = nullptr;
  plugin_.memory = nullptr;
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.memory is NULL")) << "some of a device";
  plugin_.queue = nullptr;
  EXPECT_FALSE(has_devices(plugin_));
  EXPECT_THAT(fault(), HasSubstr("and so is bp_plugin.extension"));
  plugin_.extension = [](void*, const char*, uint32_t) -> const bp_header* { return nullptr; };
  EXPECT_EQ(fault(), "");
  const bp_kernel* kernels[] = {nullptr};
  plugin_.kernels = kernels;
  plugin_.num_kernels = 1;
  EXPECT_EQ(find_fault_in_tables(plugin_),
            "acme: bp_plugin.num_kernels is 1, but it has no devices that could run them");
}

TEST_F(PluginCheck, checks_names) {
  plugin_.name = nullptr;
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.name is NULL"));
  plugin_.name = "";
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.name is empty"));
  for (const char* name : {"a:0", "a b", "0a", ".a", "\xc3\xa4", "a/b"}) {
    plugin_.name = name;
    EXPECT_THAT(fault(), HasSubstr("it must begin with a letter")) << name;
  }
  const std::string endless(1000, 'a');
  plugin_.name = endless.c_str();
  EXPECT_THAT(fault(), HasSubstr("longer than 256 bytes"));
}

TEST_F(PluginCheck, compares_the_level_with_the_answer) {
  plugin_.abi = 3;
  EXPECT_THAT(fault(), HasSubstr("bp_plugin.abi is 3, but bp_get_plugin_v1 answered level 1"));
}

TEST_F(PluginCheck, lets_go_of_what_it_refuses_and_keeps_what_it_takes) {
  static const bp_plugin* answer;
  static int ends;
  ends = 0;
  answer = &plugin_;
  plugin_.shutdown = [](void*) { ++ends; };
  const auto entry = [](const bp_host*, uint32_t* level, const bp_plugin** out) -> bp_code {
    *level = 1;
    *out = answer;
    return BP_OK;
  };
  bp_host host{};
  host.abi_min = host.abi_max = 1;
  const bp_plugin* taken = nullptr;
  std::string message;
  EXPECT_EQ(negotiate(entry, host, "liba.so", nullptr, &taken, &message), BP_OK) << message;
  EXPECT_EQ(taken, &plugin_);
  EXPECT_EQ(ends, 0);
  plugin_.open = nullptr;
  EXPECT_EQ(negotiate(entry, host, "liba.so", nullptr, &taken, &message), BP_INTERNAL);
  EXPECT_EQ(taken, nullptr);
  EXPECT_EQ(ends, 1);
  host.abi_min = host.abi_max = 2;
  EXPECT_EQ(negotiate(entry, host, "liba.so", nullptr, &taken, &message), BP_UNSUPPORTED);
  EXPECT_EQ(ends, 2);
  answer = nullptr;
  EXPECT_EQ(negotiate(entry, host, "liba.so", nullptr, &taken, &message), BP_UNSUPPORTED);
}

TEST_F(PluginCheck, wants_all_functions_of_streams_or_none) {
  queue_.query_stream = [](bp_device*, bp_stream*) { return BP_OK; };
  EXPECT_THAT(fault(), HasSubstr("bp_queue.destroy_stream is NULL, but query_stream is there"));
}

TEST_F(PluginCheck, wants_all_functions_of_events_or_none) {
  queue_.create_event = [](bp_device*, bp_event**) { return BP_OK; };
  EXPECT_THAT(fault(), HasSubstr("but create_event is there; fill in all functions of events"));
}

TEST_F(PluginCheck, checks_kernels_after_init) {
  EXPECT_EQ(find_fault_in_tables(plugin_), "");
  plugin_.num_kernels = 1;
  EXPECT_EQ(find_fault_in_tables(plugin_), "acme: bp_plugin.kernels is NULL, but num_kernels is 1");
  bp_kernel kernel{};
  const bp_kernel* kernels[] = {&kernel};
  plugin_.kernels = kernels;
  EXPECT_THAT(find_fault_in_tables(plugin_), HasSubstr("kernel 0: bp_kernel.h.size is 0"));
  kernel.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, nullptr};
  EXPECT_THAT(find_fault_in_tables(plugin_), HasSubstr("bp_kernel.op is NULL"));
  kernel.op = "add";
  EXPECT_EQ(find_fault_in_tables(plugin_), "acme: kernel 0: bp_kernel.run of add is NULL");
  kernel.run = [](void*, const bp_call*) { return BP_OK; };
  EXPECT_EQ(find_fault_in_tables(plugin_), "");
  kernel.num_args = 2;
  EXPECT_THAT(find_fault_in_tables(plugin_), HasSubstr("bp_kernel.args of add is NULL"));
  kernels[0] = nullptr;
  EXPECT_EQ(find_fault_in_tables(plugin_), "acme: kernel 0: the pointer is NULL");
}

}  // namespace
}  // namespace bp::loading
