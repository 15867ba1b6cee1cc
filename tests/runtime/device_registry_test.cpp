// Names, numbers and answers of plugins; opening; what stops an unloading.
#include <thread>

#include <backplane/runtime/device_registry.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

TEST(DeviceRegistry, meta_is_there_from_the_start) {
  const DeviceRecord& meta = device_record(meta_device);
  EXPECT_EQ(meta.name, "meta");
  EXPECT_EQ(find_device("meta"), &meta);
  EXPECT_EQ(device_name(meta_device), "meta");
}

TEST(DeviceRegistry, devices_are_found_by_each_of_their_names) {
  FakePlugin fake;
  fake.num_devices = 2;
  const Registered acme(fake);
  const DeviceRecord* first = acme.backend->devices[0];
  const DeviceRecord* second = acme.backend->devices[1];
  EXPECT_EQ(first->name, "acme:0");
  EXPECT_EQ(find_device("acme"), first);
  EXPECT_EQ(find_device("acme:0"), first);
  EXPECT_EQ(find_device("acme:1"), second);
  EXPECT_EQ(find_device("Acme:acme:1"), second);
  EXPECT_EQ(find_device("Acme:acme"), first);
  for (const char* unknown : {"acme:2", "acme:", "acme:x", "acm", "", ":", "acme:-1",
                              "acme:99999999999999999999", "Bolt:acme:0"})
    EXPECT_EQ(find_device(unknown), nullptr) << unknown;
  EXPECT_EQ(find_backend("acme"), acme.backend);
  const std::vector<const DeviceRecord*> all = registered_devices();
  ASSERT_GE(all.size(), 2u);
  EXPECT_EQ(all[all.size() - 2], first);
  EXPECT_EQ(all.back(), second);
}

TEST(DeviceRegistry, a_name_that_is_taken_becomes_qualified) {
  FakePlugin a("acme", "Acme"), b("acme", "Bolt"), c("acme", "Bolt");
  const Registered first(a), second(b), third(c);
  EXPECT_EQ(first.backend->name, "acme");
  EXPECT_EQ(second.backend->devices[0]->name, "Bolt:acme:0");
  EXPECT_EQ(third.backend->devices[0]->name, "Bolt:acme-2:0");
  EXPECT_EQ(find_device("acme:0"), first.backend->devices[0]);
  EXPECT_EQ(find_device("Acme:acme:0"), first.backend->devices[0]);
  EXPECT_EQ(find_device("Bolt:acme:0"), second.backend->devices[0]);
  EXPECT_EQ(find_device("Bolt:acme-2:0"), third.backend->devices[0]);
}

TEST(DeviceRegistry, nobody_finds_a_backend_before_it_is_complete) {
  FakePlugin fake;
  const std::size_t before = registered_devices().size();
  int seen = 0;
  Backend& made = register_backend(fake.plugin, fake.host, "fake.so", [&](Backend& backend) {
    std::thread([&] {
      seen += find_device("acme") != nullptr || find_device("Acme:acme:0") != nullptr;
      seen += find_backend("acme") != nullptr;
      seen += registered_devices().size() != before;
      for (const Backend* each : registered_backends()) seen += each == &backend;
    }).join();
    EXPECT_EQ(backend.devices[0]->name, "acme:0");
    FakePlugin other;  // its name is taken all the same
    const Registered second(other);
    EXPECT_EQ(second.backend->name, "Acme:acme");
  });
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(find_backend("acme"), &made);
  EXPECT_EQ(registered_devices().size(), before + 1);
  unregister_backend(made);
}

TEST(DeviceRegistry, a_backend_that_cannot_be_completed_leaves_nothing) {
  FakePlugin fake;
  const std::size_t before = registered_devices().size();
  const auto fail = [](Backend&) { throw_error(ErrorClass::internal, "no kernels"); };
  EXPECT_EQ(text_of([&] { register_backend(fake.plugin, fake.host, "fake.so", fail); }),
            "no kernels");
  EXPECT_EQ(find_device("acme"), nullptr);
  EXPECT_EQ(registered_devices().size(), before);
  const Registered again(fake);
  EXPECT_EQ(again.backend->name, "acme");
}

TEST(DeviceRegistry, meta_cannot_be_taken_as_a_name) {
  FakePlugin fake("meta", "Acme");
  const Registered registered(fake);
  EXPECT_EQ(registered.backend->name, "Acme:meta");
}

TEST(DeviceRegistry, numbers_are_given_again) {
  FakePlugin fake;
  Device before;
  {
    const Registered acme(fake);
    before = acme.device();
  }
  const Registered acme(fake);
  EXPECT_EQ(acme.device(), before);
}

TEST(DeviceRegistry, a_device_is_opened_at_its_first_use_and_once) {
  FakePlugin fake;
  const Registered acme(fake);
  EXPECT_EQ(fake.num_opened, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { acme.record(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake.num_opened, 1);
}

TEST(DeviceRegistry, a_device_that_will_not_open_says_why_and_may_open_later) {
  FakePlugin fake;
  const Registered acme(fake);
  fake.open_code = BP_UNSUPPORTED;
  const Error error = error_of([&] { acme.record(); });
  EXPECT_STREQ(error.what(), "open: the driver refuses (plugin acme, device acme:0)");
  EXPECT_EQ(error.error_class(), ErrorClass::unsupported);
  fake.open_code = BP_OK;
  EXPECT_NO_THROW(acme.record());
}

TEST(DeviceRegistry, opening_without_a_device_is_the_plugins_fault) {
  FakePlugin fake;
  const Registered acme(fake);
  fake.null_device = true;
  EXPECT_EQ(text_of([&] { acme.record(); }),
            "open: it succeeded without a device (plugin acme, device acme:0)");
  fake.null_device = false;
  fake.num_opened = 0;
}

TEST(DeviceRegistry, a_plugin_that_uses_the_device_while_opening_it_gets_an_error) {
  FakePlugin fake;
  const Registered acme(fake);
  std::string text;
  fake.in_open = [&] { text = text_of([&] { acme.record(); }); };
  acme.record();
  EXPECT_EQ(text, "open: the plugin asked for acme:0 while opening it");
}

TEST(DeviceRegistry, codes_out_of_range_are_internal_and_silence_is_said) {
  FakePlugin fake;
  const Registered acme(fake);
  fake.open_code = 99;
  fake.say_nothing = true;
  const Error error = error_of([&] { acme.record(); });
  EXPECT_EQ(error.error_class(), ErrorClass::internal);
  EXPECT_STREQ(error.what(),
               "open: the plugin gave no message (it returned 99, which is not a bp_code) "
               "(plugin acme, device acme:0)");
  fake.open_code = -5;
  EXPECT_EQ(error_of([&] { acme.record(); }).error_class(), ErrorClass::internal);
}

TEST(DeviceRegistry, an_unknown_number_is_an_error_that_names_the_known_ones) {
  FakePlugin fake;
  const Registered acme(fake);
  const std::string text = text_of([] { device_record(Device{77}); });
  EXPECT_EQ(text.find("there is no device number 77; the registered ones are meta, "), 0u) << text;
  EXPECT_NE(text.find("acme:0"), std::string::npos) << text;
  EXPECT_EQ(error_of([] { device_record(Device{1u << 30}); }).error_class(),
            ErrorClass::bad_argument);
}

TEST(DeviceRegistry, absurd_answers_are_refused) {
  FakePlugin fake;
  const auto refusal = [&] { return text_of([&] { const Registered acme(fake); }); };
  fake.num_devices = 65;
  EXPECT_EQ(refusal(),
            "register_backend: it says that it has 65 devices; at most 64 are believed "
            "(plugin acme)");
  fake.num_devices = 0;
  EXPECT_EQ(refusal(), "register_backend: plugin acme has no device here");
  fake.num_devices = 1;
  fake.edit_info = [](bp_device_info& info, std::uint32_t) {
    std::memset(info.name, 'x', sizeof info.name);
  };
  EXPECT_EQ(refusal(), "register_backend: the name of device 0 is not terminated (plugin acme)");
  fake.edit_info = [](bp_device_info& info, std::uint32_t) { info.offset_alignment = 48; };
  EXPECT_EQ(refusal(),
            "register_backend: device 0 has offset_alignment 48, which is not a power of "
            "two (plugin acme)");
  fake.edit_info = nullptr;
  fake.answer_devices = [](std::uint32_t* count, bp_device_info* infos) {
    *count = infos ? 3 : 1;
    return BP_OK;
  };
  EXPECT_EQ(refusal(),
            "register_backend: it said that it has 1 devices and then filled 3 (plugin acme)");
  fake.answer_devices = [](std::uint32_t*, bp_device_info*) {
    return say(BP_UNSUPPORTED, "no driver");
  };
  EXPECT_EQ(refusal(), "register_backend: no driver (plugin acme)");
  EXPECT_EQ(find_backend("acme"), nullptr);
}

TEST(DeviceRegistry, incomplete_plugins_are_refused) {
  const auto refusal = [](const std::function<void(FakePlugin&)>& spoil) {
    FakePlugin fake;
    spoil(fake);
    return text_of([&] { const Registered acme(fake); });
  };
  EXPECT_EQ(refusal([](FakePlugin& fake) { fake.plugin.name = nullptr; }),
            "register_backend: bp_plugin.name is NULL (plugin without a name)");
  EXPECT_EQ(refusal([](FakePlugin& fake) { fake.plugin.name = "a:b"; }),
            "register_backend: bp_plugin.name must have 1 to 64 letters, digits, '_', '-' or '.' "
            "(plugin a:b)");
  EXPECT_EQ(refusal([](FakePlugin& fake) { fake.plugin.open = nullptr; }),
            "register_backend: bp_plugin needs devices, open and close (plugin acme)");
  EXPECT_EQ(refusal([](FakePlugin& fake) { fake.plugin.queue = nullptr; }),
            "register_backend: bp_plugin needs memory and queue (plugin acme)");
  EXPECT_EQ(refusal([](FakePlugin& fake) { fake.memory.copy = nullptr; }),
            "register_backend: bp_memory needs allocate, release and copy (plugin acme)");
  EXPECT_EQ(refusal([](FakePlugin& fake) { fake.queue.create_stream = FakePlugin::create_stream; }),
            "register_backend: bp_queue has some of the stream functions; give all or none "
            "(plugin acme)");
}

TEST(DeviceRegistry, what_an_older_plugin_lacks_is_absent) {
  FakePlugin fake;
  fake.queue.h.size = offsetof(bp_queue, create_stream);
  fake.make_asynchronous();  // beyond the size that it says
  const Registered acme(fake);
  EXPECT_EQ(acme.record().queue->create_stream, nullptr);
  fake.flags |= BP_DEVICE_SYNCHRONOUS;
}

TEST(DeviceRegistry, a_backend_does_not_go_while_something_lives) {
  FakePlugin fake;
  fake.make_asynchronous();
  const Registered acme(fake);
  {
    const Held a(acme.record(), 100), b(acme.record(), 3 << 20);
    const Stream stream(acme.device());
    const Event event(acme.device());
    const Error error = error_of([&] { unregister_backend(*acme.backend); });
    EXPECT_EQ(error.error_class(), ErrorClass::retry);
    EXPECT_STREQ(error.what(),
                 "unload_plugin: acme cannot be unloaded; in use: 2 tensors' storages, 1 "
                 "stream, 1 event of acme:0; drop them first");
  }
  EXPECT_EQ(fake.num_closed, 0);
}

TEST(DeviceRegistry, a_lost_device_stays_lost_and_others_go_on) {
  FakePlugin fake, other("bolt", "Bolt");
  const Registered acme(fake), bolt(other);
  acme.record();
  fake.synchronize_code = BP_DEVICE_LOST;
  EXPECT_EQ(text_of([&] { synchronize(acme.device()); }),
            "synchronize: the card fell off (plugin acme, device acme:0)");
  const Error error = error_of([&] { acme.record(); });
  EXPECT_EQ(error.error_class(), ErrorClass::device_lost);
  EXPECT_STREQ(error.what(),
               "acme:0: is lost since an earlier error (synchronize: the card fell off "
               "(plugin acme, device acme:0)); use another device, or drop everything on it and "
               "call reset_device()");
  EXPECT_NO_THROW(bolt.record());
}

}  // namespace
}  // namespace bp::test
